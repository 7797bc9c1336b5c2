"""Writes the envelope in the form that the chat app's own pages read, or its old flat form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

from streamweir.codec.base import Encoder
from streamweir.codec.coerce import leftover
from streamweir.codec.frame_template import Number
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.codec.questions import asks_person, question_text
from streamweir.dialects.stream_envelope.shared_carrier import CARRIER, carry
from streamweir.dialects.stream_envelope.shared_vocabulary import TRACE
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
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
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json

__all__ = ["EnvelopeEncoder"]

_Message = tuple[str, dict[str, Any]]
"""A message's type and its data."""

_OWN_STATES: Final = ("state_update", "command")
_WORKFLOW_TYPES: Final = (
    ({"loop_node_id", "iteration"}, "loop_iteration"),
    ({"node_type", "result"}, "route_decision"),
    ({"task_id", "status"}, "parallel_task"),
)
"""For each set of fields: the type of workflow message that has these fields."""

_OF_THE_SYSTEM: Final = ("status", "error", "done")
"""The types of messages for which the server names the node `system`."""

_OLD_NAMES: Final[dict[str, dict[str, str]]] = {
    "content": {"delta": "content"},
    "tool_start": {},
    "tool_end": {},
    "error": {"message": "error"},
    "interrupt": {},
    "done": {},
}
"""For each type of the old form: its own names of fields that have other names in the envelope."""


