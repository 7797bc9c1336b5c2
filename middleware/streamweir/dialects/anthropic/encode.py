"""Writes the Messages API: blocks in sequence, of which only one is open at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.chat_encoder import ChatEncoder
from streamweir.codec.coerce import text_of
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.frame_template import Number
from streamweir.codec.opaque_values import OPAQUE_OPTION, seal_of
from streamweir.dialects.anthropic.encode_blocks import citation_of, is_pause, ran_blocks, thinking_value
from streamweir.dialects.anthropic.encode_extent import ObjectExtent
from streamweir.dialects.anthropic.encode_whole import message_of
from streamweir.dialects.anthropic.shared_words import CANCELLED, ERROR_TYPES, PAUSED, STOP_REASONS
from streamweir.errors import CODES, LimitExceeded
from streamweir.events import (
    Content,
    Error,
    Interaction,
    Opaque,
    Reference,
    SessionEnd,
    Stamp,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    wire_data,
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json, write_json_text

__all__ = ["AnthropicEncoder"]

_HELD: Final = 128
"""The bytes that a held text counts in addition to its characters."""
_MCP_BETA: Final = "mcp-client"
MAX_HELD: Final = 1 << 20
"""The most characters that may wait for the end of a call."""


class AnthropicEncoder(ChatEncoder):
    """Writes a message. Every frame has an SSE event name, because clients skip frames without a name.

    Calls that the client is to run are streamed one at a time. Pieces of another call are held back until the
    open call is complete.

    Options:
        tools: `blocks` writes calls that have been run as blocks of the MCP beta, `none` leaves them out;
            `auto` writes them for clients whose request names that beta.
        opaque: `off` leaves out opaque values, which the upstream expects back in the next request.
    """

    option_values: ClassVar = {"tools": ("auto", "blocks", "none"), **OPAQUE_OPTION}
    request_names: ClassVar = {"model": "model", "betas": "betas"}
    request_headers: ClassVar = {"betas": b"anthropic-beta"}

    def __init__(self) -> None:
        super().__init__()
        self._has_begun = False
        self._index = -1
        self._block: str | None = None
        self._call: str | None = None
        """The id of the call whose block is open; None if no such block is open."""
        self._arguments = ObjectExtent()
        self._held: list[tuple[str, str]] = []
        """Texts and values, each with its kind, that arrived before the open call's arguments ended."""
        self._held_size = 0
        self._is_paused = False
        self._text_seal: str | None = None
        """The seal of the text whose block is open. Written and cleared when that block is closed."""

    @cached_property
    def _written(self) -> RecentIds[None]:
        """The ids of the calls that are written already, completely or in part."""
        return RecentIds(self.room // 8)

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return an empty mapping; None for text of another channel, which is counted as lost."""
        del texts, stamp
        return None if isinstance(event, Content) and event.channel is not None else {}

    def write_whole(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any]:
        """Return a whole message."""
        return message_of(
            folded,
            stamp,
            model=self.model_name,
            with_tools=self._writes_tools,
            with_pause=self.writes_extra,
            upstream=self.upstream,
        )

    @property
    def _writes_tools(self) -> bool:
        """Whether calls that have been run are written; a client of copied frames knows them already."""
        chosen = self.option("tools")
        names_beta = _MCP_BETA in (self.names.betas or "")
        return self.is_shown or chosen == "blocks" or (chosen == "auto" and names_beta)

    @classmethod
    def failure_body(cls, failure: FailedRequest) -> Mapping[str, Any]:
        """Return the body of an HTTP error."""
        kind = ERROR_TYPES.get(failure.status) or (
            "api_error" if failure.status >= 500 else "invalid_request_error"
        )
        error = {"type": kind, "message": failure.message}
        return {"type": "error", "error": error, "request_id": failure.request_id}

    def write_text(self, text: str, *, begins: bool) -> Iterator[Frame]:
        """Yield the frames of a piece of text; each message begins a new block."""
        if self._is_held("text", text):
            return
        if begins or self._block != "text" or self._text_seal is not None:
            yield from self._open_block("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": text})

    def write_thinking(self, text: str) -> Iterator[Frame]:
        """Yield the frames of a piece of thinking, without a signature."""
        if self._is_held("thinking", text):
            return
        if self._block != "thinking":
            yield from self._open_block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": text})

    def write_thinking_opaque(self, opaque: Opaque) -> Iterator[Frame]:
        """Yield the frames of the signature of the thinking, or of a block of redacted thinking."""
        return self._write_value(*thinking_value(opaque, self.upstream))

    def write_text_opaque(self, opaque: Opaque) -> Iterable[Frame]:
        """Yield the frames of a block of thinking without a text, which holds the seal of the preceding text.

        While the block of that text is open, the seal waits for the end of the block, because citations may
        still arrive.
        """
        seal = seal_of(opaque, "text", self.upstream)
        if self._block == "text" and self._text_seal is None:
            self._text_seal = seal
            return ()
        return self._write_value("seal", seal)

    def _write_value(self, kind: str, value: str) -> Iterator[Frame]:
        """Yield the frames of a value. A `signature` ends the open thinking; other values are blocks."""
        if self._is_held(kind, value):
            return
        if kind == "redacted":
            yield from self._open_block("whole", {"type": "redacted_thinking", "data": value})
        else:
            if kind == "seal" or self._block != "thinking":
                yield from self._open_block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            yield self._delta({"type": "signature_delta", "signature": value})
        yield from self._close_block()

    def _write_call_seal(self, opaque: Opaque | None) -> Iterator[Frame]:
        """Yield the frames of a block with the seal of the next call."""
        if opaque is not None:
            yield from self._write_value("seal", seal_of(opaque, "call", self.upstream))

    def write_argument_piece(self, piece: ToolCallDelta) -> Iterator[Frame]:
        """Yield the frames of a piece of a call, if the block of the call is open or can be opened."""
        if piece.tool_id != self._call:
            if piece.tool_id in self._written or piece.tool_name is None or not self._may_switch():
                return
            yield from self._write_call_seal(piece.opaque)
            yield from self._open_call(piece.tool_id, piece.tool_name)
        self._arguments.add(piece.arguments_delta)
        yield self._delta({"type": "input_json_delta", "partial_json": piece.arguments_delta})

    def write_call(self, call: ToolCallStart) -> Iterator[Frame]:
        """Yield the frames of a whole call, or of the end of the block that holds its pieces."""
        if call.tool_id == self._call:
            yield from self._close_block()
            yield from self._release()
        elif call.tool_id not in self._written:
            yield from self._write_call_seal(call.opaque)
            yield from self._open_call(call.tool_id, call.tool_name)
            yield self._delta({"type": "input_json_delta", "partial_json": write_json_text(call.arguments)})
            yield from self._close_block()

    def write_result(self, call: ToolCallStart, end: ToolCallEnd) -> Iterator[Frame]:
        """Yield the frames of the two blocks of a call that has been run; complete when they begin."""
        if not self._writes_tools:
            self.lost["tool call that has been run"] += 1
            return
        for block in ran_blocks(call, end):
            yield from self._open_block("whole", block)
        yield from self._close_block()

    def write_references(self, event: Reference) -> Iterator[Frame]:
        """Yield the frames of citations of the open text; only a text can cite."""
        for given in event.citations:
            citation = citation_of(given)
            if citation is None or self._block != "text":
                self.lost["reference without an address" if citation is None else "reference"] += 1
            else:
                yield self._delta({"type": "citations_delta", "citation": citation})

    def write_question(self, event: Interaction) -> Iterable[Frame] | None:
        """Return no frames for a pause of the same dialect, which becomes a stop reason; else None."""
        if not (self.writes_extra and is_pause(wire_data(event))):
            return None
        self._is_paused = True
        return ()

    def write_failure(self, error: Error) -> Iterator[Frame]:
        """Close the open block and yield the error, which is the last frame."""
        yield from self._close_block()
        status = CODES[error.code].status if error.code in CODES else 500
        kind = ERROR_TYPES.get(status, "api_error")
        yield _frame({"type": "error", "error": {"type": kind, "message": error.message}})

    def write_cancelled(self) -> Iterator[Frame]:
        """Yield an error, because a stop reason would mean that the message is complete."""
        yield from self._close_block()
        error = {"type": "api_error", "message": CODES["CANCELLED"].message, "details": CANCELLED}
        yield _frame({"type": "error", "error": error})

    def write_end(self, reason: str, end: SessionEnd, beside: dict[str, Any]) -> Iterator[Frame]:
        """Yield the frames of the stop reason with the usage, and of the end."""
        yield from self._message_start()
        yield from self._close_block()
        yield from self._release()
        yield from self._close_block()
        summary = end.summary or {}
        usage = {"output_tokens": summary.get("completion_tokens") or 0}
        if prompt := summary.get("prompt_tokens"):
            usage["input_tokens"] = prompt
        stop = PAUSED if self._is_paused else STOP_REASONS[reason]
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield _frame({"type": "message_delta", "delta": delta, "usage": usage, **beside})
        yield _frame({"type": "message_stop"})

    def heartbeat(self) -> Frame:
        """Return the protocol's own `ping`."""
        return _frame({"type": "ping"})

    # Blocks

    def _message_start(self) -> Iterator[Frame]:
        if self._has_begun:
            return
        self._has_begun = True
        message: dict[str, Any] = {
            "id": self.message_id or f"msg_{self.stamp.request_id}",
            "type": "message",
            "role": "assistant",
            "model": self.model_name,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        yield _frame({"type": "message_start", "message": message})

    def _open_block(self, kind: str, block: Mapping[str, Any]) -> Iterator[Frame]:
        yield from self._message_start()
        yield from self._close_block()
        self._index += 1
        self._block = kind
        yield _frame({"type": "content_block_start", "index": self._index, "content_block": block})

    def _close_block(self) -> Iterator[Frame]:
        if self._block is not None:
            self._block, self._call, self._arguments = None, None, ObjectExtent()
            yield _frame({"type": "content_block_stop", "index": self._index})
            seal, self._text_seal = self._text_seal, None
            if seal is not None:
                yield from self._write_value("seal", seal)

    def _open_call(self, tool_id: str, name: str) -> Iterator[Frame]:
        yield from self._open_block("call", {"type": "tool_use", "id": tool_id, "name": name, "input": {}})
        self._call = tool_id
        self._written.add(tool_id, None)

    def _is_held(self, kind: str, text: str) -> bool:
        """Hold a text back if the block of a call is open; return whether it is held. To close the block
        would cut the arguments.

        Raises:
            LimitExceeded: more text waits than can be kept.
        """
        if self._may_switch():
            return False
        self._held.append((kind, text))
        self._held_size += len(text) + _HELD
        if self._held_size > min(MAX_HELD, self.room // 2):
            raise LimitExceeded("more text comes within a call than can be held back")
        return True

    def _release(self) -> Iterator[Frame]:
        held, self._held, self._held_size = self._held, [], 0
        for kind, text in held:
            match kind:
                case "text":
                    yield from self.write_text(text, begins=False)
                case "thinking":
                    yield from self.write_thinking(text)
                case _:
                    yield from self._write_value(kind, text)

    def _may_switch(self) -> bool:
        """Return whether the arguments of the open call are complete, so that another block may begin."""
        return self._call is None or self._arguments.is_whole

    def _delta(self, delta: dict[str, Any]) -> Frame:
        return _frame({"type": "content_block_delta", "index": self._index, "delta": delta})


def _frame(message: dict[str, Any]) -> Frame:
    return Frame(write_json(message), text_of(message["type"]))
