"""Finds secrets that are no texts under their names: `"password": {"value": "x1"}`, `"password": 123456`.

An object may also describe a secret, such as a JSON schema does. So only those of its members count that are
called the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.capture.named_values import end_of_value, secret_spans
from streamweir.redaction.secret_names import is_secret_name

__all__ = ["nested_values"]

_NESTED: Final = re.compile(
    r"""(?P<quote>\\{0,8}["'])(?P<name>[\w.$-]{1,64})(?P=quote)[ \t]?:\s{0,64}"""
    r"(?:(?P<object>\{)|(?P<number>-?\d{4,20})(?=\s{0,64}[,}\]]))"
)
_MEMBER: Final = re.compile(
    r"""(?P<quote>\\{0,8}["'])(?i:value|val|v|plain|plaintext|raw|data|current|new|old)(?P=quote)[ \t]?:"""
    r"\s{0,64}(?P=quote)"
)
_LONGEST_OBJECT: Final = 2048
_NUMBERS: Final = ("password", "passwd", "passcode", "passphrase", "pwd", "secret", "otp")
"""Parts of names under which a number is a secret. Others may also hold a count, or the id of a token."""


def nested_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the numbers, and of the values in objects, under names of secrets."""
    for match in _NESTED.finditer(text):
        name = match["name"]
        if not is_secret_name(name):
            continue
        if match["object"] is None:
            if any(part in name.lower() for part in _NUMBERS):
                start, end = match.span("number")
                yield (start + 1 if text[start] == "-" else start), end
            continue
        end = _end_of_object(text, match.end())
        for member in _MEMBER.finditer(text, match.end(), end):
            if member["quote"] == match["quote"]:
                value = member.end()
                yield from secret_spans(name, text, value, end_of_value(text, value, match["quote"]))


def _end_of_object(text: str, start: int) -> int:
    """Return the place of the next bracket: members of objects within the object are not its own."""
    most = start + _LONGEST_OBJECT
    ends = [place for bracket in "{}" if (place := text.find(bracket, start, most)) >= 0]
    return min(ends, default=min(most, len(text)))
