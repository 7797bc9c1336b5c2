"""Writes the events of an agent's run in the form that agents send from 0.26.4 on.

Intended differences: a tool call is a node of the type `Tool` (the server itself reports calls only
afterwards, inside an agent's outputs; clients show nodes). An event without a form in this protocol is a node
of the type `Event`. The answer is not repeated in `workflow_finished`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streamweir.codec.families.openai_usage import usage_of
from streamweir.codec.families.ragflow_forms import asked_by
from streamweir.codec.kept_calls import KeptCalls
from streamweir.codec.kept_values import KeptValues
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.dialects.ragflow.encode_media import download_of, hexadecimal_audio
from streamweir.dialects.ragflow.encode_writer import Message, Writer
from streamweir.dialects.ragflow.shared_carrier import CARRIER
from streamweir.dialects.ragflow.shared_vocabulary import TOOL
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
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
    Warning,
    wire_data,
)
from streamweir.ids import RecentIds

__all__ = ["AgentWriter"]

CANCELLED = "Task has been canceled"
STEP_FAILED = "The step failed."


class AgentWriter(Writer):
    """Writes agent events.

    Args:
        filtered: whether to write only messages and the end, like the route of sessions: the official SDK
            (0.22) reads `data.content` of every event before the first `message_end`.
    """

    def __init__(self, lost: Counter[str], room: int, *, filtered: bool) -> None:
        super().__init__(lost, room)
        self._filtered = filtered
        self._thinking = False
        self._has_text = False
        self._beside_end: Message = {}
        """The upstream's own fields of `message_end`, from all messages."""
        self._asked = OpenInteractions(room // 2)
        self._downloads = KeptValues(room // 4)
        self._calls = KeptCalls(room // 4)
        self._began: RecentIds[int] = RecentIds(room // 16)
        """The time at which each call began."""
        self._now = 0
        self._carried = 0
        self._task_id: str | None = None

    def write(self, event: Event, stamp: Stamp) -> Iterator[Message]:
        """Yield the messages of `event`."""
        self.note(event)
        self._now = stamp.timestamp
        self._task_id = (event.meta or {}).get("run_id") or self._task_id
        for name, data in self._events(event):
            if name == "failure":
                yield self._failure(data["message"], stamp)
            else:
                yield self._frame(name, data, stamp)

    def _events(self, event: Event) -> Iterable[tuple[str, Message]]:
        match event:
            case Content():
                return self._content(event)
            case Thinking():
                return (
                    *self._turn(thinking=True),
                    ("message", {**self.extra_of(event), "content": event.content}),
                )
            case Reference():
                self._cite(event)
                return ()
            case Interaction():
                self._ask(event)
                return ()
            case Error(terminal=True):
                return (*self._turn(thinking=False), ("failure", {"message": event.message}))
            case SessionEnd():
                return self._end(event)
            case Data(data_type="audio", data=dict() as data) if speech := hexadecimal_audio(data):
                return (("message", {"content": "", "audio_binary": speech}),)
            case Data(data_type="file" | "image" | "audio"):
                self._offer(event)
                return ()
            case ToolCallDelta():
                return ()
        if self._filtered:
            if not isinstance(event, SessionStart):
                self.lose(event)
            return ()
        return self._node_events(event)

    def _node_events(self, event: Event) -> Iterable[tuple[str, Message]]:
        """Yield the events that only the unfiltered route has."""
        match event:
            case SessionStart():
                return (("workflow_started", {"inputs": {}, **self.extra_of(event)}),)
            case ToolCallStart():
                self._calls.add(event)
                self._began.add(event.tool_id, self._now)
                return (("node_started", _tool_started(event)),)
            case ToolCallEnd():
                call, began = self._calls.pop(event.tool_id), self._began.get(event.tool_id)
                self._began.discard(event.tool_id)
                took = 0 if began is None else self._now - began
                return (("node_finished", _tool_finished(event, call, took)),)
            case Status(scope="node"):
                return (_node(event, self.extra_of(event)),)
            case Status():
                outputs: Message = {"scope": event.scope, "state": event.state, "name": event.name}
                return (self._carry("status", {**outputs, "detail": event.detail}),)
            case Data():
                outputs = {"data_type": event.data_type, "data": event.data, "metadata": event.metadata}
                return (self._carry(event.data_type, outputs),)
            case Warning():
                return (self._carry("warning", {"warning": event.message, "code": event.message_code}),)
            case Error() | ToolCallProgress():
                return (self._carry(event.type, {"type": event.type, "data": wire_data(event)}),)
        self.lose(event)
        return ()

    # TextDeduplication

    def _content(self, event: Content) -> Iterator[tuple[str, Message]]:
        if event.channel is not None:
            self.lost["channel of text"] += 1
        if event.content:
            yield from self._turn(thinking=False)
            yield "message", {**self.extra_of(event), "content": event.content}
        self._has_text = self._has_text or event.content != ""
        if event.is_complete and not event.content:
            self._beside_end.update(self.extra_of(event))

    def _offer(self, event: Data) -> None:
        """Keep a file for the end of its message."""
        if not self._downloads.append(download_of(event, self.extra_of(event))):
            self.lose(event)

    def _turn(self, *, thinking: bool) -> Iterator[tuple[str, Message]]:
        """Yield the marks where thinking begins and ends."""
        if self._thinking != thinking:
            self._thinking = thinking
            yield "message", {"content": "", "start_to_think" if thinking else "end_to_think": True}

    def _end_message(self) -> Iterator[tuple[str, Message]]:
        """Yield, once, the mark after all messages, at which the server's own clients stop reading."""
        data = self._beside_end
        if reference := self._take_reference(keyed=True):
            data["reference"] = reference
        if self._downloads:
            data["downloads"] = self._downloads.take()
        yield "message_end", data

    # The end

    def _ask(self, event: Interaction) -> None:
        """Keep the form until the end, because no event may follow it."""
        if event.state != "requested" or self._asked:
            self.lost[f"interaction {event.state}"] += 1
            return
        if event.kind == "tool":
            self.lost["interaction of kind tool"] += 1
        self._asked.add(event)

    def _before_end(self, *, is_whole: bool) -> Iterator[tuple[str, Message]]:
        """Yield the remaining parts of the answer; the SDK needs the answer's end before any other event."""
        yield from self._turn(thinking=False)
        if (self._has_text and is_whole) or self._reference or self._downloads or self._filtered:
            yield from self._end_message()

    def _end(self, event: SessionEnd) -> Iterator[tuple[str, Message]]:
        if event.status == "error":
            return
        yield from self._before_end(is_whole=event.status != "cancelled")
        if event.status == "suspended":
            asked = [asked_by(asked, message_id=self._message_id) for asked in self._asked]
            yield "user_inputs", asked[0] if asked else {"inputs": {}, "tips": ""}
            return
        meta, summary = event.meta or {}, event.summary or {}
        extra = dict(self.extra_of(event))
        usage = usage_of(summary)
        if usage and "calls" in extra:
            usage["calls"] = extra.pop("calls")
        if self._filtered and event.status == "completed":
            if usage:
                yield "workflow_finished", {"usage": usage}
            return
        took = meta.get("duration_ms", summary.get("duration_ms", 0))
        data = {"inputs": {}, "outputs": {}, **extra, "elapsed_time": took / 1000}
        if usage:
            data["usage"] = usage
        if event.status == "cancelled":
            data["outputs"] = CANCELLED
        yield "workflow_finished", data

    # Frames

    def _carry(self, name: str, outputs: Message) -> tuple[str, Message]:
        self._carried += 1
        kept = {key: value for key, value in outputs.items() if value is not None}
        return "node_finished", _finished(f"event_{self._carried}", name, CARRIER, kept)

    def _frame(self, event: str, data: Message, stamp: Stamp) -> Message:
        if event in ("node_started", "node_finished"):
            data = {**data, "created_at": stamp.timestamp / 1000}
        return {
            "event": event,
            "message_id": self._message_id or stamp.request_id,
            "created_at": stamp.timestamp // 1000,
            "task_id": self._task_id or self._session_id or stamp.request_id,
            "data": data,
            "session_id": self._session_id or "",
        }

    def _failure(self, message: str, stamp: Stamp) -> Message:
        """Return the message of an exception, in the shape that the SDK expects of every frame."""
        if self._filtered:
            text = {"content": f"**ERROR**: {message}"}
            return {**self._frame("message", text, stamp), "code": 500, "message": message}
        return {"code": 500, "message": message, "data": False, "session_id": self._session_id or ""}


def _tool_started(event: ToolCallStart) -> Message:
    return {
        "inputs": event.arguments,
        "component_id": event.tool_id,
        "component_name": event.tool_name,
        "component_type": TOOL,
        "thoughts": event.description or "",
    }


def _tool_finished(event: ToolCallEnd, call: ToolCallStart | None, took: int) -> Message:
    name = call.tool_name if call else ""
    arguments = call.arguments if call else {}
    outputs: Message = {"use_tools": [{"name": name, "arguments": arguments, "results": event.result}]}
    error = event.error or {"code": "TOOL_FAILED", "message": STEP_FAILED}
    if event.status == "failed":
        outputs["code"] = error["code"]
    return _finished(
        event.tool_id,
        name,
        TOOL,
        outputs,
        error=error["message"] if event.status == "failed" else None,
        took=(event.meta or {}).get("duration_ms", took),
    )


def _node(event: Status, own: Mapping[str, Any]) -> tuple[str, Message]:
    meta = event.meta or {}
    extra = dict(own)
    kind = extra.pop("component_type", "")
    name = meta.get("node_name") or event.name or ""
    identity = meta.get("node_id") or name
    if event.state not in ("finished", "failed"):
        started = {"component_id": identity, "component_name": name, "component_type": kind}
        thoughts = event.detail if isinstance(event.detail, str) else ""
        return "node_started", {"inputs": None, **extra, **started, "thoughts": thoughts}
    error = STEP_FAILED if event.state == "failed" else None
    outputs = {} if error or event.detail is None else event.detail
    took = meta.get("duration_ms", 0)
    return "node_finished", {**_finished(identity, name, kind, outputs, error=error, took=took), **extra}


def _finished(
    identity: str, name: str, kind: str, outputs: Any, *, error: str | None = None, took: int = 0
) -> Message:
    return {
        "inputs": {},
        "outputs": outputs,
        "component_id": identity,
        "component_name": name,
        "component_type": kind,
        "error": error,
        "elapsed_time": took / 1000,
    }
