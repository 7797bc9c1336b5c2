"""Reads messages of the standard protocol. Their fields may hold values of any type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, get_args

from streamweir.classification import is_overload
from streamweir.codec.coerce import (
    and_extra,
    arguments,
    custom,
    leftover,
    message_params,
    meta_of,
    milliseconds,
    text_of,
)
from streamweir.codec.standard_shapes import citations, is_opaque, questions, structured
from streamweir.errors import CODES, Reason
from streamweir.events import (
    EVENT_TYPES,
    META_IDS,
    META_TIMES,
    WIRE_FIELDS,
    Content,
    Data,
    DataType,
    Error,
    Event,
    Interaction,
    Meta,
    Opaque,
    Reference,
    Scope,
    SessionEnd,
    SessionStart,
    State,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    ToolError,
    Warning,
)

__all__ = ["is_standard", "read_standard"]

_OURS: Final = frozenset({"request_id", "timestamp", "sequence", "source", "extra", *META_TIMES})
_STAMP: Final = frozenset({"request_id", "timestamp", "sequence"})
_ENVELOPE: Final = frozenset({"type", "data", "metadata"})

_FIELDS: Final = {kind: frozenset(WIRE_FIELDS[cls]) for kind, cls in EVENT_TYPES.items()}

_DATA_TYPES: Final = get_args(DataType)
_SCOPES: Final = get_args(Scope)
_STATES: Final = get_args(State)
_REASONS: Final = get_args(Reason)
_STAGES: Final = ("reasoning", "planning", "analyzing")
_FORMATS: Final = ("markdown", "text", "html")
_ENDS: Final = {
    **{status: status for status in ("completed", "error", "cancelled", "suspended")},
    "failed": "error",
    "failure": "error",
    "canceled": "cancelled",
}
_FAILED: Final = ("failed", "failure", "error")
_ASKING: Final = ("requested", "cancelled", "resolved")
_WORDS: Final[dict[str, dict[str, Collection[str]]]] = {
    "thinking": {"stage": _STAGES},
    "content": {"format": _FORMATS, "op": ("append", "replace")},
    "tool_call_end": {"status": ("success", *_FAILED)},
    "interaction": {"state": _ASKING},
    "session_end": {"status": (*_ENDS,), "reason": _REASONS},
}
"""The fields that hold one of a few words, with these words. Another word is kept under `extra`."""

_DATA_OPTIONAL: Final = frozenset({"session_start", "session_end"})
_KINDS: Final = ("form", "questions", "approval", "tool", "handoff", "continue")


def is_standard(message: Mapping[str, Any]) -> bool:
    """Return whether `message` has the standard's shape. Older vocabularies share some of its names."""
    kind = message.get("type")
    return (
        isinstance(kind, str)
        and kind in EVENT_TYPES
        and isinstance(message.get("data"), dict)
        and isinstance(message.get("metadata"), dict)
    )


def read_standard(message: Mapping[str, Any]) -> Event:
    """Return the event of a standard message, whose fields may hold values of any type."""
    kind = message["type"]
    read = _READERS.get(kind)
    data = message.get("data")
    if data is None and kind in _DATA_OPTIONAL:
        data = {}
    if read is None or not isinstance(data, dict):
        beside = leftover(message, _ENVELOPE)
        if data is None:
            return custom(kind, beside, _meta(message.get("metadata"), None))
        return custom(kind, data, _meta(message.get("metadata"), beside))
    unknown = _unknown(kind, data)
    if len(message) != 3 or "metadata" not in message:
        unknown = {**(leftover(message, _ENVELOPE) or {}), **(unknown or {})}
    return read(data, _meta(message.get("metadata"), unknown))


