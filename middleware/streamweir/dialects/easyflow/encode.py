"""Writes EasyFlow chat 1.1, in the specification's spelling or in AIFlowy's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from streamweir.codec.base import Encoder
from streamweir.codec.coerce import present
from streamweir.codec.frame_template import Number
from streamweir.codec.questions import form_schema, question_text
from streamweir.dialects.easyflow.shared_vocabulary import (
    DOMAINS,
    META_IDS,
    SCOPES,
    SESSION_STATES,
    STEP_STATES,
)
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
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
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json

__all__ = ["EasyflowEncoder"]

_ANY_NAME: Final = re.compile(r"([a-z][a-z0-9_-]{0,63})/([a-z][a-z0-9_-]{0,63})")
"""The form of an event name whose domain or type is new, so that this dialect gets the name back."""

_OWN_NAME: Final = re.compile(rf"({'|'.join(sorted(DOMAINS))})/(\w+)")
_SESSION_WORDS: Final = {state: word for word, state in SESSION_STATES.items()}
_STEP_WORDS: Final = {state: word for word, state in STEP_STATES.items()}
_INTERACTION_WORDS: Final = {"requested": "request", "cancelled": "cancel", "resolved": "resolve"}
_FORMS: Final = frozenset({"form", "questions", "approval"})
_MISREAD: Final = frozenset({"tool_progress"})
"""The types of this library that AIFlowy's pages would misread, as they take any tool event for a call."""


class _Parts(NamedTuple):
    """The parts of a message: its domain and type, its payload, and the name of its event."""

    domain: str
    type: str
    payload: dict[str, Any]
    event: str = "message"
    meta: Mapping[str, Any] = {}


