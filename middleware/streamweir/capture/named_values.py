"""Finds the values under names of secrets: of JSON, of JSON within a JSON text, and of Python's `repr`.

The value of a name that is surely a secret is masked up to its closing quotation mark. Another name may also
hold a token of a model: its value is masked if it looks like a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.redaction.secret_names import is_secret_name

__all__ = ["end_of_value", "is_surely_secret", "named_values", "secret_spans"]

_NAME: Final = re.compile(r"""(\\{0,8}["'])([\w.$-]{1,64})\1[ \t]?:\s{0,64}(\[\s{0,64})?\1""")
"""Matches a name, and the quotation mark before its value or before the first value of its list."""
_NEXT: Final = re.compile(r"""\\{0,8}["']\s{0,64},\s{0,64}\\{0,8}["']""")
"""Matches the text between two values of a list: quotation mark, comma, quotation mark."""
_END: Final = {mark: re.compile(rf"(?<!\\)(\\*+)(?:{mark}|(?=[\r\n]))") for mark in "\"'"}
"""Match a quotation mark and the backslashes before it; or the end of the line."""
_SCHEME: Final = re.compile(r"[A-Za-z]+ ")
_WORD: Final = re.compile(r"""[^"\\\s]+""")
_SHORTEST: Final = 4
_SHORTEST_KEY: Final = 8
_SURE: Final = ("pass", "pwd", "secret", "credential")
"""Parts of names whose values are secrets. (`token` is missing: it may also hold a token of a model.)"""
_HEADERS: Final = ("authorization", "cookie")
"""Ends of names of headers, whose values may have several words, one of them with a digit."""


def named_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values under names of secrets in `text`, from left to right."""
    for match in _NAME.finditer(text):
        if not is_secret_name(match[2]):
            continue
        name, quote, start = match[2], match[1], match.end()
        while True:
            end = end_of_value(text, start, quote)
            yield from secret_spans(name, text, start, end)
            next_value = _NEXT.match(text, end) if match[3] else None
            if next_value is None:
                break
            start = next_value.end()


def end_of_value(text: str, start: int, quote: str) -> int:
    """Return the place of the closing quotation mark of a value, with its backslashes.

    With n backslashes before the opening mark, a mark within the value has 2n + 1, and each backslash of the
    value is written as 2n + 2. So the closing mark is the first one with n, or n and a multiple of 2n + 2.
    """
    own = len(quote) - 1
    for match in _END[quote[-1]].finditer(text, start):
        if text[match.end() - 1] != quote[-1]:
            return match.start()
        if len(match[1]) % (2 * own + 2) == own:
            return match.end() - len(quote)
    return len(text)


def is_surely_secret(name: str) -> bool:
    """Return whether any value under this name of a secret is one, whatever it looks like."""
    name = name.lower()
    return any(part in name for part in _SURE)


def secret_spans(name: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span of the secret in the value of a name; nothing if there is none."""
    first, last = _secret_in(name.lower(), text[start:end])
    if last - first >= _SHORTEST:
        yield start + first, start + last


def _secret_in(name: str, value: str) -> tuple[int, int]:
    """Return the span of the secret in a value; an empty one if there is none."""
    if is_surely_secret(name):
        return 0, len(value)
    scheme = _SCHEME.match(value) if name.endswith("authorization") else None
    start, key = (0, value) if scheme is None else (scheme.end(), value[scheme.end() :])
    if not name.endswith(_HEADERS) and any(map(str.isspace, key)):
        word = _WORD.match(key)
        key = "" if word is None else word[0]
    is_key = len(key) >= _SHORTEST_KEY and any(map(str.isdigit, key))
    return start, start + len(key) if is_key else start
