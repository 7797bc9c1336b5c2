"""Reads the blocks of a message: text, thinking, calls and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, arguments, custom, leftover, present_texts, text_of, tool_error
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.dialects.anthropic.decode_notes import NOTES, Compaction, note
from streamweir.dialects.anthropic.shared_words import NAME
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    Reference,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.ids import made_call_id, short_id
from streamweir.jsontext import json_to_keep, parse_json
from streamweir.optional_json import json_object
from streamweir.options.limits import EVENT_BYTES

__all__ = ["Blocks"]

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT: Final = "_tool_result"
_ESTIMATE: Final = "estimated_tokens"
"""A running estimate of tokens in deltas of thoughts; the counts at the end replace it."""

_CALL: Final = 2048
"""The bytes of a call in addition to its arguments."""
_MOST_ASKED: Final = 1000
_EMPTY_TEXT: Final = {"type": "text", "text": ""}
_TEXT_DELTA: Final = frozenset({"type", "text"})


class _Call(msgspec.Struct):
    """A call whose arguments are arriving; the other fields are kept as JSON, which takes little memory."""

    tool_id: str
    name: str
    for_client: bool
    given: bytes
    rest: bytes
    meta: Meta | None
    pieces: TextPieces = msgspec.field(default_factory=TextPieces)

    @property
    def size(self) -> int:
        """The number of bytes, roughly, that the call takes."""
        return _CALL + len(self.given) + len(self.rest) + self.pieces.size


class Blocks:
    """Reads the blocks of one message, each opened and closed by its index.

    The signature of a thinking block waits in `_signature`, and a compaction in `_compaction`, until that
    block is closed, another block begins or the message ends. A later signature of a block replaces it.

    A closed call whose arguments are no JSON object waits in `_cut` until the message ends: its stop reason
    shows whether a limit has cut the arguments off.

    Attributes:
        meta: the metadata of the message.
        request_id: the request id of the stream.
        limit: the most bytes, roughly, of incomplete calls; set before the first of them.
    """

    _may_compact = False
    """A compaction has come: until then there is no `Compaction`, which most streams do not need."""

    def __init__(self) -> None:
        self.request_id = ""
        self._made = 0
        self.limit = EVENT_BYTES
        self.meta: Meta | None = None
        self._asked: set[str] = set()
        self._cut: dict[str, str] = {}
        self._calls: dict[int, _Call] = {}
        self._signature = ""

    @cached_property
    def _room(self) -> Room:
        return Room("the calls of an answer", self.limit)

    @cached_property
    def _compaction(self) -> Compaction:
        self._may_compact = True
        return Compaction(self._room)

    @property
    def called(self) -> bool:
        """Whether a call is for the client to run, because it has no result."""
        return bool(self._asked)

    @property
    def is_idle(self) -> bool:
        """Whether no call is incomplete, and no value waits for the end of its block."""
        return not (self._calls or self._signature or (self._may_compact and self._compaction.has_begun))

    def start(self, index: Any, block: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterable[Event]:
        """Return the events of a block's start. Results and blocks of a whole message are complete then."""
        if block == _EMPTY_TEXT and not beside and not (self._signature or self._may_compact):
            return ()
        return self._start(index, block, beside)

    def _start(self, index: Any, block: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterator[Event]:
        yield from self._signed()
        match block:
            case {"type": "text"}:
                yield from self._text(block, beside)
            case {"type": "thinking"}:
                if text := text_of(block.get("thinking")):
                    yield Thinking(text, "reasoning", meta=self.meta)
                self._signature = text_of(block.get("signature"))
                yield from self._rest(block, beside, ("type", "thinking", "signature"))
            case {"type": "redacted_thinking"}:
                if data := text_of(block.get("data")):
                    yield Thinking("", "reasoning", opaque={NAME: {"redacted": data}}, meta=self.meta)
                yield from self._rest(block, beside, ("type", "data"))
            case {"type": str(kind)} if kind in NOTES:
                if kind == "compaction":
                    self._compaction.begin(block)
                yield note({**block, **(beside or {})}, self.meta)
            case {"type": str(kind)} if kind in _CALLS:
                self._open_call(index, block, beside)
            case {"type": str(kind), "tool_use_id": _} if kind.endswith(_RESULT):
                yield from self._result(block, beside)
            case _:
                yield custom("content_block", {**block, **(beside or {})}, self.meta)

    def delta(self, index: Any, delta: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterable[Event]:
        """Return the events of a piece of a block."""
        event: Event | None
        if not beside and delta.keys() == _TEXT_DELTA and delta["type"] == "text_delta":
            text = delta["text"]
            if type(text) is str:
                return (Content(text, meta=self.meta),) if text else ()
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                known, event = "text", Content(text, meta=self.meta) if text else None
            case {"type": "thinking_delta", "thinking": str(text)}:
                known, event = "thinking", Thinking(text, "reasoning", meta=self.meta) if text else None
            case {"type": "input_json_delta", "partial_json": str(text)}:
                known, event = "partial_json", self._piece(index, text)
            case {"type": "citations_delta", "citation": dict(citation)}:
                known, event = "citation", _reference([citation], self.meta)
            case {"type": "signature_delta"}:
                self._signature = text_of(delta.get("signature")) or self._signature
                known, event = "signature", None
            case {"type": "compaction_delta"}:
                self._compaction.add(delta)
                return (note({**delta, **(beside or {}), "type": "compaction"}, self.meta),)
            case _:
                return (custom("delta", {**delta, **(beside or {})}, self.meta),)
        left = self._rest(delta, beside, ("type", known, _ESTIMATE))
        return left if event is None else (event, *left)

    def stop(self, index: Any, beside: dict[str, Any] | None) -> Iterable[Event]:
        """Return the call that is complete now. The client is to run it, unless the server has run it."""
        return self._stop(index, beside) if beside or not self.is_idle else ()

    def _stop(self, index: Any, beside: dict[str, Any] | None) -> Iterator[Event]:
        call = self._calls.pop(index, None) if isinstance(index, int) else None
        yield from self._signed()
        if beside:
            yield custom("content_block_stop", beside, self.meta)
        if call is None:
            return
        self._room.give_back(call.size)
        given = {**arguments(parse_json(call.given)[0]), **arguments(call.pieces.text)}
        meta = and_extra(call.meta, parse_json(call.rest)[0])
        yield ToolCallStart(
            call.tool_id, call.name, arguments=given, for_client=call.for_client or None, meta=meta
        )
        if call.for_client and call.pieces.text and json_object(call.pieces.text) is None:
            if len(self._cut) < _MOST_ASKED:
                self._cut[call.tool_id] = call.name
        elif call.for_client:
            yield self._ask(call.tool_id, call.name)

    def _ask(self, tool_id: str, name: str) -> Interaction:
        if len(self._asked) < _MOST_ASKED:
            self._asked.add(tool_id)
        return Interaction(tool_id, "tool", title=name, meta=self.meta)

    def ask_for_cut(self) -> Sequence[Interaction]:
        """Ask the client to run the calls whose arguments are no JSON object.

        To be called at the end of the message, unless its stop reason is a limit or a filter.
        """
        if not self._cut:
            return ()
        cut, self._cut = self._cut, {}
        return [self._ask(tool_id, name) for tool_id, name in cut.items()]

    def stop_all(self) -> Iterable[Event]:
        """Return the calls whose blocks were not closed, in the order of their start."""
        return () if self.is_idle else self._stop_all()

    def _stop_all(self) -> Iterator[Event]:
        yield from self._signed()
        for index in [*self._calls]:
            yield from self.stop(index, None)

    def _signed(self) -> Iterator[Event]:
        """Yield the opaque value of the thinking, or the compaction, that is complete now."""
        if self._signature:
            yield Thinking("", "reasoning", opaque={NAME: {"signature": self._signature}}, meta=self.meta)
            self._signature = ""
        if self._may_compact and (value := self._compaction.take()) is not None:
            yield Thinking("", "reasoning", opaque={NAME: {"compaction": value}}, meta=self.meta)

    def _text(self, block: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterator[Event]:
        if text := text_of(block.get("text")):
            yield Content(text, meta=self.meta)
        citations = block.get("citations")
        if isinstance(citations, list) and (found := _reference(citations, self.meta)):
            yield found
        yield from self._rest(block, beside, ("type", "text", "citations"))

    def _open_call(self, index: Any, block: Mapping[str, Any], beside: dict[str, Any] | None) -> None:
        if isinstance(index, int):
            rest = {**(leftover(block, ("type", "id", "name", "input", "caller")) or {}), **(beside or {})}
            replaced = self._calls.pop(index, None)
            self._room.give_back(replaced.size if replaced else 0)
            call = self._calls[index] = _Call(
                tool_id=short_id(text_of(block.get("id"))) or self._made_id(),
                name=short_id(text_of(block.get("name"))) or "unknown",
                for_client=block["type"] == "tool_use",
                given=json_to_keep(block.get("input")),
                rest=json_to_keep(rest),
                meta=self.meta,
            )
            self._room.take(call.size)

    def _made_id(self) -> str:
        self._made += 1
        return made_call_id(self.request_id, self._made)

    def _piece(self, index: Any, text: str) -> Event | None:
        call = self._calls.get(index) if isinstance(index, int) else None
        if call is None or not text:
            return None
        self._room.take(call.pieces.append(text))
        return ToolCallDelta(call.tool_id, call.name, text, for_client=call.for_client, meta=self.meta)

    def _result(self, block: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterator[Event]:
        """Read a result. It shows that the server has run the call, so the client must not run it."""
        content = block.get("content")
        rest = {
            **(leftover(block, ("type", "tool_use_id", "content", "is_error", "caller")) or {}),
            **(beside or {}),
        }
        meta, tool_id = and_extra(self.meta, rest), short_id(text_of(block.get("tool_use_id")))
        self._cut.pop(tool_id, None)
        if tool_id in self._asked:
            self._asked.discard(tool_id)
            yield Interaction(tool_id, "tool", "resolved", meta=self.meta)
        if block.get("is_error") is True or _is_error(content):
            yield ToolCallEnd(tool_id, "failed", error=tool_error(_plain(content)), meta=meta)
        else:
            yield ToolCallEnd(tool_id, result=_plain(content), meta=meta)

    def _rest(
        self, fields: Mapping[str, Any], beside: dict[str, Any] | None, known: tuple[str, ...]
    ) -> Iterator[Event]:
        """Yield an event for the unknown fields of a block or of a piece."""
        if beside or not fields.keys() <= set(known):
            rest = {**(leftover(fields, known) or {}), **(beside or {})}
            if rest:
                yield custom("content_block", rest, self.meta)


def _is_error(content: Any) -> bool:
    """Return whether the result of a server tool is an error object."""
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _plain(content: Any) -> Any:
    """Return the content of a result; if it is a single block of text, the text."""
    match content:
        case [dict(block)] if not leftover(block, ("type", "text")) and block.get("type") == "text":
            return text_of(block.get("text"))
    return content


def _reference(citations: list[Any], meta: Meta | None) -> Reference | None:
    found = [citation for given in citations if isinstance(given, dict) and (citation := _citation(given))]
    return Reference(found, meta=meta) if found else None


def _citation(given: Mapping[str, Any]) -> dict[str, Any]:
    return present_texts(
        title=given.get("title") or given.get("document_title"),
        url=given.get("url") or given.get("source"),
        snippet=given.get("cited_text"),
        document_id=given.get("file_id"),
    )
