"""Reads the items of a response's output: messages, reasoning, calls of the client's and of the server's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, arguments, custom, leftover, meta_of, named_data, text_of
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.dialects.openai_responses.decode_tools import (
    CLIENT_CALLS,
    OUTPUTS,
    client_call,
    output_of,
    read_server_call,
)
from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    Reference,
    Thinking,
    ToolCallDelta,
    ToolCallStart,
)
from streamweir.ids import short_id

__all__ = ["Items"]

_ITEM: Final = 512
"""Bytes that an item takes: it is known by its index."""

_BOOKKEEPING: Final = frozenset({"mcp_list_tools", "mcp_approval_response", "additional_tools", "compaction"})
"""Items that are no part of the answer; they arrive as custom data with their names."""

_MOST_ASKED: Final = 1000


class _Item(msgspec.Struct):
    """An item, and how much of it has been read.

    `kind` is its type, as it began. `is_over`: its end has come, so that a repetition of it says nothing new.
    """

    kind: str = ""
    tool_id: str = ""
    name: str = ""
    arguments: TextPieces | None = None
    has_text: bool = False
    is_over: bool = False


class Items:
    """Reads items, whose end repeats all of them: a streamed part is not read twice.

    Attributes:
        room: for the bytes that are kept of them.
        waits: a person is asked for an approval, or the client is to run a call.
    """

    def __init__(self) -> None:
        self.room = Room("the items of a response")
        self._asked: set[str] = set()
        self._is_approval_asked = False
        self._items: dict[int | str, _Item] = {}

    @property
    def called(self) -> bool:
        """A call is the client's to run: it has no result."""
        return bool(self._asked)

    @property
    def waits(self) -> bool:
        """The response pauses for its client."""
        return self.called or self._is_approval_asked

    def begin(self, index: Any, item: Mapping[str, Any]) -> Iterable[Event]:
        """Take an item that begins; all of it comes again at its end."""
        found = self._at(index, item.get("id"))
        found.kind = text_of(item.get("type"))
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
        """Yield the part of a finished item that was not streamed."""
        known = self._at(index, item.get("id"))
        if known.kind and known.kind != item.get("type"):  # a router shows another item in its place
            known = self._at(None, item.get("id"))
        if known.is_over:
            return
        known.kind = text_of(item.get("type"))
        known.is_over = True
        match item:
            case {"type": "message"}:
                yield from self._message(item, known)
            case {"type": "reasoning"}:
                yield from self._reasoning(item, known)
            case {"type": "function_call"}:
                yield from self._call(item, known)
            case {"type": "image_generation_call", "result": str(image)} if image:
                yield from read_server_call(item)
                yield Data("image", {"base64": image, "media_type": "image/png"})
            case {"type": "mcp_approval_request"}:
                yield from self._approval(item)
            case {"type": str(kind)} if kind in CLIENT_CALLS or item.get("execution") == "client":
                call = client_call(item)
                yield call
                yield self._ask(call.tool_id, call.tool_name)
            case {"type": str(kind)} if kind in OUTPUTS:
                yield from self._output(item)
            case {"type": str(kind)} if kind.endswith("_call") or kind == "program":
                yield from read_server_call(item)
            case {"type": str(kind)} if kind in _BOOKKEEPING:
                yield named_data(kind, leftover(item, ("type",)) or {})
            case _:
                yield custom(text_of(item.get("type")) or "item", leftover(item, ("type",)))

    def finish_rest(self) -> Iterator[Event]:
        """Yield the calls whose end was left out, in a response that is complete."""
        for item in self._items.values():
            if item.tool_id and not item.is_over:
                item.is_over = True
                yield from self._call({}, item)

    def _ask(self, tool_id: str, name: str) -> Interaction:
        if len(self._asked) < _MOST_ASKED:
            self._asked.add(tool_id)
        return Interaction(tool_id, "tool", title=name)

    def _approval(self, item: Mapping[str, Any]) -> Iterator[Event]:
        """A call behind MCP that a person has to allow."""
        tool_id, name = short_id(text_of(item.get("id"))), text_of(item.get("name")) or "unknown"
        rest = leftover(item, ("id", "type", "name", "arguments"))
        given = arguments(item.get("arguments"))
        yield ToolCallStart(tool_id, name, arguments=given, meta=and_extra(None, rest))
        self._is_approval_asked = True
        yield Interaction(tool_id, "approval", title=name)

    def _output(self, item: Mapping[str, Any]) -> Iterator[Event]:
        """The result of a call, which the server has run then."""
        end = output_of(item)
        if end.tool_id in self._asked:
            self._asked.discard(end.tool_id)
            yield Interaction(end.tool_id, "tool", "resolved")
        yield end

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
            yield self._ask(tool_id, name)


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
