"""Writes chat completion chunks, and a whole completion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.chat_encoder import ChatEncoder
from streamweir.codec.failed_request import FailedRequest
from streamweir.codec.families.openai_errors import error_object
from streamweir.codec.families.openai_usage import is_usage_alone, usage_of
from streamweir.codec.frame_template import Number
from streamweir.codec.kept_values import KeptValues
from streamweir.codec.opaque_values import OPAQUE_OPTION
from streamweir.dialects.openai_chat.encode_opaque import SealedDetails, extra_content_of
from streamweir.dialects.openai_chat.encode_references import REFERENCES, written_citation
from streamweir.dialects.openai_chat.encode_whole import completion
from streamweir.errors import CODES
from streamweir.events import (
    Content,
    Error,
    Opaque,
    Reference,
    SessionEnd,
    Stamp,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json, write_json_text
from streamweir.lazy_pattern import LazyPattern

__all__ = ["OpenAIChatEncoder"]

_DONE: Final = Frame(b"[DONE]")
_CREATED: Final = LazyPattern(rb'(?<!\\)"created"\s*:\s*(\d{1,15})(?=\s*[,}])')
_ID: Final = LazyPattern(rb'(?<!\\)"id"\s*:\s*"([^"\\]{1,1024})"(?=[^\[{]{0,1024}"choices")')
"""The id and the time of a chunk. Behind its id only numbers and texts precede its choices."""


class OpenAIChatEncoder(ChatEncoder):
    """Writes chunks with one choice.

    Options:
        reasoning: the field of the delta for reasoning, or `drop`.
        references: the field of the delta for citations: OpenAI's, or RAGFlow's.
        opaque: `off` leaves out opaque values, which the upstream expects back in the next request.
    """

    option_values: ClassVar = {
        "reasoning": ("reasoning_content", "reasoning", "drop"),
        "references": REFERENCES,
        **OPAQUE_OPTION,
    }

    asks_for_usage: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._created = 0
        """The time of the answer in Unix seconds; 0 before the first chunk."""
        self._has_begun = False
        self._has_failed = False
        self._calls_written = 0
        self._has_copied = False
        self._details = SealedDetails()

    @cached_property
    def _signed(self) -> RecentIds[None]:
        """The calls whose opaque values have been written."""
        return RecentIds(self.room // 8)

    @cached_property
    def _indices(self) -> RecentIds[int]:
        """The index of each call in the answer, by the id of the call."""
        return RecentIds(self.room // 4)

    @cached_property
    def _citations(self) -> KeptValues:
        return KeptValues(self.room // 2)

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the time of the answer; None for text of another channel, which is counted as lost."""
        del texts
        if isinstance(event, Content) and event.channel is not None:
            return None
        return {"created": (self._created or self._time(stamp), 0)}

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Count pieces of the reasoning, because a seal holds the length of the reasoning before it."""
        if isinstance(event, Thinking):
            self._details.note("".join(texts))

    def heartbeat(self) -> Frame:
        """Return a chunk without text, because clients take a comment for an incomplete event.

        Its id is that of the chunks around it. If the stream is written anew, an early heartbeat decides the
        id of all chunks.
        """
        self.message_id = self.message_id or f"chatcmpl-{self.stamp.request_id or self.request_id}"
        return self._chunk({"content": ""}, None)

    def continue_behind(self, copied: bytes) -> None:
        """Take the id and the time of the answer from copied chunks of the upstream."""
        for found in _CREATED.finditer(copied):
            self._created = int(found[1])
        for found in _ID.finditer(copied):
            self.message_id = found[1].decode("utf-8", "replace")

    def close(self) -> Iterable[Frame]:
        """Return the frame of the end mark `[DONE]`; no frame after a failure."""
        return () if self._has_failed else (_DONE,)

    def write_whole(self, folded: Mapping[str, Any], stamp: Stamp) -> Mapping[str, Any]:
        """Return a `chat.completion`."""
        return completion(
            folded,
            stamp,
            model=self.model_name,
            reasoning=self.option("reasoning"),
            references=self.option("references"),
            upstream=self.upstream,
        )

    @classmethod
    def failure_body(cls, failure: FailedRequest) -> Mapping[str, Any]:
        """Return the body of an HTTP error."""
        return {"error": error_object(failure.code, failure.message, status=failure.status)}

    def hides(self, frame: Frame) -> bool:
        """Return whether a frame is the chunk that holds only the usage."""
        is_first, self._has_copied = not self._has_copied, True
        return is_usage_alone(frame.json_or(None), is_first=is_first)

    def write_text(self, text: str, *, begins: bool) -> Iterable[Frame]:
        """Return the frames of a piece of the answer."""
        del begins
        return self._chunks({"content": text})

    def write_thinking(self, text: str) -> Iterable[Frame]:
        """Return the frames of a piece of the reasoning, in the field that the clients read."""
        field = self.option("reasoning")
        if field == "drop":
            self.lost["thinking"] += 1
            return ()
        self._details.note(text)
        return self._chunks({field: text})

    def write_thinking_opaque(self, opaque: Opaque) -> Iterable[Frame]:
        """Return the frames of the opaque value that the upstream expects back with its reasoning."""
        field = self.option("reasoning")
        if field == "drop":
            return ()
        return self._deltas(self._details.of_thinking(opaque, field, self.upstream))

    def write_text_opaque(self, opaque: Opaque) -> Iterable[Frame]:
        """Return the frames of the seal of the preceding text."""
        return self._deltas(self._details.of_text(opaque, self.upstream))

    def _deltas(self, delta: dict[str, Any]) -> Iterable[Frame]:
        return self._chunks(delta) if delta else ()

    def write_argument_piece(self, piece: ToolCallDelta) -> Iterable[Frame]:
        """Return the frames of a piece of arguments; the first piece names the call."""
        index = self._indices.get(piece.tool_id)
        if index is None:
            if piece.tool_name is None:
                return ()  # a call without a name is none to a client: all of it comes with the name
            return self._call(piece.tool_id, piece.tool_name, piece.arguments_delta, piece.opaque)
        return self._chunks(
            {"tool_calls": [{"index": index, "function": {"arguments": piece.arguments_delta}}]}
        )

    def write_call(self, call: ToolCallStart) -> Iterable[Frame]:
        """Return the frames of a whole call; if its pieces have been written, only of its opaque value."""
        index = self._indices.get(call.tool_id)
        if index is None:
            return self._call(call.tool_id, call.tool_name, write_json_text(call.arguments), call.opaque)
        extra = self._extra_content(call.tool_id, call.opaque)
        piece = {"index": index, "function": {"arguments": ""}, **extra}
        return self._chunks({"tool_calls": [piece]}) if extra else ()

    def write_result(self, call: ToolCallStart, end: ToolCallEnd) -> Iterable[Frame]:
        """Count the result of a call as lost: a client that saw the call would run it."""
        del call
        self.lose(end)
        return ()

    def write_references(self, event: Reference) -> Iterable[Frame]:
        """Keep the citations for the end: clients cannot join two lists of them."""
        for citation in event.citations:
            cited = written_citation(citation, self.option("references"))
            if cited is None:
                self.lost["reference without an address"] += 1
            elif not self._citations.append(cited):
                self.lose(event)
        return ()

    def write_failure(self, error: Error) -> Iterable[Frame]:
        """Return the frames of the error, which is the last one."""
        self._has_failed = True
        return (Frame(write_json({"error": error_object(error.code, error.message)})),)

    def write_cancelled(self) -> Iterable[Frame]:
        """Return the frames of an error that reports the cancellation: a finish reason would mean success."""
        self._has_failed = True
        return (Frame(write_json({"error": error_object("CANCELLED", CODES["CANCELLED"].message)})),)

    def write_end(self, reason: str, end: SessionEnd, beside: dict[str, Any]) -> Iterator[Frame]:
        """Yield the frames of the citations, and of the finish reason with the usage."""
        if self._citations:
            yield from self._chunks({self.option("references"): self._citations.take()})
        usage = None if self.names.hides_usage else usage_of(end.summary)
        found = {"usage": usage} if usage else {}
        yield from self._chunks({}, reason, **found, **beside)

    def _extra_content(self, tool_id: str, opaque: Opaque | None) -> dict[str, Any]:
        """Return the field with the opaque value of a call; empty without a value, or if written."""
        if opaque is None or tool_id in self._signed:
            return {}
        self._signed.add(tool_id, None)
        return extra_content_of(opaque, self.upstream)

    def _call(self, tool_id: str, name: str, arguments: str, opaque: Opaque | None) -> Iterable[Frame]:
        index, self._calls_written = self._calls_written, self._calls_written + 1
        self._indices.add(tool_id, index)
        function = {"name": name, "arguments": arguments}
        extra = self._extra_content(tool_id, opaque)
        call = {"index": index, "id": tool_id, "type": "function", "function": function, **extra}
        return self._chunks({"tool_calls": [call]})

    def _chunks(self, delta: dict[str, Any], finish: str | None = None, **beside: Any) -> Iterator[Frame]:
        """Yield a chunk, and before it the chunk that begins the answer if no chunk was written yet."""
        if not self._has_begun:
            self._has_begun = True
            yield self._chunk({"role": "assistant", "content": ""}, None)
        yield self._chunk(delta, finish, **beside)

    def _time(self, stamp: Stamp) -> int:
        """Return the time of the answer in Unix seconds for all chunks: that of the request, if known, else
        that of the first event.
        """
        self._created = (self.opened_at or stamp.timestamp) // 1000
        return self._created

    def _chunk(self, delta: dict[str, Any], finish: str | None, **beside: Any) -> Frame:
        message = {
            "id": self.message_id or f"chatcmpl-{self.stamp.request_id}",
            "object": "chat.completion.chunk",
            "created": self._created or self._time(self.stamp),
            "model": self.model_name,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
            **beside,
        }
        return Frame(write_json(message))
