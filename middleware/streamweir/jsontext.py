"""JSON as upstreams really send it, and as streamweir writes it.

Reading accepts what the strict parsers refuse (NaN, lone surrogates, bytes that are no UTF-8, raw control
characters in strings); writing produces UTF-8 that every strict parser accepts. msgspec reads because it is the
one fast parser that keeps integers beyond 64 bit exact; orjson writes.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import orjson

from streamweir.errors import MalformedEvent

__all__ = ["MAX_DEPTH", "parse_json", "parse_json_text", "write_json", "write_json_text"]

MAX_DEPTH: Final = 100
"""Deepest nesting that is accepted. orjson writes 254 levels; JSON in a string may be unfolded inside JSON."""

_MAX_INTEGER_DIGITS: Final = 1000
"""Longer integers stay the text they are: converting them takes quadratic time."""

_REPLACEMENT: Final = "\ufffd"

_decode = msgspec.json.Decoder().decode


def parse_json(data: bytes) -> tuple[Any, bool]:
    """Return the value that `data` holds and whether its text had to be repaired to valid Unicode.

    Raises:
        MalformedEvent: `data` is no JSON, or is nested deeper than `MAX_DEPTH`.
    """
    if len(data) > 2 * MAX_DEPTH and _nesting(data) > MAX_DEPTH:
        raise MalformedEvent("JSON nested too deeply")
    try:
        return _decode(data), False
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _parse_leniently(data)


def parse_json_text(text: str) -> Any:
    """Return the value of JSON inside a string (a call's arguments), or raise `MalformedEvent`."""
    return parse_json(text.encode("utf-8", "replace"))[0]


def write_json(value: Any) -> bytes:
    """Return `value` as one line of UTF-8 JSON; NaN is null, integers beyond 64 bit are strings."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_writable(value), default=str)


def write_json_text(value: Any) -> str:
    """Return `value` as JSON text, for protocols that carry JSON inside a string."""
    return write_json(value).decode()


def _nesting(data: bytes) -> int:
    """The depth at which `MAX_DEPTH` is passed, else 0; bytes are walked only if a count can't rule it out."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return 0
    depth = 0
    in_string = escaped = False
    for byte in data:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                return depth
        elif byte in b"]}":
            depth -= 1
    return 0


def _parse_leniently(data: bytes) -> tuple[Any, bool]:
    text = data.decode("utf-8", "replace")
    damaged = _REPLACEMENT in text and _REPLACEMENT.encode() not in data
    try:
        value = json.loads(text, strict=False, parse_constant=_no_constant, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise MalformedEvent("not JSON") from error
    cleaned = _without_surrogates(value)
    return cleaned, damaged or cleaned != value


def _no_constant(_name: str) -> None:
    """NaN and Infinity become null."""


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_without_surrogates(item) for item in value]
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case _:
            return value


def _writable(value: Any) -> Any:
    """`value` with everything that orjson refuses replaced: big integers, odd keys, lone surrogates."""
    match value:
        case bool() | None | float():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case str():
            return _without_surrogates(value)
        case dict():
            return {_without_surrogates(str(key)): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value
