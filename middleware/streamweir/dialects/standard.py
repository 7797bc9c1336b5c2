"""The standard agent-event protocol 1.1, and 1.0 when reading.

Source: the standard protocol 1.1, sections 1, 2 and 4.
Intended differences: foreign streams are repaired, not refused: ids, sequence and timestamps are ours; a value
of a wrong type is dropped or made to fit; unknown types become `custom`. A 1.0 error has no `terminal`: one
that is not recoverable ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_args

from streamweir.dialects.base import Decoder, Encoder
from streamweir.dialects.evidence import best_score
from streamweir.dialects.reading import arguments, custom, leftover, meta_of, milliseconds, text_of
from streamweir.errors import CODES, Reason
from streamweir.events import (
    EVENT_TYPES,
    Content,
    Data,
    DataType,
    Error,
    Event,
    Interaction,
    Meta,
    Reference,
    Scope,
    SessionEnd,
    SessionStart,
    Stamp,
    State,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    ToolError,
    Warning,
    wire_data,
)
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["DECODER", "ENCODER", "StandardDecoder", "StandardEncoder", "is_standard", "read_standard"]

_OURS: Final = frozenset({"request_id", "timestamp", "sequence", "source", "extra", "duration_ms"})
_IDS: Final = tuple(name for name in Meta.__annotations__ if name not in ("extra", "source", "duration_ms"))
_KINDS: Final = ("form", "questions", "approval", "tool", "handoff", "continue")


class StandardDecoder(Decoder):
    """Reads the standard protocol, SSE or NDJSON."""

    framing = "auto"
    errors_for_users = True

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Sure of an object with a known `type`, `data` and `metadata`."""
        return best_score(head, lambda message, _: 1.0 if is_standard(message) else 0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the event that `frame` holds; an end of the session ends the stream."""
        if not frame.data or frame.data == b"[DONE]":
            return ()
        message = frame.json()
        if isinstance(message, dict) and isinstance(message.get("type"), str):
            return (read_standard(message),)
        return (custom("message", message),)


class StandardEncoder(Encoder):
    """Writes the standard protocol.

    Options:
        version: `1.0` for clients that do not know `op: replace`.
    """

    framings = ("sse", "ndjson")
    option_values = {"version": ("1.1", "1.0")}

    @property
    def can_replace(self) -> bool:
        """Clients of 1.0 would append a replacement."""
        return self.option("version") != "1.0"

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the one frame that is `event`."""
        metadata: dict[str, Any] = {
            "request_id": stamp.request_id,
            "timestamp": stamp.timestamp,
            "sequence": stamp.sequence,
        }
        if event.meta:
            metadata.update(event.meta)
        message = {"type": event.type, "data": wire_data(event), "metadata": metadata}
        return (Frame(write_json(message), None, str(stamp.sequence)),)


def is_standard(message: Mapping[str, Any]) -> bool:
    """Has `message` the shape of the standard protocol? Shape, not name, tells it from older vocabularies."""
    kind = message.get("type")
    return (
        isinstance(kind, str)
        and kind in EVENT_TYPES
        and isinstance(message.get("data"), dict)
        and isinstance(message.get("metadata"), dict)
    )


def read_standard(message: Mapping[str, Any]) -> Event:
    """Return the event that a standard message means; whatever its fields hold."""
    kind = message["type"]
    read = _READERS.get(kind)
    data = message.get("data")
    if read is None or not isinstance(data, dict):
        value = data if data is not None else leftover(message, ("type", "metadata"))
        return custom(kind, value, _meta(message.get("metadata"), None))
    known = EVENT_TYPES[kind].__struct_fields__
    return read(data, _meta(message.get("metadata"), leftover(data, known)))


def _meta(metadata: Any, unknown: dict[str, Any] | None) -> Meta | None:
    if not isinstance(metadata, dict):
        return meta_of(extra=unknown)
    extra = metadata.get("extra")
    foreign = {key: value for key, value in metadata.items() if key not in _IDS and key not in _OURS}
    return meta_of(
        **{key: metadata[key] for key in _IDS if key in metadata},
        duration_ms=milliseconds(metadata.get("duration_ms")),
        extra={**(unknown or {}), **foreign, **(extra if isinstance(extra, dict) else {})},
    )


def _one_of(value: Any, allowed: Iterable[str]) -> Any:
    return value if isinstance(value, str) and value in allowed else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _session_start(data: dict[str, Any], meta: Meta | None) -> Event:
    return SessionStart(session_id=_text(data.get("session_id")), meta=meta)


def _thinking(data: dict[str, Any], meta: Meta | None) -> Event:
    stage = _one_of(data.get("stage"), ("reasoning", "planning", "analyzing"))
    return Thinking(text_of(data.get("content")), stage, meta=meta)


def _tool_call_start(data: dict[str, Any], meta: Meta | None) -> Event:
    return ToolCallStart(
        tool_id=text_of(data.get("tool_id")),
        tool_name=text_of(data.get("tool_name")) or "unknown",
        description=_text(data.get("description")),
        arguments=arguments(data.get("arguments")),
        meta=meta,
    )


def _tool_call_delta(data: dict[str, Any], meta: Meta | None) -> Event:
    return ToolCallDelta(
        tool_id=text_of(data.get("tool_id")),
        tool_name=_text(data.get("tool_name")),
        arguments_delta=text_of(data.get("arguments_delta")),
        meta=meta,
    )


def _tool_call_progress(data: dict[str, Any], meta: Meta | None) -> Event:
    return ToolCallProgress(
        tool_id=text_of(data.get("tool_id")),
        progress=_fraction(data.get("progress")),
        message=_text(data.get("message")),
        meta=meta,
    )


def _fraction(value: Any) -> float | None:
    """Progress as 0..1; 1.0 left the unit open, so what is over 1 is per cent."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return value / 100 if value > 1 else value


def _tool_call_end(data: dict[str, Any], meta: Meta | None) -> Event:
    failed = data.get("status") in ("failed", "error")
    error = data.get("error")
    return ToolCallEnd(
        tool_id=text_of(data.get("tool_id")),
        status="failed" if failed else "success",
        result=data.get("result"),
        error=_tool_error(error) if failed else None,
        meta=meta,
    )


def _tool_error(error: Any) -> ToolError:
    if isinstance(error, dict):
        return ToolError(
            code=text_of(error.get("code")) or "TOOL_FAILED", message=text_of(error.get("message"))
        )
    return ToolError(code="TOOL_FAILED", message=text_of(error))


def _content(data: dict[str, Any], meta: Meta | None) -> Event:
    return Content(
        text_of(data.get("content")),
        _one_of(data.get("format"), ("markdown", "text", "html")),
        True if data.get("is_complete") is True else None,
        "replace" if data.get("op") == "replace" else None,
        _text(data.get("channel")),
        meta=meta,
    )


def _data(data: dict[str, Any], meta: Meta | None) -> Event:
    kind, value = data.get("data_type"), data.get("data")
    if kind not in get_args(DataType) or not isinstance(value, dict | list):
        return custom(text_of(kind) or "data", value, meta)
    if isinstance(value, list) != (kind == "state_delta"):
        return custom(kind, value, meta)
    if kind == "custom":
        value = {**value, "name": text_of(value.get("name")) or "custom", "value": value.get("value")}
    return Data(kind, value, _object(data.get("metadata")), meta=meta)


def _reference(data: dict[str, Any], meta: Meta | None) -> Event:
    return Reference(_objects(data.get("citations")), meta=meta)


def _status(data: dict[str, Any], meta: Meta | None) -> Event:
    scope, state = _one_of(data.get("scope"), get_args(Scope)), _one_of(data.get("state"), get_args(State))
    if scope is None or state is None:
        return custom("status", data, meta)
    return Status(scope, state, _text(data.get("name")), data.get("detail"), meta=meta)


def _warning(data: dict[str, Any], meta: Meta | None) -> Event:
    return Warning(
        text_of(data.get("message")), _text(data.get("message_code")), data.get("detail"), meta=meta
    )


def _interaction(data: dict[str, Any], meta: Meta | None) -> Event:
    kind = _one_of(data.get("kind"), _KINDS)
    if kind is None:
        return custom("interaction", data, meta)
    questions = data.get("questions")
    return Interaction(
        interaction_id=text_of(data.get("interaction_id")) or kind,
        kind=kind,
        state=_one_of(data.get("state"), ("requested", "cancelled", "resolved")) or "requested",
        title=_text(data.get("title")),
        description=_text(data.get("description")),
        schema=_object(data.get("schema")),
        ui=_object(data.get("ui")),
        questions=_objects(questions) if isinstance(questions, list) else None,
        resume=_object(data.get("resume")),
        meta=meta,
    )


def _error(data: dict[str, Any], meta: Meta | None) -> Event:
    kind = _one_of(data.get("error_type"), ("validation", "execution", "timeout", "system"))
    code = text_of(data.get("code")) or ("UPSTREAM_TIMEOUT" if kind == "timeout" else "UPSTREAM_ERROR")
    row = CODES.get(code, CODES["UPSTREAM_ERROR"])
    recoverable = data.get("recoverable")
    recoverable = recoverable if isinstance(recoverable, bool) else row.recoverable
    terminal = data.get("terminal")
    return Error(
        error_type=kind or row.error_type,
        code=code,
        message=text_of(data.get("message")),
        recoverable=recoverable,
        terminal=terminal if isinstance(terminal, bool) else not recoverable,
        retry_after_ms=milliseconds(data.get("retry_after_ms")),
        details=data.get("details"),
        reason=row.reason,
        meta=meta,
    )


def _session_end(data: dict[str, Any], meta: Meta | None) -> Event:
    return SessionEnd(
        _one_of(data.get("status"), ("completed", "error", "cancelled", "suspended")) or "completed",
        _one_of(data.get("reason"), get_args(Reason)),
        _object(data.get("summary")),
        meta=meta,
    )


_READERS: Final[dict[str, Callable[[dict[str, Any], Meta | None], Event]]] = {
    "session_start": _session_start,
    "thinking": _thinking,
    "tool_call_start": _tool_call_start,
    "tool_call_delta": _tool_call_delta,
    "tool_call_progress": _tool_call_progress,
    "tool_call_end": _tool_call_end,
    "content": _content,
    "data": _data,
    "reference": _reference,
    "status": _status,
    "warning": _warning,
    "interaction": _interaction,
    "error": _error,
    "session_end": _session_end,
}

DECODER = StandardDecoder
ENCODER = StandardEncoder