class EasyflowEncoder(Encoder):
    """Writes the specification's dialect. An event without a type in the specification becomes a new type in
    one of its domains.

    Clients ignore domains and types that they do not know (section 16, rules 1 and 2). No frame is sent after
    `event: error`. A suspended run has no end event.

    Options:
        variant: `aiflowy` writes the form of AIFlowy's pages: upper-case words, the conversation in the
            payload, the one error code that they show.
    """

    is_old: ClassVar[bool] = True
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"variant": ("easyflow", "aiflowy")}

    def __init__(self) -> None:
        super().__init__()
        self._conversation_id = ""
        self._state = ""
        self._has_asked = False
        self._message_id = ""
        self._index = 0
        """The number of the next piece of the current message."""

    @cached_property
    def _indexes(self) -> RecentIds[int]:
        """The number of the next piece of each other message."""
        return RecentIds(self.room // 4)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames of `event`; an empty list if the event has no content for this protocol."""
        del stamp
        meta: Meta = event.meta or {}
        self._conversation_id = meta.get("thread_id") or self._conversation_id
        if isinstance(event, SessionStart):
            self._conversation_id = self._conversation_id or event.session_id or ""
        parts = self._parts_of(event)
        is_aiflowy = self.option("variant") == "aiflowy"
        if parts is not None and is_aiflowy and parts.type in _MISREAD:
            self.lost[event.type.replace("_", " ")] += 1
            return ()
        if parts is None:
            return ()
        self._has_asked = self._has_asked or isinstance(event, Interaction)
        write = self._aiflowy if is_aiflowy else self._easyflow
        return (Frame(write_json(write(parts, meta, self.extra_of(event))), parts.event),)

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the number of the piece, which changes with each frame; only the specification has it."""
        del texts, stamp
        if isinstance(event, Content) and event.channel is not None:
            return None
        if self.option("variant") == "aiflowy":
            return {}
        if (message_id := (event.meta or {}).get("message_id") or "") != self._message_id:
            self._turn_to(message_id)
        return {"index": (self._index, 1)}

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Advance the number of the next piece by the number of texts."""
        del event
        if self.option("variant") != "aiflowy":
            self._index += len(texts)

    def _parts_of(self, event: Event) -> _Parts | None:
        match event:
            case Content():
                return self._content(event)
            case Thinking(content=text, stage=stage):
                return _Parts("llm", "thinking", {"delta": text, **present(stage=stage)}) if text else None
            case ToolCallStart() | ToolCallEnd() | ToolCallProgress():
                return _tool(event)
            case SessionStart():
                return self._session("running")
            case Status(scope="session"):
                return self._session(_SESSION_WORDS.get(event.state, event.state), event.detail)
            case Status():
                return _step(event)
            case Error():
                return _error(event)
            case SessionEnd():
                return self._end(event)
            case ToolCallDelta():
                return None
            case Data(data_type="custom", data={"name": str(name), "value": dict() | None as value}) if (
                self.writes_extra and (own := _ANY_NAME.fullmatch(name))
            ):
                return _Parts(own[1], own[2], value or {})
        return _other(event)

    def _content(self, event: Content) -> _Parts | None:
        if not event.content:
            return None
        if event.channel is None:
            return _Parts("llm", "message", {"delta": event.content})
        self.lost["channel of text"] += 1
        return _Parts("llm", "message", {"delta": event.content, "channel": event.channel})

    def _session(self, state: str, detail: Any = None) -> _Parts | None:
        """Return the message of the session's state; None if the state has not changed."""
        if state == self._state and detail is None:
            return None
        self._state = state
        more = detail if isinstance(detail, dict) else {} if detail is None else {"detail": detail}
        return _Parts("system", "status", {"state": state, **more})

    def _end(self, event: SessionEnd) -> _Parts | None:
        match event.status:
            case "suspended":
                return self._session("suspended")
            case "error":
                return None
        meta = {name: value for name, value in _summary(event.summary or {}).items() if value is not None}
        if event.status == "cancelled" or self._has_asked:
            meta["status"] = event.status
        return _Parts("system", "done", {}, "done", meta)

    def _easyflow(self, parts: _Parts, meta: Meta, extra: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {
            "protocol": "easyflow-chat",
            "version": "1.1",
            "domain": parts.domain,
            "type": parts.type,
            "conversation_id": self._conversation_id,
        }
        message_id = meta.get("message_id")
        if message_id is not None:
            message["message_id"] = message_id
        if "delta" in parts.payload:
            message["index"] = self._next_index(message_id or "")
        message["payload"] = {**_extra_payload(extra), **parts.payload}
        if open_meta := _open_meta(parts, meta, extra):
            message["meta"] = open_meta
        return message

    def _aiflowy(self, parts: _Parts, meta: Meta, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message as fastjson writes the servers' beans: keys in order, without null."""
        message: dict[str, Any] = {"domain": parts.domain.upper()}
        if "message_id" in meta:
            message["messageId"] = meta["message_id"]
        if open_meta := _open_meta(parts, meta, extra):
            message["meta"] = open_meta
        if parts.event != "done":
            role = {"role": "assistant"} if parts.domain == "llm" else {}
            message["payload"] = {
                "conversation_id": self._conversation_id,
                **role,
                **_extra_payload(extra),
                **parts.payload,
            }
        message["protocol"] = "aiflowy-chat"
        if parts.event == "error":
            message["payload"] |= {"code": "SYSTEM_ERROR", "detail": {"code": parts.payload["code"]}}
        if parts.event != "done":
            message["type"] = parts.type.upper()
        return {**message, "version": "1.1"}

    def _next_index(self, message_id: str) -> int:
        if message_id != self._message_id:
            self._turn_to(message_id)
        self._index += 1
        return self._index - 1

    def _turn_to(self, message_id: str) -> None:
        """Make `message_id` the message whose pieces are counted."""
        self._indexes.add(self._message_id, self._index)
        self._message_id, self._index = message_id, self._indexes.get(message_id) or 0


def _open_meta(parts: _Parts, meta: Meta, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the envelope's `meta`: ids and durations without a field of their own."""
    given = extra.get("meta")
    ids = {name: meta[name] for name in (*META_IDS, "duration_ms") if name in meta}
    return {**(given if isinstance(given, dict) else {}), **ids, **parts.meta}


def _extra_payload(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if name != "meta"}


def _summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    names = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")
    return {**{name: summary.get(name) for name in names}, "latency_ms": summary.get("duration_ms")}


def _tool(event: ToolCallStart | ToolCallEnd | ToolCallProgress) -> _Parts:
    match event:
        case ToolCallStart():
            call = {"tool_call_id": event.tool_id, "name": event.tool_name, "arguments": event.arguments}
            return _Parts("tool", "tool_call", {**call, **present(description=event.description)})
        case ToolCallProgress():
            progress = {"progress": event.progress, **present(message=event.message)}
            return _Parts("tool", "tool_progress", {"tool_call_id": event.tool_id, **progress})
    result = {"tool_call_id": event.tool_id, "status": "success", "result": event.result}
    if event.error:
        reason = dict(event.error)
        result |= {"status": "error", "result": reason if event.result is None else event.result}
        if event.result != reason:
            result["error"] = reason
    return _Parts("tool", "tool_result", result)


def _step(event: Status) -> _Parts:
    node_id = (event.meta or {}).get("node_id") or event.name
    if event.scope not in SCOPES and node_id:
        detail = event.detail if isinstance(event.detail, dict) else present(detail=event.detail)
        own = present(node_id=node_id, state=_STEP_WORDS.get(event.state, event.state), name=event.name)
        return _Parts("workflow", "status", {**detail, **own})
    scope = event.scope if event.scope in SCOPES else "workflow"
    return _Parts("workflow", scope, present(state=event.state, name=event.name, detail=event.detail))


def _error(event: Error) -> _Parts:
    """Return the message of an error. It is a business error if the stream goes on, else a system error."""
    payload = {
        "code": event.code,
        "message": event.message,
        "retryable": event.recoverable,
        **present(retry_after_ms=event.retry_after_ms, detail=event.details),
    }
    if not event.terminal:
        return _Parts("business", "error", payload)
    return _Parts("business" if event.error_type == "validation" else "system", "error", payload, "error")


def _other(event: Event) -> _Parts:
    match event:
        case Warning(message=message, message_code=code, detail=detail):
            return _Parts("system", "warning", {"message": message, **present(code=code, detail=detail)})
        case Reference(citations=citations):
            return _Parts("llm", "reference", {"citations": citations})
        case Interaction():
            return _interaction(event)
        case Data(data_type="custom", data={"name": str(name), "value": dict(value)}) if (
            own := _OWN_NAME.fullmatch(name)
        ):
            return _Parts(own[1], own[2], value)
    return _Parts("business", "data", wire_data(event))


def _interaction(event: Interaction) -> _Parts:
    """Return the message of a question. EasyFlow has one form; other kinds are named in an extra field."""
    fields = wire_data(event)
    for name in ("interaction_id", "kind", "state"):
        del fields[name]
    kind: str = event.kind
    if kind in _FORMS:
        if event.state == "requested":
            fields["schema"] = form_schema(event)
            fields["title"] = event.title or question_text(event).partition("\n")[0]
        if kind != "form":
            fields["kind"] = kind
        kind = "form"
    if isinstance(event.resume, dict) and event.resume.keys() == {"form_id", "conversation_id"}:
        del fields["resume"]
    word = f"{kind}_{_INTERACTION_WORDS[event.state]}"
    return _Parts("interaction", word, {"form_id": event.interaction_id, **fields})
