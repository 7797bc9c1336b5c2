"""Reads JSON leniently, as upstreams really send it, and writes strict JSON.

Reading accepts input that strict parsers refuse (NaN, lone surrogates, invalid UTF-8, raw control characters
in strings); writing produces UTF-8 that every strict parser accepts. msgspec reads, because it is the only
fast parser that keeps integers beyond 64 bits exact; orjson writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

import msgspec
import orjson

from streamweir.digests import new_blake2b
from streamweir.errors import MalformedEvent
from streamweir.lazy_pattern import LazyPattern

__all__ = [
    "MAX_DEPTH",
    "decode_text",
    "has_repeated_key",
    "json_digest",
    "json_identity",
    "json_to_keep",
    "one_line",
    "parse_json",
    "parse_json_text",
    "plain_json",
    "same_json",
    "text_of",
    "valid_utf8",
    "write_json",
    "write_json_body",
    "write_json_text",
]

MAX_DEPTH: Final = 100
"""The deepest accepted nesting. orjson writes 254 levels, and JSON in a string is unfolded in JSON."""

_SHORT: Final = 64
"""JSON of at most this many bytes is kept instead of its digest."""

_COUNTED: Final = 1024
"""Bytes of data in which brackets are counted at once."""

_FEW: Final = 8
"""Up to this many brackets of a kind are searched one by one; more are counted."""

_SHALLOW: Final = 8
"""The number of levels that are measured in C, innermost first; deeper ones are walked in Python."""

_MAX_INTEGER_DIGITS: Final = 1000
"""Integers with more digits are kept as text, because converting them takes quadratic time."""

_STRING: Final = LazyPattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""Matches a string, or the beginning of a string that never ends; each byte is read once."""

_STRETCH: Final = LazyPattern(rb'(?:[^"]*+"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)){1,1000}+', re.DOTALL)
"""Matches up to a thousand strings and the text between them."""

_HALVES: Final = LazyPattern(
    r"(?:\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|[c-fC-F][0-9a-fA-F]{2}(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD].{3})))++"
)
"""Matches text that looks like the escape of one half of a surrogate pair."""
_HALF: Final = len("\\ud83d")
_MOST_BACKSLASHES: Final = 64

_LONG_INTEGER: Final = LazyPattern(
    r'((?:[^"0-9]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|[0-9]{1,18}+(?![0-9]))){0,1000}+[^"0-9]*+)([0-9]{19,}+)?'
)
"""Matches digits that may be more than 64 bits, after up to a thousand strings and shorter numbers."""
_INTEGERS: Final = range(-(2**63), 2**64)
"""The integers that orjson writes."""

_MAY_HOLD_A_HUGE_NUMBER: Final = LazyPattern(r"(?<![0-9])[0-9]{300}|[0-9][eE]\+?[0-9]{3}")
_AS_THEY_ARE: Final = frozenset({bool, float, type(None)})

_ONE_KIND_OF_BRACKET: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))

_OWN_VALUES: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
"""The orjson options for types that are not JSON and that Python code uses in place of JSON types."""

_SEPARATORS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
"""The characters at which `str.splitlines` cuts, each with its escape inside a JSON string."""

_decode = msgspec.json.Decoder().decode
_dumps = orjson.dumps


def parse_json(data: bytes) -> tuple[Any, bool]:
    """Return the value of the JSON in `data`, and whether its text had to be repaired to valid Unicode.

    Raises:
        MalformedEvent: `data` is not JSON, or is nested deeper than `MAX_DEPTH`.
    """
    if len(data) > 2 * MAX_DEPTH and _is_too_deep(data):
        raise MalformedEvent("JSON nested too deeply")
    try:
        return _decode(data), False
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _parse_leniently(data)


def parse_json_text(text: str) -> Any:
    """Return the value of JSON inside a string (such as a call's arguments), or raise `MalformedEvent`."""
    return parse_json(text.encode("utf-8", "replace"))[0]


