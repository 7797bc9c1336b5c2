"""Reads the blocks in the content of LangChain messages that are no text, no thought and no call to answer.

Source: langchain-core 1.7 (`messages/content.py`); the blocks of langchain-anthropic 1.3 and langchain-openai
1.1. These are tools that the provider runs, their results, files, and the sources of texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from streamweir.codec.coerce import (
    and_extra,
    arguments,
    custom,
    leftover,
    object_in,
    objects_in,
    present_texts,
    text_of,
    tool_error,
)
from streamweir.codec.standard_shapes import file_event
from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import Event, Meta, Reference, ToolCallEnd, ToolCallStart
from streamweir.ids import RecentIds, short_id
from streamweir.jsontext import write_json

__all__ = ["OtherBlocks"]

_ELSEWHERE: Final = frozenset(
    {
        *("refusal", "thinking", "reasoning", "reasoning_content", "redacted_thinking"),
        *("tool_use", "toolUse", "tool_call", "tool_call_chunk", "tool-call", "invalid_tool_call"),
        *("function", "function_call", "custom_tool_call", "server_tool_call_chunk"),
    }
)
"""The types of blocks that are read as texts, as thoughts, or from the calls of the message."""

_SERVER_CALLS: Final = frozenset({"server_tool_call", "server_tool_use"})
_RESULT: Final = "tool_result"
_FILES: Final[Mapping[str, Literal["image", "audio", "file"]]] = {
    **dict.fromkeys(("image", "image_url"), "image"),
    "audio": "audio",
    **dict.fromkeys(("video", "file", "media"), "file"),
}
"""The types of data, by the types of blocks of files."""

_IDS: Final = ("id", "tool_use_id", "tool_call_id")
_FAILED: Final = frozenset({"error", "failed"})
_KNOWN_CALL: Final = ("type", "id", "name", "args", "input", "index", "partial_json")
_KNOWN_RESULT: Final = (
    *("type", "id", "tool_call_id", "tool_use_id", "status", "output", "content", "is_error", "index"),
)
_KNOWN_FILE: Final = (
    *("type", "url", "base64", "data", "file_id", "mime_type", "image_url", "source", "source_type", "index"),
)
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("title", "document_title", "filename"),
    "url": ("url", "source"),
    "snippet": ("cited_text",),
    "document_id": ("file_id",),
}
"""The names that providers have for the fields of a citation."""


class _Arriving(NamedTuple):
    """A call of a server tool whose arguments are arriving."""

    block: Mapping[str, Any]
    pieces: TextPieces


class OtherBlocks:
    """Reads the blocks of one run.

    Args:
        room: the number of bytes, roughly, that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._read: RecentIds[None] = RecentIds(room // 8)
        """The ids of messages whose blocks have arrived; of a message without an id, a digest."""
        self._named: RecentIds[None] = RecentIds(room // 8)
        """The types and ids of blocks that have arrived: a message may come again under another id."""
        self._arriving: _Arriving | None = None

    def read_piece(self, content: Any, message_id: str, meta: Meta | None, *, ends: bool) -> Iterator[Event]:
        """Yield the events of the blocks in a piece of a message.

        Args:
            content: the content of the piece.
            message_id: the id of the message.
            meta: the metadata of the message.
            ends: whether the message ends with this piece.
        """
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "input_json_delta":
                self._add(block)
                continue
            yield from self._finish(meta)
            if kind == "server_tool_use" and not block.get("input"):
                self._arriving = _Arriving(block, TextPieces())
            self._is_new(block)
            for event in _events_of(block, meta) if self._arriving is None else ():
                self._read.add(message_id, None)
                yield event
        if ends:
            yield from self._finish(meta)

    def read_whole(self, content: Any, message_id: str, meta: Meta | None) -> Iterator[Event]:
        """Yield the events of the blocks in a whole message, unless they have arrived."""
        if not isinstance(content, list):
            return
        key = message_id or hashlib.blake2b(write_json(content), digest_size=16).hexdigest()
        for block in content if key not in self._read else ():
            if self._is_new(block):
                yield from _events_of(block, meta)
        self._read.add(key, None)

    def _is_new(self, block: Any) -> bool:
        """Note a block; return False if one with the same type and id has arrived."""
        ids = (text_of(block.get(name)) for name in _IDS) if isinstance(block, dict) else ()
        block_id = next(filter(None, ids), "")
        if not block_id or block.get("type") == "text":
            return True
        key = f"{text_of(block.get('type'))} {short_id(block_id)}"
        is_new = key not in self._named
        self._named.add(key, None)
        return is_new

    def _add(self, delta: Mapping[str, Any]) -> None:
        """Add a piece of arguments to the call of a server tool; those of other calls are read elsewhere."""
        arriving = self._arriving
        if arriving is not None and delta.get("index") == arriving.block.get("index"):
            arriving.pieces.append(text_of(delta.get("partial_json", delta.get("input"))))
            if arriving.pieces.size > self._room:
                raise LimitExceeded("more text of arguments waits than is allowed")

    def _finish(self, meta: Meta | None) -> Iterator[Event]:
        """Yield the start of the call whose arguments were arriving."""
        if (arriving := self._arriving) is not None:
            self._arriving = None
            self._read.add(text_of((meta or {}).get("message_id")), None)
            yield from _events_of({**arriving.block, "input": arriving.pieces.text}, meta)


def _events_of(block: Any, meta: Meta | None) -> Iterator[Event]:
    if not isinstance(block, dict):
        if not isinstance(block, str):
            yield custom("content", block, meta)
        return
    kind = text_of(block.get("type"))
    if kind == "text":
        yield from _sources(block, meta)
    elif kind in _SERVER_CALLS:
        given = arguments(block.get("args", block.get("input")))
        beside = and_extra(meta, leftover(block, _KNOWN_CALL))
        name = text_of(block.get("name")) or "unknown"
        yield ToolCallStart(short_id(text_of(block.get("id"))), name, arguments=given, meta=beside)
    elif kind.endswith(_RESULT):
        yield _result(block, meta)
    elif kind in _FILES:
        yield _file(kind, block, meta)
    elif kind == "non_standard" and isinstance(block.get("value"), dict):
        yield from _events_of(block["value"], meta)
    elif kind not in _ELSEWHERE and kind != "input_json_delta":
        yield custom(kind or "content", block, meta)


def _sources(block: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield the sources of a text."""
    given = [*objects_in(block.get("citations")), *objects_in(block.get("annotations"))]
    found = [*map(_citation, given)]
    if known := [citation for citation in found if citation]:
        yield Reference(known, meta=meta)
    for source, citation in zip(given, found, strict=True):
        if not citation:
            yield custom("annotation", source, meta)


def _citation(given: Mapping[str, Any]) -> dict[str, str]:
    given = {**given, **object_in(given, "url_citation"), **object_in(given, "value")}
    return {
        ours: text
        for ours, names in _TEXTS.items()
        if (text := next((found for name in names if isinstance(found := given.get(name), str)), ""))
    }


def _result(block: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return the end of a call of a server tool."""
    result = block.get("output", block.get("content"))
    meta = and_extra(meta, leftover(block, _KNOWN_RESULT))
    tool_id = short_id(text_of(block.get("tool_call_id") or block.get("tool_use_id")))
    is_error = isinstance(result, dict) and text_of(result.get("type")).endswith("_error")
    if is_error or block.get("is_error") is True or text_of(block.get("status")) in _FAILED:
        return ToolCallEnd(tool_id, "failed", error=tool_error(result), meta=meta)
    return ToolCallEnd(tool_id, result=result, meta=meta)


def _file(kind: str, block: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return the event of a file: of the standard blocks, or in the form of a provider."""
    inner = {**block, **object_in(block, "source")}
    address = block.get("image_url")
    address = object_in(block, "image_url").get("url") if isinstance(address, dict) else address
    file = present_texts(
        url=inner.get("url") or address,
        base64=inner.get("base64") or inner.get("data"),
        file_id=inner.get("file_id"),
        media_type=inner.get("mime_type") or inner.get("media_type"),
    )
    rest = leftover(block, _KNOWN_FILE)
    return file_event(_FILES[kind], file, and_extra(meta, rest))
