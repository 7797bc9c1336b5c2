"""Reads text and reasoning: messages that are begun, continued and ended by id, or chunks without a start."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

import msgspec

from streamweir.codec.coerce import and_extra, custom, leftover, meta_of, objects_in, text_of
from streamweir.codec.short_names import with_short_names
from streamweir.dialects.ag_ui.shared_metadata import BASE, CHUNK, metadata_of, read_metadata
from streamweir.events import Content, Event, Thinking

__all__ = ["Texts", "read_reasoning"]

MAX_KEPT: Final = 1000
"""The most messages whose start is remembered. A piece of an older message lacks the fields of the start."""

_KNOWN: Final = BASE | {"messageId", "role", "delta"}
_FORMATS: Final = ("markdown", "text", "html")


class _Message(msgspec.Struct):
    """A message that has begun, kept as a piece with an empty text."""

    piece: Content
    has_text: bool = False
    has_come_out: bool = False
    """Whether a text or the end of the message has been sent, which carries the other fields of the start."""


class Texts:
    """The text messages of one stream."""

    def __init__(self) -> None:
        self._begun: OrderedDict[str, _Message] = OrderedDict()
        self._foreign: set[str] = set()
        """The ids of messages that the assistant did not write. They are no part of the answer."""
        self._chunk_id = ""
        self._has_text = False

    def read(self, message: Mapping[str, Any]) -> Iterable[Event]:
        """Return the events for an event of a text message."""
        kind = message["type"]
        message_id = text_of(message.get("messageId"))
        if kind == "TEXT_MESSAGE_CHUNK":
            return self._read_chunk(message, message_id or self._chunk_id)
        if message_id in self._foreign or message.get("role") not in (None, "assistant"):
            return self._read_foreign(message, message_id)
        match kind:
            case "TEXT_MESSAGE_START":
                return self._begin(message, message_id)
            case "TEXT_MESSAGE_CONTENT":
                return self._piece(message, message_id)
            case "TEXT_MESSAGE_END":
                return self._end(message_id, leftover(message, _KNOWN))
        return (custom(text_of(kind), dict(message)),)

    def read_history(self, messages: Any) -> Iterator[Event]:
        """Yield the part of the answer that only a snapshot of the conversation has.

        A snapshot repeats the streamed texts. If no text was streamed, the answer is every text that follows
        the user's last message.
        """
        history = objects_in(messages)
        asked = [place for place, item in enumerate(history) if item.get("role") == "user"]
        first_new = asked[-1] + 1 if asked and not self._has_text else len(history)
        for place, item in enumerate(history):
            text, message_id = item.get("content"), text_of(item.get("id"))
            begun = self._begun.get(message_id)
            if item.get("role") != "assistant" or not isinstance(text, str) or not text:
                continue
            if begun is not None or place >= first_new:
                piece = begun.piece if begun else _piece_of(item, message_id)
                yield msgspec.structs.replace(piece, content=text, whole="repeat")

    def left_fields(self) -> Iterator[Event]:
        """Yield the other fields of a message's start, if neither its text nor its end has arrived."""
        for begun in self._begun.values():
            if not begun.has_come_out and "extra" in (begun.piece.meta or {}):
                begun.has_come_out = True
                yield begun.piece

    def _begin(self, message: Mapping[str, Any], message_id: str) -> Iterable[Event]:
        self._begun.pop(message_id, None)
        piece = with_short_names(_piece_of(message, message_id))
        self._begun[message_id] = _Message(cast("Content", piece))
        if len(self._begun) > MAX_KEPT:
            self._begun.popitem(last=False)
        return ()

    def _piece(self, message: Mapping[str, Any], message_id: str) -> Iterable[Event]:
        text = text_of(message.get("delta"))
        begun = self._begun.get(message_id)
        if begun is None:
            piece = _piece_of(message, message_id)
        else:
            begun.has_text = begun.has_text or bool(text)
            begun.has_come_out = begun.has_come_out or bool(text)
            piece = begun.piece
        rest = leftover(message, _KNOWN) if begun else None
        if not text and not rest:
            return ()
        self._has_text = self._has_text or bool(text)
        piece = piece.with_text(text)
        if rest:
            piece.meta = and_extra(piece.meta, rest)
        return (piece,)

    def _end(self, message_id: str, rest: Mapping[str, Any] | None = None) -> Iterable[Event]:
        begun = self._begun.get(message_id)
        piece = begun.piece if begun else Content("", meta=meta_of(message_id=message_id))
        meta, is_over = and_extra(piece.meta, rest), begun is not None and begun.has_text
        if begun is not None:
            begun.has_text, begun.has_come_out = False, True
        if not is_over and "extra" not in (meta or {}):
            return ()
        return (msgspec.structs.replace(piece, is_complete=is_over, meta=meta),)

    def _read_chunk(self, message: Mapping[str, Any], message_id: str) -> Iterator[Event]:
        if message_id != self._chunk_id:
            yield from self._end(self._chunk_id)
            yield from self._begin(message, message_id)
            piece = self._begun[message_id].piece
            piece.meta = {**(piece.meta or {}), "private": {**CHUNK}}
            self._chunk_id = message_id
        yield from self._piece(message, message_id)

    def _read_foreign(self, message: Mapping[str, Any], message_id: str) -> Iterable[Event]:
        if len(self._foreign) < MAX_KEPT:
            self._foreign.add(message_id)
        fields = {name: value for name, value in message.items() if name not in ("type", "timestamp")}
        return (custom(text_of(message["type"]), fields),)


def read_reasoning(message: Mapping[str, Any]) -> Iterable[Event]:
    """Return a piece of reasoning; for a start or an end event, only the event of its metadata."""
    text = text_of(message.get("delta"))
    meta = read_metadata(message, _KNOWN, message_id=message.get("messageId"))
    if not text and "extra" not in (meta or {}):
        return ()
    return (Thinking(text, meta=meta),)


def _piece_of(message: Mapping[str, Any], message_id: str) -> Content:
    """Return an empty piece of text with the metadata from the start of its message."""
    metadata = metadata_of(message)
    form = metadata.get("format")
    return Content(
        "",
        form if form in _FORMATS else None,
        channel=text_of(metadata.get("channel")) or None,
        meta=read_metadata(message, _KNOWN | {"id", "content"}, "channel", "format", message_id=message_id),
    )
