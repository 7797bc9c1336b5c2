"""Reads the steps and groups of steps of a workflow, and the phases of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_in, text_of
from streamweir.dialects.agno.decode_place import COMMON, Place
from streamweir.dialects.agno.shared_names import BLOCKS, PHASES, STEPS
from streamweir.events import Event, Scope, State, Status

__all__ = ["block", "failure_of", "phase", "results_of", "step", "step_status"]

_STEP: Final = (
    *(*COMMON, "error", "content", "data", "attempt", "executor_requirements", "user_input_schema"),
    *("executor_id", "executor_name", "executor_run_id", "executor_type", "requires_confirmation"),
    *("requires_user_input", "requires_output_review", "status"),
)
_BLOCK: Final = (*COMMON, "step_results", "iteration_results", "all_results", "user_input_schema")
_PHASE: Final = (*COMMON, "run_input", "content", "tools", "messages", "metrics", "extra_data", "images")


def phase(name: str, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the status of a phase of a run."""
    label, state = PHASES[name]
    yield Status("phase", state, label, meta=and_extra(place.meta, leftover(fields, _PHASE)))


def block(name: str, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the status of a group of steps."""
    detail = {key: value for key, value in (leftover(fields, _BLOCK) or {}).items() if value != []}
    yield _status("phase", BLOCKS[name], fields, place, detail)


def step(name: str, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
    """Yield the status of a step."""
    keys = ("content", "data", "attempt", "error") if name in ("StepProgress", "StepError") else ()
    detail = {key: fields[key] for key in keys if fields.get(key)}
    detail |= leftover(fields, _STEP) or {}
    yield _status("node", STEPS[name], fields, place, detail)


def step_status(state: State, fields: Mapping[str, Any], place: Place, failure: str | None = None) -> Status:
    """Return the status of a step, with the reason if the step has failed."""
    return _status("node", state, fields, place, {"error": failure} if failure else {})


def failure_of(output: Mapping[str, Any]) -> str | None:
    """Return the reason why a step has failed; None if its output is a result."""
    error = text_of(output.get("error"))
    return error if error and output.get("success") is False else None


def results_of(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results of a workflow's steps, in their order."""
    results = fields.get("step_results")
    return [item for item in results if isinstance(item, dict)] if isinstance(results, list) else []


def _status(
    scope: Scope, state: State, fields: Mapping[str, Any], place: Place, detail: Mapping[str, Any]
) -> Status:
    name = text_in(fields, "step_name", "workflow_name") or None
    return Status(scope, state, name, dict(detail) or None, meta=place.meta)
