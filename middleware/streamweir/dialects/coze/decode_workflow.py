"""Reads the run of a Coze workflow (`/v1/workflow/stream_run`): messages of its nodes, questions, the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import (
    and_extra,
    custom,
    leftover,
    meta_of,
    named_data,
    object_in,
    text_of,
)
from streamweir.events import Content, Event, Interaction, Meta
from streamweir.optional_json import json_object

__all__ = ["WORKFLOW_EVENTS", "WorkflowRun", "workflow_score"]

WORKFLOW_EVENTS: Final = frozenset({"Message", "Interrupt", "Done", "PING"})
"""The names of the events of a run, besides `Error`."""

_MESSAGE: Final = (
    *("content", "content_type", "node_title", "node_id", "node_execute_uuid", "node_type"),
    *("node_seq_id", "node_is_finish", "usage", "cost", "token"),
)
_INTERRUPT: Final = ("event_id", "type", "data", "required_parameters")
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "object", "array"})


def workflow_score(event: str | None, fields: Mapping[str, Any]) -> float:
    """Return the probability that a message is of the run of a workflow."""
    match event, fields:
        case "Message", {"content": _, "node_is_finish": bool()}:
            return 0.95
        case "Interrupt", {"interrupt_data": dict()}:
            return 0.95
        case "Error", {"error_code": int(), "error_message": _}:
            return 0.9
    return 0.0


class WorkflowRun:
    """Reads the events of one run.

    Attributes:
        is_over: whether the run has ended, or waits for a person.
        waits: whether the run waits for a person.
    """

    def __init__(self) -> None:
        self.is_over = self.waits = False
        self._has_text = False

    def read(self, name: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a message whose name is one of `WORKFLOW_EVENTS`."""
        match name:
            case "Message":
                yield from self._message(fields)
            case "Interrupt":
                self.is_over = self.waits = True
                yield from _question(fields)
            case "Done":
                self.is_over = True
                if rest := leftover(fields, ()):
                    yield custom("Done", rest)

    def _message(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the text of a node. A node that returns variables sends them whole, as an object of JSON."""
        text, is_last = text_of(fields.get("content")), fields.get("node_is_finish") is True
        rest = leftover(fields, _MESSAGE)
        meta = and_extra(_meta(fields), {name: value for name, value in (rest or {}).items() if value != {}})
        is_whole = is_last and text_of(fields.get("node_seq_id")) == "0"
        if is_whole and (values := json_object(text)) is not None:
            yield self._outputs(values, meta)
            return
        self._has_text = self._has_text or bool(text)
        ends = is_last and meta is not None and "message_id" in meta
        if text or ends or rest:
            yield Content(text, is_complete=True if ends else None, meta=meta)

    def _outputs(self, values: dict[str, Any], meta: Meta | None) -> Event:
        """Return the event of variables; a single text is the answer if no text has arrived."""
        match [*values.values()]:
            case [str(text)] if not self._has_text:
                self._has_text = True
                return Content(text, meta=meta)
        return named_data("outputs", values, meta)


def _question(fields: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the question for which the run waits. The text of the question is in the message before it."""
    asked = object_in(fields, "interrupt_data")
    event_id, title = text_of(asked.get("event_id")), text_of(fields.get("node_title"))
    resume = {"event_id": event_id, "interrupt_type": asked.get("type")}
    rest = {
        **(leftover(asked, _INTERRUPT) or {}),
        **(leftover(fields, ("interrupt_data", "node_title", "node_id", "node_execute_uuid")) or {}),
    }
    meta = and_extra(_meta(fields), rest)
    given = {name: asked[name] for name in ("data", "required_parameters") if asked.get(name)} or None
    parameters = object_in(asked, "required_parameters")
    if parameters:
        schema = _schema(parameters)
        yield Interaction(event_id, "form", title=title, schema=schema, ui=given, resume=resume, meta=meta)
    else:
        questions: list[dict[str, Any]] = [{"text": title, "response_type": "free_text"}]
        yield Interaction(event_id, "questions", questions=questions, ui=given, resume=resume, meta=meta)


def _schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the variables that a run asks for."""
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in parameters.items():
        described = parameter if isinstance(parameter, dict) else {}
        kind, text = text_of(described.get("type")), text_of(described.get("description"))
        properties[name] = {"type": kind if kind in _TYPES else "string"}
        if text:
            properties[name]["description"] = text
        if described.get("required") is True:
            required.append(name)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _meta(fields: Mapping[str, Any]) -> Meta | None:
    return meta_of(
        message_id=fields.get("node_execute_uuid"),
        node_id=fields.get("node_id"),
        node_name=fields.get("node_title"),
    )
