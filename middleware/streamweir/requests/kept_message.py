"""Reads stored turns for the writers of requests; the fields of messages and items keep their values.

The store is not trusted: a turn that cannot be read counts as lost, and the writer writes the canonical
message instead. Source: the conversation contract, section 4.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from streamweir.raw_json import raw_array, raw_items, raw_object
from streamweir.requests.canonical import Message

__all__ = ["kept_fields", "kept_items", "kept_list"]

_WORDS: Final = ("type", "role", "id", "call_id")
"""The fields that writers read: they are decoded to texts, other fields stay bytes."""


def kept_fields(message: Message) -> dict[str, Any] | None:
    """Return the fields of a kept turn that is an object; None if there is no readable turn."""
    try:
        return _fields(message["turn"]) if "turn" in message else None
    except msgspec.DecodeError:
        return None


def kept_items(message: Message, name: str) -> list[dict[str, Any]] | None:
    """Return the objects in an array of a kept turn; None if there is no readable turn."""
    try:
        return [*map(_fields, raw_array(raw_object(message["turn"]), name))] if "turn" in message else None
    except msgspec.DecodeError:
        return None


def kept_list(message: Message) -> list[dict[str, Any]] | None:
    """Return the objects of a kept turn that is an array; None if there is no readable turn."""
    try:
        return [*map(_fields, raw_items(message["turn"]))] if "turn" in message else None
    except msgspec.DecodeError:
        return None


def _fields(data: bytes) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in raw_object(data).items()}


def _value(name: str, value: bytes) -> Any:
    is_word = name in _WORDS and value.startswith(b'"')
    return orjson.loads(value) if is_word else orjson.Fragment(value)
