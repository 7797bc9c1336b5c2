"""Reads the steps that a framework reports in the metadata of a task's states, because A2A has no tool calls.

Source: agno 3.1 (`os/interfaces/a2a/utils.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, text_of
from streamweir.events import Event, Meta, ToolCallEnd, ToolCallStart

__all__ = ["step_events"]

_STARTED: Final = "tool_call_started"
_COMPLETED: Final = "tool_call_completed"
_KNOWN: Final = ("agno_event_type", "tool_name", "tool_call_id", "tool_args")


def step_events(beside: Mapping[str, Any] | None, meta: Meta | None) -> list[Event]:
    """Return the start or the end of the call in the metadata; an empty list if it holds no call."""
    metadata = (beside or {}).get("metadata")
    kind = metadata.get("agno_event_type") if isinstance(metadata, dict) else None
    if beside is None or not isinstance(metadata, dict) or kind not in (_STARTED, _COMPLETED):
        return []
    tool_id, name = text_of(metadata.get("tool_call_id")), text_of(metadata.get("tool_name"))
    meta = _with(meta, beside, metadata)
    if kind == _STARTED:
        given = arguments(metadata.get("tool_args"))
        return [ToolCallStart(tool_id, name or "tool", arguments=given, meta=meta)]
    return [ToolCallEnd(tool_id, tool_name=name or None, meta=meta)]


def _with(meta: Meta | None, beside: Mapping[str, Any], fields: Mapping[str, Any]) -> Meta | None:
    rest = leftover(fields, _KNOWN)
    return and_extra(
        meta, {**(leftover(beside, ("metadata",)) or {}), **({"metadata": rest} if rest else {})}
    )
