"""Reads the fields of a message or an item that an upstream made, so that writers copy the values unchanged.

Source: the conversation contract, section 4.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from streamweir.raw_json import raw_array, raw_items, raw_object

__all__ = ["kept_fields", "kept_items", "kept_list"]

_WORDS: Final = ("type", "role", "id", "call_id")
"""The fields that writers look at: they are texts, not bytes."""


def kept_fields(data: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object; each value is written byte for byte.

    Raises:
        msgspec.DecodeError: `data` is no JSON object.
    """
    return {name: _value(name, value) for name, value in raw_object(data).items()}


def kept_items(data: bytes, name: str) -> list[dict[str, Any]]:
    """Return the objects in an array of a JSON object, each like `kept_fields`.

    Raises:
        msgspec.DecodeError: `data` is no JSON object, or the array holds something else.
    """
    return [kept_fields(item) for item in raw_array(raw_object(data), name)]


def kept_list(data: bytes) -> list[dict[str, Any]]:
    """Return the objects in a JSON array, each like `kept_fields`.

    Raises:
        msgspec.DecodeError: `data` is no JSON array of objects.
    """
    return [kept_fields(item) for item in raw_items(data)]


def _value(name: str, value: bytes) -> Any:
    is_word = name in _WORDS and value.startswith(b'"')
    return orjson.loads(value) if is_word else orjson.Fragment(value)
