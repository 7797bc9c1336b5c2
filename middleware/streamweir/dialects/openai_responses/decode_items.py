"""Reads the items of a response's output: messages, reasoning, calls of the client's and of the server's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, arguments, custom, leftover, meta_of, text_of, tool_error
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    Reference,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.ids import short_id

__all__ = ["Items"]

_ITEM: Final = 512
"""Bytes that an item takes: it is known by its index."""

_RAN: Final = ("action", "queries", "results", "code", "outputs", "output", "result")
"""Where the calls of the server's own tools have what they were asked, and what came of it."""


class _Item(msgspec.Struct):
    """What has been read of an item."""

    tool_id: str = ""
    name: str = ""
    arguments: TextPieces | None = None
    has_text: bool = False
    is_over: bool = False


class Items:
    """Reads items, whose end says all of them again: what was streamed is not read twice.

    Attributes:
        called: a call is the client's to run.
        room: for what is kept of them.
    """

    def __init__(self) -> None:
        self.room = Room("the items of a response")
        self.called = False
        self._items: dict[int | str, _Item] = {}

    def begin(self, index: Any, item: Mapping[str, Any]) -> Iterable[Event]:
        """Take an item that begins; all of it comes again at its end."""
        found = self._at(index, item.get("id"))
        if item.get("type") == "function_call":
            found.tool_id = short_id(text_of(item.get("call_id")) or text_of(item.get("id")))
            found.name = short_id(text_of(item.get("name")))
        return ()

    def note_text(self, message: Mapping[str, Any]) -> None:
        """The text of an item is streamed."""
        self._at(message.get("output_index"), message.get("item_id")).has_text = True

    def piece(self, message: Mapping[str, Any], text: str) -> Iterable[Event]:
        """Return a piece of the arguments of a call that the client is to run."""
        item = self._at(message.get("output_index"), message.get("item_id"))
        if not text or not item.tool_id:
            return ()
        if item.arguments is None:
            item.arguments = TextPieces()
        self.room.take(item.arguments.append(text))
        return (ToolCallDelta(item.tool_id, item.name or None, text, for_client=True),)

    def annotations(self, found: list[Any], meta: Meta | None) -> Iterable[Event]:
        """Return the citations among annotations."""
        citations = [
            citation for given in found if isinstance(given, dict) and (citation := _citation(given))
        ]
        return (Reference(citations, meta=meta),) if citations else ()

    def finish(self, index: Any, item: Mapping[str, Any]) -> Iterator[Event]:
        """Yield what has not been said of an item that is over."""
        known = self._at(index, item.get("id"))
        if known.is_over:
            return
        known.is_over = True
        match item:
            case {"type": "message"}:
                yield from self._message(item, known)
            case {"type": "reasoning"}:
                yield from self._reasoning(item, known)
            case {"type": "function_call"}:
                yield from self._call(item, known)
            case {"type": "image_generation_call", "result": str(image)} if image:
                yield from _ran(item)
                yield Data("image", {"base64": image, "media_type": "image/png"})
            case {"type": str(kind)} if kind.endswith("_call"):
                yield from _ran(item)
            case _:
                yield custom(text_of(item.get("type")) or "item", leftover(item, ("type",)))

    def _at(self, index: Any, item_id: Any) -> _Item:
        """The item in this place; of servers that count none, the one of this id."""
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
        yield Content("", is_complete=True, meta=meta)
        yield from _rest(item, ("id", "type", "role", "status", "content", "phase"), meta)

    def _reasoning(self, item: Mapping[str, Any], known: _Item) -> Iterator[Event]:
        meta = meta_of(message_id=item.get("id"))
        if not known.has_text:
            for name in ("summary", "content"):
                parts = item.get(name)
                texts = [text_of(part.get("text")) for part in parts or () if isinstance(part, dict)]
                if text := "\n\n".join(filter(None, texts)):
                    yield Thinking(text, "reasoning", meta=meta)
        yield from _rest(item, ("id", "type", "summary", "content", "encrypted_content", "status"), meta)

    def _call(self, item: Mapping[str, Any], known: _Item) -> Iterator[Event]:
        tool_id = known.tool_id or short_id(text_of(item.get("call_id")) or text_of(item.get("id")))
        name = text_of(item.get("name")) or known.name or "unknown"
        text = item.get("arguments") or (known.arguments.text if known.arguments else "")
        rest = leftover(item, ("id", "type", "call_id", "name", "arguments", "status"))
        yield ToolCallStart(
            tool_id, name, arguments=arguments(text), for_client=True, meta=and_extra(None, rest)
        )
        if item.get("status") != "incomplete":  # else nobody can run it: its arguments may be a half
            self.called = True
            yield Interaction(tool_id, "tool", title=name)


def _ran(item: Mapping[str, Any]) -> Iterator[Event]:
    """A call that the server has run itself: of a tool of its own, or of one behind MCP."""
    kind = text_of(item.get("type"))
    tool_id = text_of(item.get("id"))
    name = text_of(item.get("name")) or kind.removesuffix("_call")
    asked = item.get("arguments") or item.get("action") or (leftover(item, ()) and _asked(item))
    rest = leftover(item, ("id", "type", "name", "arguments", "status", "error", "server_label", *_RAN))
    label = item.get("server_label")
    extra = {**({"server_label": label} if label else {}), **(rest or {})}
    yield ToolCallStart(tool_id, name, arguments=arguments(asked), meta=and_extra(None, extra))
    if item.get("error") is not None or item.get("status") == "failed":
        yield ToolCallEnd(tool_id, "failed", error=tool_error(item.get("error")))
        return
    yield ToolCallEnd(tool_id, result=_outcome(item))


def _asked(item: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: item[name] for name in ("queries", "code") if item.get(name) is not None} or None


def _outcome(item: Mapping[str, Any]) -> Any:
    found = (item.get(name) for name in ("output", "outputs", "results"))
    return next((value for value in found if value is not None), None)


def _rest(item: Mapping[str, Any], known: tuple[str, ...], meta: Meta | None) -> Iterator[Event]:
    if rest := leftover(item, known):
        yield custom("item", rest, meta)


def _citation(given: Mapping[str, Any]) -> dict[str, Any]:
    texts = {
        "title": given.get("title") or given.get("filename"),
        "url": given.get("url"),
        "document_id": given.get("file_id"),
    }
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}
