"""Computes a digest of a call's arguments that does not change when a client parses and rewrites them.

JavaScript has no other numbers than doubles: a page sends 12345678901234567890 back as 12345678901234567000,
and 1.0 as 1. Protocols that have arguments as an object send integers beyond 64 bits as texts. Arguments that
are not an object are a text under `_raw`, which a page may have parsed and rewritten.

Source: the conversation contract, section 4; the protocol contract, section 3.6.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Final

import orjson

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json_text

__all__ = ["argument_digest", "digest_with_texts"]

_DIGEST_BYTES: Final = 16
_OPTIONS: Final = orjson.OPT_SORT_KEYS
_INTEGERS: Final = range(-(2**63), 2**64)
"""The integers that are digested as integers."""


def argument_digest(arguments: Any) -> str:
    """Return a digest of a JSON value, with its numbers as doubles: 32 hexadecimal digits."""
    return _digest(arguments, _double)


def digest_with_texts(arguments: Any) -> str | None:
    """Return a digest of arguments with integers beyond 64 bits as texts; None without such integers."""
    try:
        orjson.dumps(arguments)
    except TypeError:
        return _digest(arguments, _text_or_double)
    return None


def _digest(arguments: Any, number: Callable[[float], Any]) -> str:
    try:
        data = orjson.dumps(_changed(_unfolded(arguments), number), option=_OPTIONS)
    except TypeError:  # half a surrogate pair
        data = repr(arguments).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _unfolded(arguments: Any) -> Any:
    """Return the parsed value of arguments that are a text; invalid JSON stays unchanged."""
    text = arguments.get("_raw") if isinstance(arguments, dict) and len(arguments) == 1 else None
    if not isinstance(text, str):
        return arguments
    try:
        return [parse_json_text(text)]
    except MalformedEvent:
        return arguments


def _changed(value: Any, number: Callable[[float], Any]) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int or kind is float:
        return number(value)
    if kind is dict:
        return {name: _changed(item, number) for name, item in value.items()}
    return [_changed(item, number) for item in value] if kind is list else value


def _double(number: float) -> float | None:
    """Return a number as a double; None if it is too large for a double, which JavaScript writes as null."""
    try:
        found = float(number)
    except OverflowError:
        return None
    return found + 0.0 if math.isfinite(found) else None  # -0.0 becomes 0.0


def _text_or_double(number: float) -> float | str | None:
    return str(number) if isinstance(number, int) and number not in _INTEGERS else _double(number)
