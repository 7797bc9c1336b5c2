"""Builds one event from fields that have been evaluated and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import upstream_error
from streamweir.codec.mapped.event_fields import TEXT_MODES
from streamweir.codec.mapped.read_scope import ReadScope
from streamweir.codec.standard_shapes import structured
from streamweir.errors import MalformedEvent
from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)

__all__ = ["BUILDERS", "Build"]

Fields = dict[str, Any]
Build = Callable[[Fields, Meta | None, ReadScope], Event | None]
"""Makes an event from the fields that are not null, the metadata, and the state of the stream."""


def _session_start(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    session_id = fields.get("session_id")
    if session_id is None:
        return SessionStart(meta=meta)
    return SessionStart(session_id, meta={**(meta or {}), "session_id": session_id})


def _content(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event | None:
    fields["whole"] = TEXT_MODES[fields.pop("text", "delta")]
    return Content(**fields, meta=meta) if fields["content"] or "is_complete" in fields else None


def _thinking(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event | None:
    fields["whole"] = TEXT_MODES[fields.pop("text", "delta")]
    return Thinking(**fields, meta=meta) if fields["content"] else None


def _tool_call_start(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    return ToolCallStart(
        fields.get("tool_id", ""),
        fields.get("tool_name") or "unknown",
        fields.get("description"),
        fields.get("arguments", {}),
        meta=meta,
    )


def _tool_call_delta(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    return ToolCallDelta(
        fields.get("tool_id", ""),
        fields.get("tool_name") or None,
        fields["arguments_delta"],
        fields.get("index"),
        meta=meta,
    )


def _tool_call_progress(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    return ToolCallProgress(
        fields.get("tool_id", ""),
        fields.get("progress"),
        fields.get("message"),
        fields.get("tool_name") or None,
        meta=meta,
    )


def _tool_call_end(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    """Return the end of a call. The call has failed if the fields have an error and no other status."""
    error = fields.get("error")
    status: Any = fields.get("status") or ("success" if error is None else "failed")
    return ToolCallEnd(
        fields.get("tool_id", ""),
        status,
        fields.get("result"),
        error if status == "failed" else None,
        fields.get("tool_name") or None,
        fields.get("for_users"),
        meta=meta,
    )


def _data(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    fitting = structured(fields["data_type"], fields["data"])
    if fitting is None:
        raise MalformedEvent(f"data is no {fields['data_type']}")
    return Data(fields["data_type"], fitting[0], fields.get("metadata"), meta=meta)


def _interaction(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    return Interaction(fields.pop("interaction_id", ""), **fields, meta=meta)


def _error(fields: Fields, meta: Meta | None, _scope: ReadScope) -> Event:
    """Return an error that is classified by the upstream's fields; the rule's own fields have priority."""
    event = upstream_error(
        fields.get("message"),
        code=fields.get("code"),
        status=fields.get("http_status"),
        recoverable=fields.get("recoverable"),
        terminal=fields.get("terminal", True),
        for_users=fields.get("for_users"),
        details=fields.get("details"),
        meta=meta,
    )
    names = ("error_type", "retry_after_ms", "message_code", "message_params")
    own = {name: fields[name] for name in names if name in fields}
    return msgspec.structs.replace(event, **own) if own else event


def _session_end(fields: Fields, meta: Meta | None, scope: ReadScope) -> Event:
    summary = {**scope.usage, **fields.get("summary", {})}
    return SessionEnd(fields.get("status", "completed"), summary=summary or None, meta=meta)


def _usage(fields: Fields, _meta: Meta | None, scope: ReadScope) -> None:
    scope.usage.update(fields)


def _complete(_fields: Fields, _meta: Meta | None, scope: ReadScope) -> None:
    scope.complete = True


BUILDERS: Final[Mapping[str, Build]] = {
    "session_start": _session_start,
    "content": _content,
    "thinking": _thinking,
    "tool_call_start": _tool_call_start,
    "tool_call_delta": _tool_call_delta,
    "tool_call_progress": _tool_call_progress,
    "tool_call_end": _tool_call_end,
    "data": _data,
    "reference": lambda fields, meta, _: Reference(**fields, meta=meta),
    "status": lambda fields, meta, _: Status(**fields, meta=meta),
    "warning": lambda fields, meta, _: Warning(**fields, meta=meta),
    "interaction": _interaction,
    "error": _error,
    "session_end": _session_end,
    "usage": _usage,
    "complete": _complete,
}
"""The builder for each type of entry."""
