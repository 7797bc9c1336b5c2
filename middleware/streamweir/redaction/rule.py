"""One rule of redaction: a pattern, and the replacement of its matches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from streamweir.lazy_pattern import LazyPattern

__all__ = ["ESCAPED", "PORT", "REDACTED", "START", "URL", "URL_REST", "Rule", "applied", "rule"]

REDACTED: Final = "[redacted]"

# Parts of patterns. All are ASCII: a Chinese character next to a token ends it like a space.
URL: Final = r"""[!#-&(-;=?-~]"""  # what a URL may hold: visible ASCII except quotes and angle brackets
URL_REST: Final = rf"{URL}*(?<![).,;:!?\]}}])"  # ... without the sentence's own punctuation at its end
PORT: Final = r"(?::\d{1,5})?"
ESCAPED: Final = (
    r"(?<=\\[nrt])"  # a line of a text that was put into JSON as it was: its letter is none of a word
)
START: Final = rf"(?:\b|{ESCAPED})"


class Rule(NamedTuple):
    """A pattern whose time is proportional to the length of the text, and the replacement of its matches."""

    name: str
    pattern: LazyPattern[str]
    replacement: str = REDACTED


def rule(name: str, pattern: str, replacement: str = REDACTED, flags: int = 0) -> Rule:
    """Return a rule whose classes (`\\w`, `\\d`) are those of ASCII."""
    return Rule(name, LazyPattern(pattern, re.ASCII | flags), replacement)


def applied(rules: Iterable[Rule], text: str) -> str:
    """Return `text` with `rules` applied, in their order."""
    for _, pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text
