"""Finds the values that a text assigns to names of secrets: `password=x`, `password: x1`, `password: "a b"`.

After a colon only a value with a digit counts, since `password: required` is a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.capture.named_values import end_of_value, is_surely_secret
from streamweir.redaction.named_secrets import is_no_value
from streamweir.redaction.secret_names import is_secret_name

__all__ = ["assigned_values"]

_ASSIGNED: Final = re.compile(r"([\w.$-]{1,64})(?:[ ]?=[ ]?|:[ ]?)")
"""Matches the name and the sign behind it. The value is matched only where the name is of a secret."""
_VALUE: Final = re.compile(r"(?:\\{0,4}[\"'])?([^\s\"'\\,;&<>(){}\[\]*]{4,})")
_WITH_DIGIT: Final = re.compile(r"\S{0,200}\d")
_QUOTED: Final = re.compile(r"""([\w.$-]{1,64})(?:[ ]?=[ ]?|:[ ]?)(\\{0,4}["'])(?=[^\s,:}\]*"'\\])""")
"""Matches a name and the quotation mark that opens its value. One that closes a JSON text does not match."""
_LINE: Final = re.compile(
    r"(?:(?<![^\n\"'])|(?<=\\n))[ ]{0,16}(?:-[ ])?([\w.$-]{1,64}):[ ]"
    r"([^\s\"'\\,;&<>(){}\[\]*]{2,64}(?:[ ][^\s\"'\\,;&<>(){}\[\]*]{1,64}){1,5})(?=[\n\r\"'\\]|\Z)"
)
"""Matches a line, or a whole text, that consists of a name and a value of two to six words."""
_MIXED: Final = re.compile(r"(?=[^\W\d_]{0,64}\d)(?=\d{0,64}[^\W\d_])[^\W_]{4}|\w[!#$%@^~+]")
"""Matches a word that no sentence has: of letters and digits, or with a sign within it."""
_SHORTEST: Final = 4


def assigned_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values that are assigned to names of secrets, in any order."""
    yield from _words(text)
    for match in _QUOTED.finditer(text):
        if is_secret_name(match[1]) and is_surely_secret(match[1]):
            start, quote = match.end(), match[2]
            end = end_of_value(text, start, quote)
            # a quotation mark within the value may end the JSON text that holds it
            is_closed = text.startswith(quote, end) and '"' not in text[start:end]
            if is_closed and end - start >= _SHORTEST and not is_no_value(text, start):
                yield start, end
    for match in _LINE.finditer(text):
        if is_secret_name(match[1]) and is_surely_secret(match[1]) and _is_pass_phrase(text, match.span(2)):
            yield match.span(2)


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of values without blanks, from left to right. A value may hold further names."""
    end = 0
    for match in _ASSIGNED.finditer(text):
        if match.start() < end or not is_secret_name(match[1]):
            continue
        counts = "=" in match[0] or _WITH_DIGIT.match(text, match.end())
        if counts and (value := _VALUE.match(text, match.end())):
            yield value.span(1)
            end = value.end()


def _is_pass_phrase(text: str, span: tuple[int, int]) -> bool:
    """Return whether the words after `password:` are no sentence about passwords."""
    start, end = span
    while start < end:
        if is_no_value(text, start):
            return False
        start = text.find(" ", start, end) + 1 or end
    return _MIXED.search(text, *span) is not None