def has_repeated_key(data: bytes) -> bool:
    """Return whether an object in the JSON has a key twice; `parse_json` would return the last value.

    Args:
        data: JSON that has been parsed before, so that its nesting is known to be bounded.

    Source: RFC 8259, section 4 (names within an object).
    """
    repeated = False

    def note(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in pairs}) < len(pairs)

    try:
        json.loads(data.decode("utf-8", "replace"), object_pairs_hook=note, parse_int=str, strict=False)
    except (ValueError, RecursionError):
        return True
    return repeated


def write_json(value: Any) -> bytes:
    """Return `value` as one line of UTF-8 JSON; NaN is null, integers beyond 64 bit are strings."""
    try:
        data = _dumps(value)
    except TypeError:
        data = _write_leniently(value)
    return data if data.isascii() else one_line(data)


def write_json_body(value: Any) -> bytes:
    """Return `value` as the UTF-8 JSON of a body that is not cut into lines; see `write_json`.

    U+0085, U+2028 and U+2029 are not escaped, because a model that signs the JSON of its calls would notice
    the change.
    """
    try:
        return _dumps(value)
    except TypeError:
        return _write_leniently(value)


def json_to_keep(value: Any) -> bytes:
    """Return the JSON of `value` in a buffer of its exact size; orjson's may be 30 times as large."""
    return b"%b" % write_json(value)


def json_digest(value: Any) -> bytes:
    """Return a 16-byte digest of `value`; the order of keys does not matter."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        data = _write_leniently(value)
    return new_blake2b(data, digest_size=16).digest()


def json_identity(value: Any) -> bytes:
    """Return bytes that are equal only for equal values: the JSON, or a digest if the JSON is long."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        data = _write_leniently(value)
    if len(data) <= _SHORT:
        return b"%b" % data  # see `json_to_keep`
    return new_blake2b(data, digest_size=16).digest()


def one_line(data: bytes) -> bytes:
    """Return the JSON text `data` as one line, also for readers that cut at U+0085, U+2028 and U+2029."""
    if data.find(b"\xe2\x80") >= 0 or data.find(b"\xc2\x85") >= 0:  # half of what `in` takes
        for separator, escape in _SEPARATORS:
            data = data.replace(separator, escape)
    return data


def write_json_text(value: Any) -> str:
    """Return `value` as JSON text, for protocols that carry JSON inside a string."""
    return write_json(value).decode()


def text_of(value: Any) -> str:
    """Return the text of a value: texts unchanged, null as an empty text, any other value as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else write_json_text(value)


def plain_json(value: Any) -> Any:
    """Return a copy of `value` that equals the value read from its JSON text.

    Raises:
        ValueError: a value is not JSON, contains itself, or has more than `MAX_DEPTH` levels.
    """
    try:
        data = orjson.dumps(value, default=_as_json, option=_OWN_VALUES)
    except TypeError:
        try:
            data = orjson.dumps(_writable(value), default=_as_json, option=_OWN_VALUES)
        except (TypeError, RecursionError) as error:
            raise ValueError("is no JSON value") from error
    try:
        return parse_json(data)[0]
    except MalformedEvent as error:
        raise ValueError("is nested too deeply") from error


def _as_json(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case Set():
            return list(value)
    raise TypeError("no JSON value")


def same_json(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; unlike in Python, true is not 1, at any depth."""
    if isinstance(one, str):
        return bool(one == other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def decode_text(data: bytes) -> tuple[str, bool]:
    """Return `data` as text, with U+FFFD for invalid UTF-8, and whether there was any."""
    try:
        return data.decode(), False
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), True


def valid_utf8(raw: bytes) -> bytes:
    """Return `raw` unchanged if it is UTF-8, else with U+FFFD in place of each invalid sequence."""
    if raw.isascii():
        return raw
    text, is_damaged = decode_text(raw)
    return text.encode() if is_damaged else raw


