"""Texts of failures in a field of the answer: stack traces, exceptions, texts that begin with an error word.

Source: the dialect-file contract, section 10; protocol.md 3.10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from streamweir.classification.stack_traces import is_stack_trace
from streamweir.learning.field_names import ERROR_WORDS, words_of
from streamweir.learning.groups import literal

__all__ = ["begins_failing", "failing_beginning"]

_EXCEPTION: Final = re.compile(r"(?:[A-Za-z_][\w.]{0,60})?(?:Error|Exception|Panic|Fault)\b\s{0,3}[:：(]")
_FIRST_WORD: Final = re.compile(
    r"[\[(<*]{0,2}([^\W\d_]{2,30})(?:[ _][^\W\d_]{1,20}){0,2}[\])>*]{0,2}\s{0,2}[:：!！—]"
)
_WORD: Final = re.compile(r"[^\W\d_]{2,30}(?=[\s,，])")
_LONGEST: Final = 40
_SHORTEST_SENTENCE: Final = 16


def failing_beginning(text: str, *, is_alone: bool) -> str | None:
    """Return the beginning of a text, if the text reports a failure; else None.

    Args:
        text: one piece of the answer.
        is_alone: there is no other text in its stream.
    """
    if is_stack_trace(text):
        return text.lstrip("\n").split("\n", 1)[0][:_LONGEST]
    if match := _EXCEPTION.match(text):
        return match[0]
    match = _FIRST_WORD.match(text)
    if match and ERROR_WORDS.intersection(words_of([match[0]])):
        return match[0]
    match = _WORD.match(text)
    if (
        match
        and is_alone
        and len(text) >= _SHORTEST_SENTENCE
        and ERROR_WORDS.intersection(words_of([match[0]]))
    ):
        return match[0]
    return None


def begins_failing(path: str, beginnings: Iterable[str]) -> str:
    """Return an expression that is true if the text at `path` has one of these beginnings."""
    found = [f"starts_with({path}, {literal(beginning)})" for beginning in beginnings]
    return found[0] if len(found) == 1 else f"({' || '.join(found)})"