def _unknown(kind: str, data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a standard event that are not part of the standard."""
    if kind == "content" and len(data) == 1 and "content" in data:  # nearly every event
        return None
    fields = _FIELDS[kind]
    unknown = None if data.keys() <= fields else leftover(data, fields)
    if data.get("opaque") and "opaque" in fields and not is_opaque(data["opaque"]):
        unknown = {**(unknown or {}), "opaque": data["opaque"]}
    for name, words in _WORDS.get(kind, {}).items():
        if data.get(name) and data[name] not in words:
            unknown = {**(unknown or {}), name: data[name]}
    if (
        kind == "tool_call_progress"
        and data.get("progress") is not None
        and _fraction(data["progress"]) is None
    ):
        unknown = {**(unknown or {}), "progress": data["progress"]}
    return unknown


def _meta(metadata: Any, unknown: dict[str, Any] | None) -> Meta | None:
    if not isinstance(metadata, dict):
        return meta_of(extra={**(unknown or {}), "metadata": metadata} if metadata else unknown)
    if unknown is None and metadata.keys() <= _STAMP:
        return None
    extra = metadata.get("extra")
    foreign = leftover(metadata, {*META_IDS, *_OURS}) or {}
    return meta_of(
        **{key: metadata[key] for key in META_IDS if key in metadata},
        duration_ms=milliseconds(metadata.get("duration_ms")),
        upstream_time=milliseconds(metadata.get("upstream_time")),
        extra={**(unknown or {}), **foreign, **(extra if isinstance(extra, dict) else {})},
    )


def _one_of(value: Any, allowed: Iterable[str]) -> Any:
    return value if isinstance(value, str) and value in allowed else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _session_start(data: dict[str, Any], meta: Meta | None) -> Event:
    return SessionStart(session_id=_text(data.get("session_id")), meta=meta)


def _opaque(data: dict[str, Any]) -> Opaque | None:
    value = data.get("opaque")
    return value if is_opaque(value) else None


def _thinking(data: dict[str, Any], meta: Meta | None) -> Event:
    stage = _one_of(data.get("stage"), _STAGES)
    return Thinking(text_of(data.get("content")), stage, opaque=_opaque(data), meta=meta)


def _tool_call_start(data: dict[str, Any], meta: Meta | None) -> Event:
    return ToolCallStart(
        tool_id=text_of(data.get("tool_id")),
        tool_name=text_of(data.get("tool_name")) or "unknown",
        description=_text(data.get("description")),
        arguments=arguments(data.get("arguments")),
        opaque=_opaque(data),
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
    """Return progress from 0 to 1. Version 1.0 had no unit, so a value above 1 is read as per cent."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return value / 100 if value > 1 else value


def _tool_call_end(data: dict[str, Any], meta: Meta | None) -> Event:
    status, error = data.get("status"), data.get("error")
    failed = status in _FAILED or (bool(error) and status is None)
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
    text = data.get("content")
    if len(data) == 1 and isinstance(text, str):
        return Content(text, meta=meta)
    return Content(
        text_of(text),
        _one_of(data.get("format"), _FORMATS),
        True if data.get("is_complete") is True else None,
        "replace" if data.get("op") == "replace" else None,
        _text(data.get("channel")),
        opaque=_opaque(data),
        meta=meta,
    )


def _data(data: dict[str, Any], meta: Meta | None) -> Event:
    kind, value = data.get("data_type"), data.get("data")
    fitting = structured(kind, value) if isinstance(kind, str) and kind in _DATA_TYPES else None
    if fitting is None:
        return custom(text_of(kind) or "data", value, meta)
    value, rest = fitting
    return Data(_one_of(kind, _DATA_TYPES), value, _object(data.get("metadata")), meta=and_extra(meta, rest))


def _reference(data: dict[str, Any], meta: Meta | None) -> Event:
    fitting, rest = citations(data.get("citations"))
    return Reference(fitting, meta=and_extra(meta, rest))


def _status(data: dict[str, Any], meta: Meta | None) -> Event:
    scope, state = _one_of(data.get("scope"), _SCOPES), _one_of(data.get("state"), _STATES)
    if scope is None or state is None:
        return custom("status", data, meta)
    return Status(scope, state, _text(data.get("name")), data.get("detail"), meta=meta)


def _warning(data: dict[str, Any], meta: Meta | None) -> Event:
    return Warning(
        message=text_of(data.get("message")),
        message_code=_text(data.get("message_code")),
        message_params=message_params(data.get("message_params")),
        detail=data.get("detail"),
        meta=meta,
    )


def _interaction(data: dict[str, Any], meta: Meta | None) -> Event:
    kind = _one_of(data.get("kind"), _KINDS)
    if kind is None:
        return custom("interaction", data, meta)
    asked, rest = questions(data.get("questions"))
    return Interaction(
        interaction_id=text_of(data.get("interaction_id")) or kind,
        kind=kind,
        state=_one_of(data.get("state"), _ASKING) or "requested",
        title=_text(data.get("title")),
        description=_text(data.get("description")),
        schema=_object(data.get("schema")),
        ui=_object(data.get("ui")),
        questions=asked,
        resume=_object(data.get("resume")),
        meta=and_extra(meta, rest),
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
        message_code=_text(data.get("message_code")),
        message_params=message_params(data.get("message_params")),
        terminal=terminal if isinstance(terminal, bool) else not recoverable,
        retry_after_ms=milliseconds(data.get("retry_after_ms")),
        details=data.get("details"),
        reason=row.reason,
        is_overload=is_overload(code) or None,
        meta=meta,
    )


def _session_end(data: dict[str, Any], meta: Meta | None) -> Event:
    status: Any = _ENDS.get(text_of(data.get("status")), "completed")
    summary = data.get("summary")
    rest = None if isinstance(summary, dict) or summary is None else {"summary": summary}
    return SessionEnd(
        status, _one_of(data.get("reason"), _REASONS), _object(summary), meta=and_extra(meta, rest)
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