def _is_too_deep(data: bytes) -> bool:
    """Return whether the nesting exceeds `MAX_DEPTH`; it is only measured if there are enough brackets."""
    if not _has_more_than(MAX_DEPTH, data, b"[", b"{"):
        return False
    brackets = b"".join(_brackets(data))
    for _ in range(_SHALLOW):
        brackets = brackets.replace(b"[]", b"")
    depth = _SHALLOW
    for bracket in brackets:
        depth += 1 if bracket == 0x5B else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _has_more_than(most: int, data: bytes, *letters: bytes) -> bool:
    """Return whether `data` contains more than `most` of these characters."""
    if len(data) <= _COUNTED:
        return sum(map(data.count, letters)) > most
    find = data.find  # it passes over other bytes twenty times as fast as `count`
    for letter in letters:
        begin, found = find(letter) + 1, 0
        while begin and found < _FEW:
            begin, found = find(letter, begin) + 1, found + 1
        most -= found + data.count(letter, begin - 1) if begin else found
    return most < 0


def _brackets(data: bytes) -> Iterator[bytes]:
    """Yield the brackets outside of strings, one stretch of text at a time to bound the number of objects."""
    at = 0
    while at < len(data):
        stretch = _STRETCH.match(data, at)
        end = stretch.end() if stretch else len(data)
        yield _STRING.sub(b"", data[at:end]).translate(_ONE_KIND_OF_BRACKET, _NO_BRACKETS)
        at = end


def _parse_leniently(data: bytes) -> tuple[Any, bool]:
    text, damaged = decode_text(data)
    whole = _HALVES.sub(_whole_characters, text)
    if damaged or whole != text:
        try:
            return _decode(whole.encode()), True
        except (msgspec.MsgspecError, ValueError, RecursionError):
            damaged = True  # and that is not all that is wrong with it
    try:
        return _load(whole), damaged
    except (ValueError, RecursionError) as error:
        raise MalformedEvent("not JSON") from error


def _whole_characters(halves: re.Match[str]) -> str:
    start = halves.start()
    before = halves.string[max(0, start - _MOST_BACKSLASHES) : start]
    is_escaped = (len(before) - len(before.rstrip("\\"))) % 2  # the first backslash belongs to the one before
    kept = halves[0][: _HALF * is_escaped]
    return kept + "\\ufffd" * (len(halves[0]) // _HALF - is_escaped)


def _load(text: str) -> Any:
    """Read JSON with Python's own numbers, which is fast, if they can represent all numbers of the text."""
    if not _MAY_HOLD_A_HUGE_NUMBER.search(text):
        return json.loads(text, strict=False, parse_constant=_no_constant)
    return json.loads(
        text, strict=False, parse_constant=_no_constant, parse_int=_integer, parse_float=_finite
    )


def _no_constant(_name: str) -> None:
    """Return None for NaN and Infinity."""


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else digits


def _write_leniently(value: Any) -> bytes:
    """Write a value that orjson refuses; in C, if only integers and lone surrogates are the cause."""
    try:
        text = json.dumps(
            value, ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(_writable(value), default=str)
    return _without_surrogates(_LONG_INTEGER.sub(_quoted_integer, text)).encode()


def _quoted_integer(found: re.Match[str]) -> str:
    before, digits = found.groups()
    if digits is None or before.endswith("."):  # of a fraction
        return found[0]
    if before.endswith("-"):
        before, digits = before[:-1], f"-{digits}"
    return f"{before}{digits}" if int(digits) in _INTEGERS else f'{before}"{digits}"'


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _writable(value: Any) -> Any:
    """Return `value` without values that orjson refuses: big integers, unusual keys, lone surrogates."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _without_surrogates(value)
    if kind is int:
        return value if value in _INTEGERS else str(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, dict):
        return {
            key if type(key) is str and key.isascii() else _without_surrogates(str(key)): (
                item if type(item) in _AS_THEY_ARE else _writable(item)
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _AS_THEY_ARE else _writable(item) for item in value]
    return _writable_leaf(value)


def _writable_leaf(value: Any) -> Any:
    """Return a text or a number of a subclass as its base type; leave other values to `default`."""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value
