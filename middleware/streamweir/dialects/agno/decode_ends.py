"""Reads the ends of runs, and the states of nested runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, named_data, text_in, text_of, upstream_error
from streamweir.dialects.agno.decode_media import MEDIA
from streamweir.dialects.agno.decode_place import COMMON, Place
from streamweir.dialects.agno.decode_usage import Usage
from streamweir.events import Event, SessionEnd, State, Status

__all__ = ["RUN", "WORKFLOW", "cancelled", "failed", "metadata", "run_status"]

RUN: Final = (
    *(*COMMON, *MEDIA, "content", "reasoning_content", "thinking", "reasoning_steps", "reasoning_messages"),
    *("additional_input", "messages", "metrics", "tools", "requirements", "member_responses", "input"),
    *("session_state", "status", "events", "followups", "metadata", "run_input", "formatted_tool_calls"),
    *("reason", "cancellation_stage", "redacted_thinking"),
)
"""The fields of a run that rules read, and the fields that are never sent: prompts and histories."""

WORKFLOW: Final = (
    *(*RUN, "step_results", "step_executor_runs", "step_requirements", "paused_step_index"),
    *("paused_step_name", "pause_kind", "run_output", "workflow_agent_run"),
)
"""The fields of a workflow that rules read, and the fields that are never sent."""

_FAILURE: Final = (*RUN, "error", "error_type", "error_id", "additional_data")
_CODES: Final = dict.fromkeys(("input_check_error", "output_check_error"), "content_filter")
"""The error code for the name of a failure. Guards refuse the input or the output that they check."""

_OWN_METADATA: Final = ("agent_direct_response",)


def failed(fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the failure of a run. If the run is nested, the outer run continues."""
    kind = text_of(fields.get("error_type"))
    if not place.is_top:
        yield run_status("failed", fields, place)
    yield upstream_error(
        text_in(fields, "content", "error"),
        code=_CODES.get(kind) or text_of(fields.get("error_id")) or None,
        terminal=place.is_top,
        details=leftover({"error_type": kind or None, **(leftover(fields, _FAILURE) or {})}, ()),
        meta=place.meta,
    )


def cancelled(fields: Mapping[str, Any], place: Place, usage: Usage) -> Iterator[Event]:
    """Yield the end of a run that was stopped."""
    rest = leftover(fields, (*WORKFLOW, "is_cancelled"))
    if place.is_top:
        yield SessionEnd("cancelled", summary=usage.summary, meta=and_extra(place.meta, rest))
    else:
        yield run_status("finished", fields, place, {**(rest or {}), "cancelled": True})


def metadata(fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the metadata that an app or the server adds to a run."""
    for name in ("metadata", "followups"):
        value = fields.get(name)
        if isinstance(value, dict):
            value = leftover(value, _OWN_METADATA)
        if value:
            yield named_data(name, value, place.meta)


def run_status(
    state: State, fields: Mapping[str, Any], place: Place, rest: Mapping[str, Any] | None = None
) -> Status:
    """Return the status of a nested run."""
    name = text_in(fields, "agent_name", "team_name", "agent_id", "team_id") or None
    return Status("node", state, name, meta=and_extra(place.meta, rest))
