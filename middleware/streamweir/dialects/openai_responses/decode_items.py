"""Reads the items of a response's output: messages, reasoning, calls of the client and of the server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import custom, leftover, meta_of, present_texts, text_of
from streamweir.codec.room import Room
from streamweir.dialects.openai_responses.decode_calls import BegunCall, Calls
from streamweir.dialects.openai_responses.decode_notes import NOTES, note_of
from streamweir.dialects.openai_responses.decode_tools import WITH_OUTPUT_ITEM, opaque_id, server_call
from streamweir.dialects.openai_responses.shared_words import (
    CLIENT_CALLS,
    ITEMS,
    NAME,
    OUTPUTS,
    with_plain_type,
)
from streamweir.events import (
    Content,
    Data,
    Event,
    Meta,
    Opaque,
    Reference,
    Thinking,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.ids import short_id

__all__ = ["Items"]

_ITEM: Final = 512
"""The bytes of an item, which is kept by its index."""

_IMAGE: Final = "image_generation_call"


class _Item(msgspec.Struct):
    """An item, and the parts of it that have been read.

    `kind`: the type of the item at its beginning. `is_over`: the end of the item has arrived, so that
    repetitions of it are ignored. `call`: the call or the output, if the item is one. `has_start`: whether
    the start of a call has been yielded.
    """

    kind: str = ""
    call: BegunCall | None = None
    has_text: bool = False
    has_start: bool = False
    is_over: bool = False


class Items:
    """Reads items. The end of an item repeats the item; a part that was streamed is not read twice.

    Attributes:
        room: the room for the bytes that are kept of items.
        calls: the calls among the items.

    Messages and calls after encrypted reasoning have the ids of their items as opaque values. Without such
    reasoning an upstream does not need the ids; if it stores no responses, it does not know them.
    """

    def __init__(self) -> None:
        self.room = Room("the items of a response")
        self.calls = Calls(self.room)
        self._items: dict[int | str, _Item] = {}

    def begin(self, index: Any, item: Mapping[str, Any]) -> Iterable[Event]:
        """Note an item that begins; its end will repeat it."""
        item = with_plain_type(item, ITEMS)
        found = self._at(index, item.get("id"))
        found.kind = text_of(item.get("type"))
        if found.call is None and (found.kind in CLIENT_CALLS or found.kind in OUTPUTS):
            found.call = self.calls.begin(item)
        return ()

    def note_text(self, message: Mapping[str, Any]) -> None:
        """Note that the text of an item is streamed."""
        self._at(message.get("output_index"), message.get("item_id")).has_text = True

    def piece(self, message: Mapping[str, Any], text: str) -> Iterable[Event]:
        """Return the events of a piece of the arguments of a call that the client may have to run."""
        item = self._at(message.get("output_index"), message.get("item_id"))
        if not text or item.call is None or not item.call.tool_id:
            return ()
        return self.calls.piece(item.call, text_of(message.get("type")), message, text)

    def output_piece(self, message: Mapping[str, Any]) -> Iterable[Event]:
        """Return the events of a piece of a call's output."""
        item = self._at(message.get("output_index"), message.get("item_id"))
        return self.calls.output_piece(item.call, message.get("delta"))

    def partial_image(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the progress of an image; the end of its item has the whole image."""
        item_id = text_of(message.get("item_id"))
        item = self._at(message.get("output_index"), item_id)
        if not item.has_start:
            item.has_start = True
            yield ToolCallStart(short_id(item_id), _IMAGE.removesuffix("_call"))
        number = message.get("partial_image_index")
        which = f" {number + 1}" if type(number) is int else ""
        yield ToolCallProgress(short_id(item_id), message=f"Partial image{which}.")

    def annotations(self, found: list[Any], meta: Meta | None) -> Iterable[Event]:
        """Return the event of the citations among annotations."""
        citations = [
            citation for given in found if isinstance(given, dict) and (citation := _citation(given))
        ]
        return (Reference(citations, meta=meta),) if citations else ()

    def finish(self, index: Any, item: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the part of a finished item that was not streamed."""
        item = with_plain_type(item, ITEMS)
        known, kind = self._at(index, item.get("id")), text_of(item.get("type"))
        if known.kind and known.kind != kind:  # a router shows another item in its place
            known = self._at(None, item.get("id"))
        if known.is_over:
            return
        known.kind = kind
        known.is_over = True
        if kind == "message":
            yield from self._message(item, known)
        elif kind == "reasoning":
            yield from self._reasoning(item, known)
        elif kind == "mcp_approval_request":
            yield from self.calls.ask_approval(item)
        elif kind in CLIENT_CALLS or (kind == "tool_search_call" and item.get("execution") == "client"):
            yield from self.calls.finish(item, known.call)
        elif kind in OUTPUTS:
            yield from self.calls.output(item)
        elif kind in NOTES:
            yield from self._note(kind, item)
        elif kind.endswith("_call") or kind == "program":
            yield from self._server_call(kind, item, known)
        else:
            yield custom(kind or "item", leftover(item, ("type",)))

    def finish_rest(self) -> Iterator[Event]:
        """Yield the calls whose end was left out, in a response that is complete."""
        for item in self._items.values():
            if item.call and item.call.is_client and item.call.tool_id and not item.is_over:
                item.is_over = True
                yield from self.calls.finish({}, item.call)

    def _note(self, kind: str, item: Mapping[str, Any]) -> Iterator[Event]:
        if kind == "mcp_approval_response":
            yield from self.calls.approval(item)
        yield note_of(kind, item)

    def _server_call(self, kind: str, item: Mapping[str, Any], known: _Item) -> Iterator[Event]:
        for event in server_call(item, has_begun=known.has_start):
            yield self.calls.marked(event, item)
        if kind in WITH_OUTPUT_ITEM:
            self.calls.await_output(item)
        image = item.get("result")
        if kind == _IMAGE and isinstance(image, str) and image:
            form = text_of(item.get("output_format")) or "png"
            media_type = "image/svg+xml" if form == "svg" else f"image/{form}"
            yield Data("image", {"base64": image, "media_type": media_type})

    def _at(self, index: Any, item_id: Any) -> _Item:
        """Return the item at this index; without an index, the item with this id."""
        found = self._items.get(index) if isinstance(index, int) else None
        if found is not None:
            return found
        keys: list[int | str] = [index] if isinstance(index, int) else []
        keys += [short_id(item_id)] if isinstance(item_id, str) and item_id else []
        keys = keys or [-1]
        found = next((self._items[key] for key in keys if key in self._items), None)
        if found is None:
            self.room.take(_ITEM)
            found = _Item()
            self._items |= dict.fromkeys(keys, found)
        return found

    def _message(self, item: Mapping[str, Any], known: _Item) -> Iterator[Event]:
        meta = meta_of(message_id=item.get("id"))
        content = item.get("content")
        for part in content if isinstance(content, list) and not known.has_text else ():
            if not isinstance(part, dict):
                yield custom("content", part, meta)
                continue
            if text := text_of(part.get("text", part.get("refusal"))):
                yield Content(text, meta=meta)
            given = part.get("annotations")
            yield from self.annotations(given if isinstance(given, list) else [], meta)
            if rest := leftover(part, ("type", "text", "refusal", "annotations", "logprobs")):
                yield custom("content", rest, meta)
        opaque = opaque_id(item) if self.calls.have_opaque else None
        yield Content("", is_complete=True, opaque=opaque, meta=meta)
        yield from _rest(item, ("id", "type", "role", "status", "content", "phase"), meta)

    def _reasoning(self, item: Mapping[str, Any], known: _Item) -> Iterator[Event]:
        meta = meta_of(message_id=item.get("id"))
        if not known.has_text:
            for name in ("summary", "content"):
                given = item.get(name)
                parts = given if isinstance(given, list) else [{"text": given or None}]
                texts = [text_of(part.get("text")) for part in parts if isinstance(part, dict)]
                if text := "\n\n".join(filter(None, texts)):
                    yield Thinking(text, "reasoning", meta=meta)
        if (opaque := _encrypted(item)) is not None:
            self.calls.have_opaque = True
            yield Thinking("", "reasoning", opaque=opaque, meta=meta)
        yield from _rest(item, ("id", "type", "summary", "content", "encrypted_content", "status"), meta)


def _encrypted(item: Mapping[str, Any]) -> Opaque | None:
    """Return the opaque value of reasoning; None without encrypted content, as the id alone has no use."""
    encrypted = item.get("encrypted_content")
    if not isinstance(encrypted, str) or not encrypted:
        return None
    return {NAME: {"id": item.get("id"), "encrypted_content": encrypted}}


def _rest(item: Mapping[str, Any], known: tuple[str, ...], meta: Meta | None) -> Iterator[Event]:
    if rest := leftover(item, known):
        yield custom("item", rest, meta)


def _citation(given: Mapping[str, Any]) -> dict[str, Any]:
    return present_texts(
        title=given.get("title") or given.get("filename"),
        url=given.get("url"),
        document_id=given.get("file_id"),
    )
