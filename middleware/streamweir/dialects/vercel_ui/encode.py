"""Writes the UI message stream in the form that AI SDK 5, 6 and 7 accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.base import Encoder
from streamweir.codec.frame_template import Number
from streamweir.codec.opaque_values import OPAQUE_OPTION, sealed_holder
from streamweir.dialects.vercel_ui.encode_data import data_chunk, file_chunk, named_chunk, source_chunks
from streamweir.dialects.vercel_ui.encode_ending import finish
from streamweir.dialects.vercel_ui.encode_parts import OpenParts
from streamweir.dialects.vercel_ui.encode_tools import Calls
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Opaque,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["VercelUiEncoder"]

Chunk = dict[str, Any]

_DONE: Final = Frame(b"[DONE]")


class VercelUiEncoder(Encoder):
    """Writes UI message chunks. An event without a chunk becomes a `data-` chunk under the standard's name.

    All parts are closed before an error, because a page stops reading at an error.

    Options:
        sdk: `6` also writes chunks that only AI SDK 6 and 7 know: approvals of calls and the reason of the
            end. AI SDK 5 ends a stream at an unknown chunk, its first releases even at an unknown field.
        opaque: `off` leaves out opaque values, which the upstream expects back in the next request.
    """

    streams_arguments = True
    response_headers: ClassVar[Mapping[str, str]] = {"x-vercel-ai-ui-message-stream": "v1"}
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"sdk": ("5", "6"), **OPAQUE_OPTION}

    def __init__(self) -> None:
        super().__init__()
        self._sources = 0

    @cached_property
    def _parts(self) -> OpenParts:
        return OpenParts(self.room // 4)

    @cached_property
    def _calls(self) -> Calls:
        return Calls(self.room // 2)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames for `event`; an empty list if the protocol has no chunk for it."""
        del stamp
        return [Frame(write_json(chunk)) for chunk in self._chunks(event)]

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return an empty mapping, because pieces of a part differ only in their text."""
        del event, texts, stamp
        return {}

    def close(self) -> Iterable[Frame]:
        """Return the frame of the end mark. A page that has read an error does not read it."""
        return (_DONE,)

    def _chunks(self, event: Event) -> list[Chunk]:
        match event:
            case Content():
                return self._content(event)
            case Thinking(content=text, opaque=None):
                return [*self._next_step(), *self._parts.write_reasoning(event)] if text else []
            case Thinking():
                return self._signed_reasoning(event)
            case ToolCallDelta():
                return [*self._before_call(event.tool_id), *self._calls.piece(event)]
            case ToolCallStart() | ToolCallEnd() if self.is_shown:
                return []  # pages know the call as the upstream's, and fail over one that they do not know
            case ToolCallStart():
                return [*self._before_call(event.tool_id), *self._calls.start(event)]
            case ToolCallEnd():
                return self._calls.end(event)
            case Interaction():
                return self._interaction(event)
            case SessionStart():
                self._calls.upstream = self.upstream
                return [{"type": "start"}, {"type": "start-step"}]
            case Error(terminal=True):
                return self._failure(event)
            case SessionEnd():
                return self._end(event)
        return self._other(event)

    # Text and steps

    def _content(self, event: Content) -> list[Chunk]:
        if self.is_shown:
            return []  # its parts have the upstream's ids, and whether they end is the upstream's affair
        if event.opaque is not None:
            return self._signed_text(event, event.opaque)
        if not event.content:
            return self._parts.end_text(event) if event.is_complete else []
        begin = self._next_step() if self._calls.have_ended else None
        written = self._parts.write_text(event)
        if begin:
            written = [*begin, *written]
        return [*written, *self._parts.end_text(event)] if event.is_complete else written

    def _signed_text(self, event: Content, opaque: Opaque) -> list[Chunk]:
        """Return the chunks that end a part with its metadata; later text begins another part."""
        begin = self._next_step()
        written = self._parts.write_text(event) if event.content else []
        metadata = sealed_holder(opaque, "text", self.upstream)
        return [*begin, *written, *self._parts.sign_text(event, metadata)]

    def _signed_reasoning(self, event: Thinking) -> list[Chunk]:
        begin = self._next_step()
        written = self._parts.write_reasoning(event) if event.content else []
        metadata = sealed_holder(event.opaque or {}, "thinking", self.upstream)
        return [*begin, *written, *self._parts.sign_reasoning(event, metadata)]

    def _next_step(self) -> list[Chunk]:
        """End the step if its calls have results: a step is one answer of the model with its results."""
        if not self._calls.close_step():
            return []
        return [*self._parts.end_all(), {"type": "finish-step"}, {"type": "start-step"}]

    def _before_call(self, tool_id: str) -> list[Chunk]:
        """End the open text before a call, because text after the call is a new part."""
        if self._calls.has_begun(tool_id):
            return []
        return [*self._next_step(), *self._parts.end_all()]

    # What is asked

    def _interaction(self, event: Interaction) -> list[Chunk]:
        if event.state == "requested" and self._calls.has_begun(event.interaction_id):
            if event.kind == "tool":
                return self._calls.hand_over(event)
            if event.kind == "approval" and self.option("sdk") != "5":
                return [_approval(event)]
        return [named_chunk(event, event.interaction_id)]

    # Data

    def _other(self, event: Event) -> list[Chunk]:
        match event:
            case Reference():
                self._sources += len(event.citations)
                return source_chunks(event, self._sources - len(event.citations))
            case Data(data_type="image" | "audio" | "file"):
                return [file_chunk(event)]
            case Data():
                return [data_chunk(event)]
            case Status():
                return [{**named_chunk(event), "transient": True}]
            case ToolCallProgress():
                return [named_chunk(event, event.tool_id)]
        return [named_chunk(event)]

    # The end

    def _failure(self, event: Error) -> list[Chunk]:
        open_parts = [] if self.is_shown else self._parts.end_all()
        return [*open_parts, {"type": "error", "errorText": event.message}]

    def _end(self, event: SessionEnd) -> list[Chunk]:
        open_parts = [] if self.is_shown else self._parts.end_all()
        if event.status == "cancelled":
            return [*open_parts, {"type": "abort"}]
        ended = finish(event, with_reason=self.option("sdk") != "5")
        return [*open_parts, {"type": "finish-step"}, ended]


def _approval(event: Interaction) -> Chunk:
    """Return the request for approval; if the upstream uses this protocol, with the upstream's own id."""
    own = (event.resume or {}).get("approvalId")
    approval_id = own if isinstance(own, str) and own else event.interaction_id
    return {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": event.interaction_id}