class EnvelopeEncoder(Encoder):
    """Writes the envelope with all the keys that its server writes.

    A question to a person ends the stream with `interrupt`, so it is written with the end. If the run
    continues instead, the question is carried like every event without a type in the envelope.

    Options:
        form: `old` for clients of the flat form, which knows text, tools and ends only.
    """

    is_old: ClassVar[bool] = True
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"form": ("new", "old")}

    def __init__(self) -> None:
        super().__init__()
        self._thread_id = ""
        self._step = 0
        self._is_thinking = False
        self._is_carried = True

    @cached_property
    def _names(self) -> RecentIds[str]:
        """The names of tools, by the ids of open calls."""
        return RecentIds(self.room // 4)

    @cached_property
    def _waiting(self) -> OpenInteractions:
        """The last question, which is kept until the next event."""
        return OpenInteractions(self.room)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`."""
        meta: Meta = event.meta or {}
        self._thread_id = meta.get("thread_id") or self._thread_id
        if isinstance(event, SessionStart):
            self._thread_id = self._thread_id or event.session_id or ""
        frames = [self._frame(kind, data, event, stamp) for kind, data in self._question(event)]
        frames += [self._frame(kind, data, event, stamp) for kind, data in self._messages_of(event)]
        self._is_thinking = isinstance(event, Thinking)
        return [frame for frame in frames if frame is not None]

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the timestamp of the read; None for text of another channel, which is lost."""
        del texts
        if isinstance(event, Content) and event.channel is not None:
            return None
        has_time = self.option("form") == "old" or "upstream_time" in (event.meta or {})
        return {} if has_time else {"timestamp": (stamp.timestamp, 0)}

    def _messages_of(self, event: Event) -> Iterable[_Message]:
        match event:
            case SessionStart():
                return [("status", {"status": "connected"})]
            case Content():
                return self._content(event)
            case Thinking():
                return [self._thinking(event)]
            case ToolCallStart():
                return [self._tool_start(event)]
            case ToolCallEnd():
                return [self._tool_end(event)]
            case Status(scope="session", state="connected") | ToolCallDelta():
                return []
            case Status():
                return [_status(event) or self._carried(event)]
            case Interaction():
                return self._interaction(event)
            case Error(terminal=True):
                return [("error", _error(event))]
            case SessionEnd():
                return self._end(event)
        return [self._carried(event)]

    def _interaction(self, event: Interaction) -> Iterable[_Message]:
        """Keep a question until the next event; forget it if it was answered or withdrawn."""
        if event.state == "requested":
            self._waiting.clear()
            self._waiting.add(event)
            self._is_carried = not self._waiting
            return [self._carried(event)] if self._is_carried else []
        self._waiting.discard(event.interaction_id)
        return [self._carried(event)]

    def _question(self, event: Event) -> Iterator[_Message]:
        """Yield the question that is held back, if `event` shows that the run continues without an answer."""
        if not self._is_carried and _goes_on(event):
            self._is_carried = True
            for asked in self._waiting:
                yield self._carried(asked)

    def _content(self, event: Content) -> Iterator[_Message]:
        if not event.content:
            return
        data = {"delta": event.content}
        if event.channel is not None:
            self.lost["channel of text"] += 1
            data["channel"] = event.channel
        yield "content", data

    def _thinking(self, event: Thinking) -> _Message:
        """Return a piece of thinking; the pieces of one thought have the same step."""
        self._step += not self._is_thinking
        meta: Meta = event.meta or {}
        step = self.extra_of(event).get("step", self._step)
        node = {"node_name": meta.get("node_name", ""), "step": step}
        if event.stage == "planning":
            return "code_agent_planning", {**node, "plan": event.content, "is_update": False}
        return "code_agent_thought", {**node, "content": event.content}

    def _tool_start(self, event: ToolCallStart) -> _Message:
        self._names.add(event.tool_id, event.tool_name)
        description = {"description": event.description} if event.description else {}
        return "tool_start", {"tool_name": event.tool_name, "tool_input": event.arguments, **description}

    def _tool_end(self, event: ToolCallEnd) -> _Message:
        name = self._names.get(event.tool_id) or "unknown"
        self._names.discard(event.tool_id)
        data = {
            "tool_name": name,
            "tool_output": event.result,
            "duration": (event.meta or {}).get("duration_ms"),
            "status": "success" if event.status == "success" else "error",
        }
        if event.error:
            data["error"] = event.error
            data["tool_output"] = event.error["message"] if event.result is None else event.result
        return "tool_end", data

    def _end(self, event: SessionEnd) -> Iterable[_Message]:
        match event.status:
            case "completed":
                known = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")
                summary = event.summary or {}
                return [("done", {name: summary[name] for name in known if summary.get(name) is not None})]
            case "cancelled":
                return [("error", {"message": "Stream stopped", "code": "stopped"})]
            case "suspended":
                return [self._interrupt()]
        return []

    def _interrupt(self) -> _Message:
        asked = next(iter(self._waiting), None)
        node: dict[str, Any] = {"node_name": "unknown", "node_label": "Unknown Node"}
        if asked is None:
            return "interrupt", {**node, "state": {CARRIER: None}, "thread_id": self._thread_id}
        name = (asked.meta or {}).get("node_name", "unknown")
        node = {"node_name": name, "node_label": asked.title or name}
        resume = asked.resume or {}
        own = asked.kind == "approval" and isinstance(resume.get("command"), dict)
        state = resume.get("state") if own else carry(asked, self.extra_of(asked))
        if not own and asks_person(asked):
            node["message"] = question_text(asked)
        return "interrupt", {**node, "state": state, "thread_id": self._thread_id}

    def _carried(self, event: Event) -> _Message:
        match event:
            case Data(data_type="custom", data={"name": str(name), "value": dict(value)}) if (
                name in _OWN_STATES
            ):
                return name, value
        state = carry(event, self.extra_of(event))
        return "state_update", {"updated_fields": [CARRIER], "state_snapshot": state}

    def _frame(self, kind: str, data: dict[str, Any], event: Event, stamp: Stamp) -> Frame | None:
        if self.option("form") == "old":
            return self._old_frame(kind, data, event)
        extra, meta = self.extra_of(event), event.meta or {}
        message = {
            "type": kind,
            "thread_id": self._thread_id,
            "run_id": _run_id(event),
            "node_name": meta.get("node_name", "system" if kind in _OF_THE_SYSTEM else "unknown"),
            "timestamp": meta.get("upstream_time", stamp.timestamp),
            **{name: extra.get(name, [] if name == "tags" else "") for name in TRACE},
            "data": {**(leftover(extra, TRACE) or {}), **data},
        }
        return Frame(write_json(message))

    def _old_frame(self, kind: str, data: dict[str, Any], event: Event) -> Frame | None:
        if isinstance(event, SessionStart):
            return Frame(write_json({"type": "thread_id", "thread_id": self._thread_id}))
        names = _OLD_NAMES.get(kind)
        if names is None:
            self.lost[event.type.replace("_", " ")] += 1
            return None
        if data.get("code") == "stopped" and isinstance(event, SessionEnd):
            return Frame(write_json({"stopped": True, "thread_id": self._thread_id}))
        renamed = {names.get(name, name): value for name, value in data.items()}
        return Frame(write_json({"type": kind, **renamed, "thread_id": self._thread_id}))


def _error(event: Error) -> dict[str, Any]:
    """Return the failure of a run; the newest servers use `error_code`, others `code`."""
    params = {"params": event.message_params} if event.message_params else {}
    return {"message": event.message, "code": event.code, "error_code": event.code, **params}


def _goes_on(event: Event) -> bool:
    """Return whether `event` must not be written between a question and the end that waits for its answer."""
    match event:
        case Warning() | Status() | Data() | Content(content="") | SessionEnd(status="suspended"):
            return False
    return True


def _run_id(event: Event) -> str:
    """Return the id by which the client groups messages: the id of the call, the message, or the run."""
    meta: Meta = event.meta or {}
    match event:
        case ToolCallStart() | ToolCallEnd() | ToolCallProgress():
            return event.tool_id
        case Content() | Thinking():
            return meta.get("message_id") or meta.get("run_id", "")
    return meta.get("run_id", "")


def _status(event: Status) -> _Message | None:
    """Return the envelope's message for a status; None if the envelope has no type for it."""
    match event:
        case Status(scope="session", state="resumed", detail=None):
            return "status", {"status": "resumed"}
        case Status(scope="phase", state="running"):
            return "status", {"stage": event.name, "message": event.detail}
        case Status(scope="node", state="started" | "finished" | "failed"):
            return _node(event)
        case Status(scope="model", state="started" | "finished", detail=None | dict()):
            return _model(event, event.detail or {})
        case Status(scope="workflow", detail=dict(detail)):
            for fields, kind in _WORKFLOW_TYPES:
                if fields <= detail.keys():
                    return kind, detail
    return None


def _node(event: Status) -> _Message:
    meta: Meta = event.meta or {}
    name = meta.get("node_name") or event.name or "unknown"
    data = {"node_name": name, "node_label": event.name or name, "node_id": meta.get("node_id")}
    if event.detail is not None:
        data["detail"] = event.detail
    if event.state == "started":
        return "node_start", data
    status = "error" if event.state == "failed" else "success"
    return "node_end", {**data, "duration": meta.get("duration_ms"), "status": status}


def _model(event: Status, detail: Mapping[str, Any]) -> _Message:
    data = {"model_name": event.name or "unknown", "model_provider": "unknown", **detail}
    if event.state == "started":
        return "model_input", {"messages": [], **data}
    return "model_output", {"output": None, **data}
