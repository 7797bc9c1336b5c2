"""JSON objects whose values are kept as the original bytes, so that numbers and texts do not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from streamweir.jsontext import write_json

__all__ = [
    "NULL",
    "raw_array",
    "raw_items",
    "raw_object",
    "raw_text",
    "raw_value",
    "write_array",
    "write_object",
]

NULL: Final = b"null"

_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_text: Final = msgspec.json.Decoder(str).decode


def raw_object(data: bytes | msgspec.Raw) -> dict[str, bytes]:
    """Return the fields of a JSON object, each value as its bytes.

    Raises:
        msgspec.DecodeError: `data` is not a JSON object.
    """
    return {name: bytes(value) for name, value in _object(data).items()}


def raw_items(data: bytes | msgspec.Raw) -> list[bytes]:
    """Return the items of a JSON array, each as its bytes.

    Raises:
        msgspec.DecodeError: `data` is not a JSON array.
    """
    return [bytes(item) for item in _items(data)]


def raw_text(data: bytes) -> str:
    """Return the text of a JSON string.

    Raises:
        msgspec.DecodeError: `data` is not a JSON string.
    """
    return _text(data)


def raw_value(text: str) -> bytes:
    """Return the bytes of a JSON text that was sent in pieces within strings.

    A number may exceed the range of a double: its bytes are copied without computing its value.

    Raises:
        msgspec.DecodeError: the text is not JSON.
        UnicodeEncodeError: the text contains half a surrogate pair.
    """
    data = text.encode()
    if len(_items(b"[" + data + b"]")) != 1:
        raise msgspec.DecodeError("no single JSON value")
    return data


def raw_array(fields: Mapping[str, bytes], name: str) -> list[bytes]:
    """Return the items of an array among raw fields; empty if the field is absent, null or not an array."""
    value = fields.get(name, NULL).strip()
    return raw_items(value) if value.startswith(b"[") else []


def write_object(fields: Mapping[str, bytes]) -> bytes:
    """Return the JSON object with these raw fields; null fields are left out."""
    written = (write_json(name) + b":" + value for name, value in fields.items() if value.strip() != NULL)
    return b"{" + b",".join(written) + b"}"


def write_array(items: Iterable[bytes]) -> bytes:
    """Return the JSON array with these raw items."""
    return b"[" + b",".join(items) + b"]"
