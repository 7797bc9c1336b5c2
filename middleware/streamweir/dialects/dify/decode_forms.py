"""Reads forms: a workflow waits until a person has filled in the form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from streamweir.codec.coerce import and_extra, leftover, object_in, objects_in, text_of
from streamweir.events import Event, Interaction, Meta

__all__ = ["form", "form_state"]

_STATES: Final[Mapping[str, Literal["resolved", "cancelled"]]] = {
    "human_input_form_filled": "resolved",
    "human_input_form_timeout": "cancelled",
}
_ANSWER: Final = ("form_token", "form_id", "node_id")
_EVENT: Final = (
    *("event", "task_id", "id", "message_id", "conversation_id", "workflow_run_id", "created_at", "data"),
)
_FORM: Final = (*_ANSWER, "node_title", "form_content", "inputs", "actions", "resolved_default_values")


def form(fields: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return a form for a person, with the values by which the server recognises the answer."""
    data = object_in(fields, "data")
    resume = {name: data[name] for name in _ANSWER if data.get(name)}
    if run := fields.get("workflow_run_id"):
        resume["workflow_run_id"] = run
    ui = {"actions": data.get("actions"), **(leftover(data, _FORM) or {})}
    return Interaction(
        _id(data),
        "form",
        title=text_of(data.get("node_title")) or None,
        description=text_of(data.get("form_content")) or None,
        schema=_schema(data.get("inputs"), object_in(data, "resolved_default_values")),
        ui={name: value for name, value in ui.items() if value} or None,
        resume=resume,
        meta=and_extra(meta, leftover(fields, _EVENT)),
    )


def form_state(fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield the event for a form that the workflow no longer waits for."""
    state = _STATES[fields["event"]]
    yield Interaction(_id(object_in(fields, "data")), "form", state, meta=meta)


def _id(data: Mapping[str, Any]) -> str:
    return text_of(data.get("form_id") or data.get("node_id")) or "form"


def _schema(inputs: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the form, whose fields are all texts."""
    properties: dict[str, Any] = {}
    for field in objects_in(inputs):
        if name := text_of(field.get("output_variable_name")):
            properties[name] = {"type": "string"}
            if name in defaults:
                properties[name]["default"] = defaults[name]
    return {"type": "object", "properties": properties}
