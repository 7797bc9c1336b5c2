"""Reads the blocks of calls in version 3 of LangChain's events: what each event adds to the arguments.

Source: langchain-core 1.7 (`language_models/_compat_bridge.py`). A `tool-call-delta` holds a piece of the
arguments, a `block-delta` all arguments until now, or a piece of them from older servers. The end of the
block repeats the arguments; it is the only event that holds them if the model sends calls as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from zlib import crc32

from streamweir.codec.coerce import object_in, text_of
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json_text

__all__ = ["CallBlocks"]

_BEGINNINGS: Final = frozenset({"tool_call", "tool_call_chunk"})
_ENDS: Final = frozenset({"tool_call", "invalid_tool_call"})
_LARGEST_INDEX: Final = 1 << 31


class _Arrived(NamedTuple):
    """The arguments of a call that have arrived: the bytes of their text, and a checksum of it."""

    size: int = 0
    checksum: int = 0


class CallBlocks:
    """Reads the blocks of the calls of one stream.

    Args:
        room: the number of bytes of ids, roughly, that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._arrived: RecentIds[_Arrived] = RecentIds(room // 8)

    def read(self, name: str, event: Mapping[str, Any], message_id: str) -> dict[str, Any] | None:
        """Return the addition to a call, as older versions send it; None if the event adds to no call.

        Args:
            name: the name of the event of a block.
            event: the event.
            message_id: the id of the message of the block.
        """
        block = _call_in(name, event)
        if block is None:
            return None
        index = event.get("index")
        key = f"{index} {message_id}"
        arrived, text = self._arrived.get(key) or _Arrived(), _arguments_of(block.get("args"))
        if name == "content-block-finish":
            self._arrived.discard(key)
            text = "" if arrived.size else text
        else:
            is_growing = object_in(event, "delta").get("type") == "block-delta"
            text = self._add(key, arrived, text, is_growing=is_growing)
        is_index = type(index) is int and 0 <= index < _LARGEST_INDEX
        return {**block, "args": text, "index": index if is_index else None}

    def _add(self, key: str, arrived: _Arrived, text: str, *, is_growing: bool) -> str:
        """Note a text of arguments; return the part of it that has not arrived before."""
        data = text.encode("utf-8", "surrogatepass")
        if is_growing and arrived.size and crc32(data[: arrived.size]) == arrived.checksum:
            data = data[arrived.size :]
        if data:
            self._arrived.add(key, _Arrived(arrived.size + len(data), crc32(data, arrived.checksum)))
        return data.decode("utf-8", "surrogatepass")


def _call_in(name: str, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the fields of a call in an event; None for another block."""
    if name == "content-block-delta":
        delta = object_in(event, "delta")
        fields = object_in(delta, "fields")
        if delta.get("type") == "block-delta":
            return fields if text_of(fields.get("type", "tool_call_chunk")) in _BEGINNINGS else None
        return delta if delta.get("type") == "tool-call-delta" else None
    block = object_in(event, "content")
    kinds = _ENDS if name == "content-block-finish" else _BEGINNINGS
    return block if text_of(block.get("type")) in kinds else None


def _arguments_of(given: Any) -> str:
    """Return the text of arguments; the empty object with which a block begins is no argument."""
    return given if isinstance(given, str) else write_json_text(given) if given else ""
