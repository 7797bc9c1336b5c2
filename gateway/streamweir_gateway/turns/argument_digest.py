"""Computes a digest of a call's arguments that does not change when a client parses and rewrites them.

JavaScript has no other numbers than doubles: a page sends 12345678901234567890 back as 12345678901234567000,
and 1.0 as 1. Source: the conversation contract, section 4.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final

import orjson

__all__ = ["argument_digest"]

_DIGEST_BYTES: Final = 16
_OPTIONS: Final = orjson.OPT_SORT_KEYS


def argument_digest(arguments: Any) -> str:
    """Return a digest of a JSON value, with its numbers as doubles: 32 hexadecimal digits."""
    try:
        data = orjson.dumps(_with_doubles(arguments), option=_OPTIONS)
    except TypeError:  # half a surrogate pair
        data = repr(arguments).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _with_doubles(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int or kind is float:
        return _double(value)
    if kind is dict:
        return {name: _with_doubles(item) for name, item in value.items()}
    return [_with_doubles(item) for item in value] if kind is list else value


def _double(number: float) -> float | None:
    """Return a number as a double; None if it is too large for a double, which JavaScript writes as null."""
    try:
        found = float(number)
    except OverflowError:
        return None
    return found + 0.0 if math.isfinite(found) else None  # -0.0 becomes 0.0
