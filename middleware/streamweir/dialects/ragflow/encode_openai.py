"""Writes OpenAI-shaped answers with RAGFlow's additions to the delta."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.codec.families.openai_usage import usage_of
from streamweir.codec.families.ragflow_forms import asked_by
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.codec.questions import asks_person
from streamweir.dialects.ragflow.encode_writer import Message, Writer
from streamweir.events import (
    Content,
    Error,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    ToolCallDelta,
)
from streamweir.ids import short_id

__all__ = ["OpenAIWriter"]


class OpenAIWriter(Writer):
    """Writes chunks. Every chunk repeats the role, and a failure is a piece of text."""

    time_key = "created"

    def __init__(self, lost: Counter[str], room: int) -> None:
        super().__init__(lost, room)
        self._model = "model"
        self._asked = OpenInteractions(room // 2)

    def write(self, event: Event, stamp: Stamp) -> Iterator[Message]:
        """Yield the chunks of `event`."""
        self.note(event)
        match event:
            case SessionStart():
                self._model = short_id(str(self.extra_of(event).get("model") or self._model))
            case Content():
                if event.channel is not None:
                    self.lost["channel of text"] += 1
                if event.content:
                    yield self._chunk({"content": event.content}, stamp)
            case Thinking():
                yield self._chunk({"reasoning_content": event.content}, stamp)
            case Reference():
                self._cite(event)
            case Interaction() if asks_person(event) and not self._asked:
                self._asked.add(event)
            case Error(terminal=True):
                yield self._chunk({"content": f"**ERROR**: {event.message}"}, stamp)
                yield self._chunk({}, stamp, finish_reason="stop")
            case SessionEnd():
                yield from self._end(event, stamp)
            case ToolCallDelta():
                return
            case _:
                self.lose(event)

    def _end(self, event: SessionEnd, stamp: Stamp) -> Iterator[Message]:
        if event.status == "error":
            return
        delta: Message = {}
        summary = event.summary or {}
        reason = summary.get("finish_reason", "stop")
        if event.status == "suspended":
            asked = [asked_by(asked, message_id=self._message_id) for asked in self._asked]
            delta["waiting_for_user"] = asked[0] if asked else {"cpn_id": "", "inputs": {}}
            reason = "waiting_for_user"
        elif event.status == "cancelled":
            self.lost["end as cancelled"] += 1
        if reference := self._take_reference(keyed=False):
            delta["reference"] = reference["chunks"]
        yield self._chunk(delta, stamp, finish_reason=reason, usage=usage_of(summary))

    def _chunk(self, delta: Message, stamp: Stamp, **fields: Any) -> Message:
        empty = {
            "content": None,
            "role": "assistant",
            "function_call": None,
            "tool_calls": None,
            "reasoning_content": None,
        }
        found = _chunk(
            {**empty, **delta},
            id=self.one_message_id(stamp),
            created=stamp.timestamp // 1000,
            model=self._model,
            **fields,
        )
        return {**found, "system_fingerprint": ""}


def _chunk(
    delta: Mapping[str, Any],
    *,
    id: str,  # noqa: A002 - the name on the wire
    created: int,
    model: str,
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a `chat.completion.chunk` with one choice."""
    return {
        "id": id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish_reason, "logprobs": None}],
        "usage": usage,
    }
