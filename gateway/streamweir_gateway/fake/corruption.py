"""Damages the bytes of one framed event. An event without a JSON object stays unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["DAMAGES", "Damage", "badjson", "can_be_damaged", "halved", "wrong_types"]

Damage = Callable[[bytes, int], bytes]
"""Takes the bytes of an event and the argument of the fault; returns the damaged bytes."""

_PAYLOAD: Final = re.compile(rb"^(data: ?)?(\{.*\})\r?$", re.MULTILINE)
_HOLE: Final = "\ue000hole"
"""A placeholder in a text; it is replaced by bytes that no JSON writer would write."""

_TEXT_KEYS: Final = ("content", "delta", "text", "answer", "message", "thought", "reasoning_content")
_HUGE: Final = b"9" * 400
_WRONG: Final[tuple[Any, ...]] = (None, True, -1.5, "wrong", [], [[]], {}, {"wrong": 1})


def halved(event: bytes) -> bytes:
    """Return the first half of the event."""
    return event[: len(event) // 2]


def badjson(event: bytes) -> bytes:
    """Return the event in valid framing, but without the end of its JSON."""
    return _with_payload(event, lambda payload: payload[: len(payload) * 2 // 3].rstrip() or b"{")


def wrong_types(event: bytes) -> Iterator[bytes]:
    """Yield copies of the event with values of wrong types: first in one field each, then in all fields."""
    value = _value_of(event)
    if value is None:
        return
    paths = list(_paths(value))
    for wrong in _WRONG:
        for path in paths:
            yield _with_value(event, _replaced(value, path, wrong))
        yield _with_value(event, dict.fromkeys(value, wrong))
    for alone in (b"null", b"[]", b"0", b'"wrong"', b"true"):
        yield _with_payload(event, lambda _, alone=alone: alone)  # type: ignore[misc]


def can_be_damaged(event: bytes) -> bool:
    """Return whether the event has a JSON object."""
    return _value_of(event) is not None


def _filled(filling: bytes) -> Damage:
    return lambda event, _: _with_text(event, filling)


def _numbered(number: bytes, fields: Mapping[str, bytes]) -> Damage:
    return lambda event, _: _with_numbers(event, number, fields)


def _duplicate_keys(event: bytes, _: int) -> bytes:
    def doubled(payload: bytes) -> bytes:
        keys = (json.dumps(key).encode() for key in json.loads(payload))
        return b"{" + b"".join(key + b': "duplicate", ' for key in keys) + payload.lstrip()[1:]

    return _with_payload(event, doubled) if _value_of(event) else event


def _nested(event: bytes, depth: int) -> bytes:
    return _with_field(event, b'{"deep": [' * (depth // 2) + b"]}" * (depth // 2))


def _long_line(event: bytes, size: int) -> bytes:
    return _with_field(event, b'"' + b"x" * max(size - len(event), 0) + b'"')


DAMAGES: Final[Mapping[str, Damage]] = {
    "bad-utf8": _filled(b"\xff\xfe\xc3(\xe2\x82"),
    "nul": _filled(b"\\u0000"),
    "nul-byte": _filled(b"\0"),
    "surrogate": _filled(b"\\ud83d \\udca9\\ud83d"),
    "nan": _numbered(b"NaN", {"nan": b"NaN", "infinity": b"Infinity", "minus": b"-Infinity"}),
    "huge-int": _numbered(_HUGE, {"huge": _HUGE, "minus": b"-" + _HUGE, "exponent": b"1e999"}),
    "duplicate-keys": _duplicate_keys,
    "nested": _nested,
    "long-line": _long_line,
}
"""The functions that damage events, by the names of their faults."""


def _value_of(event: bytes) -> dict[str, Any] | None:
    """Return the JSON object of the event; None if it has no JSON object."""
    found = _PAYLOAD.search(event)
    try:
        value = json.loads(found[2]) if found else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _with_payload(event: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return _PAYLOAD.sub(lambda found: (found[1] or b"") + change(found[2]), event, count=1)


def _with_value(event: bytes, value: Any, holes: Mapping[str, bytes] | None = None) -> bytes:
    payload = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for hole, filling in (holes or {}).items():
        payload = payload.replace(hole.encode(), filling)
    return _with_payload(event, lambda _: payload)


def _with_text(event: bytes, filling: bytes) -> bytes:
    """Return the event with `filling` at the end of its main text."""
    value = _value_of(event)
    if value is None:
        return event
    path = _text_path(value)
    if path is None:
        return _with_field(event, b'"' + filling + b'"')
    return _with_value(event, _replaced(value, path, f"{_at(value, path)}{_HOLE}"), {_HOLE: filling})


def _with_numbers(event: bytes, number: bytes, fields: Mapping[str, bytes]) -> bytes:
    """Return the event with every number replaced by `number`, and with `fields` added."""
    value = _value_of(event)
    if value is None:
        return event
    changed: dict[str, Any] = {name: f"{_HOLE}{name}" for name in fields}
    changed.update(value)
    for path in _paths(value):
        if isinstance(_at(value, path), int | float) and not isinstance(_at(value, path), bool):
            changed = _replaced(changed, path, f"{_HOLE}number")
    holes = {f'"{_HOLE}{name}"': filling for name, filling in {**fields, "number": number}.items()}
    return _with_value(event, changed, holes)


def _with_field(event: bytes, field: bytes) -> bytes:
    """Return the event with an unknown field added."""
    if _value_of(event) is None:
        return event
    return _with_payload(event, lambda payload: b'{"fault": ' + field + b", " + payload.lstrip()[1:])


Path = tuple[str | int, ...]


def _paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Yield the path of every field, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*here, key)
        yield from _paths(item, (*here, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _replaced(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of `value` with `new` at `path`."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _text_path(value: Any) -> Path | None:
    """Return the path of the main text: a field with a usual name, or else the longest text."""
    texts = [path for path in _paths(value) if isinstance(_at(value, path), str)]
    named = [path for path in texts if path[-1] in _TEXT_KEYS]
    return max(named or texts, key=lambda path: len(_at(value, path)), default=None)
