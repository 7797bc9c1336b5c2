"""Reads the steps of a workflow: its nodes, their iterations, and the log of an agent within a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, meta_of, milliseconds, object_in, text_of
from streamweir.events import Event, Meta, Scope, State, Status

__all__ = ["STEPS", "step"]

STEPS: Final[Mapping[str, tuple[Scope, State]]] = {
    "node_started": ("node", "started"),
    "node_finished": ("node", "finished"),
    "node_retry": ("node", "running"),
    "iteration_started": ("phase", "started"),
    "iteration_next": ("phase", "running"),
    "iteration_completed": ("phase", "finished"),
    "loop_started": ("phase", "started"),
    "loop_next": ("phase", "running"),
    "loop_completed": ("phase", "finished"),
    "parallel_branch_started": ("phase", "started"),
    "parallel_branch_finished": ("phase", "finished"),
    "agent_log": ("phase", "running"),
}
_FAILED: Final = ("failed", "exception", "error")
_LOG: Final[Mapping[str, State]] = {"start": "started", "success": "finished"}
_KNOWN: Final = (
    *("id", "node_id", "node_type", "title", "label", "status", "error", "elapsed_time", "index"),
    *("inputs", "process_data", "outputs", "execution_metadata", "metadata", "data", "node_execution_id"),
    *("created_at", "finished_at", "predecessor_node_id", "extras", "files", "steps", "created_by"),
    *("inputs_truncated", "process_data_truncated", "outputs_truncated", "parent_id", "message_id"),
)
_FIELDS: Final = (
    *("event", "task_id", "id", "message_id", "conversation_id", "workflow_run_id", "created_at", "data"),
)


def step(name: str, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield the status of a step. Its inputs and outputs are left out, because they may be a prompt."""
    data = object_in(fields, "data")
    scope, state = STEPS[name]
    status = text_of(data.get("status"))
    if name == "agent_log":
        state = _LOG.get(status, state)
    if status in _FAILED or (data.get("error") and name != "node_retry"):
        state = "failed"
    node_id = text_of(data.get("node_id"))
    title = text_of(data.get("title") or data.get("label")) or node_id
    duration = milliseconds(data.get("elapsed_time"), scale=1000)
    found = meta_of(**{**(meta or {}), "node_id": node_id, "node_name": title, "duration_ms": duration})
    rest = {**(leftover(fields, _FIELDS) or {}), **(leftover(data, _KNOWN) or {})}
    detail = {name: data[name] for name in ("node_type", "error", "index") if data.get(name) is not None}
    yield Status(scope, state, title or None, detail or None, meta=and_extra(found, rest))
