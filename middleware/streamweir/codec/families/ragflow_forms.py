"""Converts between the form of a run that waits, RAGFlow's `inputs`, and the standard's JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, text_of
from streamweir.codec.questions import form_schema, question_text
from streamweir.events import Interaction, Meta

__all__ = ["asked_by", "interaction"]

UNNAMED: Final = "user_inputs"
"""The id of a form if the server sends neither a component nor a message id."""

_TYPES: Final = {"integer": "integer", "number": "number", "boolean": "boolean", "object": "object"}
"""The input types that are not text; `line`, `paragraph`, `options` and `file` are text."""

_WIDGETS: Final = {kind: name for name, kind in _TYPES.items()}


def interaction(data: Mapping[str, Any], meta: Meta | None) -> Interaction:
    """Return the form in `user_inputs` or `waiting_for_user`."""
    inputs = data.get("inputs")
    fields = {
        key: field if isinstance(field, dict) else {"value": field}
        for key, field in (inputs.items() if isinstance(inputs, dict) else ())
    }
    known: Meta = meta or {}
    ids = {"session_id": known.get("session_id"), "message_id": known.get("message_id")}
    component = text_of(data.get("cpn_id"))
    return Interaction(
        component or known.get("message_id") or UNNAMED,
        "form",
        description=text_of(data.get("tips")) or None,
        schema=_schema(fields),
        ui={key: {"widget": kind} for key, field in fields.items() if (kind := text_of(field.get("type")))}
        or None,
        resume={**(leftover({**ids, **data}, ("tips", "inputs")) or {}), "inputs": fields},
        meta=meta,
    )


def asked_by(event: Interaction, *, message_id: str | None = None) -> dict[str, Any]:
    """Return the data of a `user_inputs` event with the question of `event`."""
    resume = event.resume or {}
    component = None if event.interaction_id in (message_id, UNNAMED) else event.interaction_id
    return {
        **(leftover(resume, ("session_id", "message_id", "inputs")) or {}),
        **({"cpn_id": component} if component else {}),
        "inputs": _inputs_of(event),
        "tips": _tips(event),
    }


def _tips(event: Interaction) -> str:
    """Return the text above the inputs; the whole question if there are no inputs."""
    described = "\n".join(dict.fromkeys(text for text in (event.title, event.description) if text))
    return described or ("" if _inputs_of(event) else question_text(event))


def _inputs_of(event: Interaction) -> dict[str, Any]:
    """Return `inputs` for the question of `event`: the original ones, if it was read from `inputs`."""
    kept = (event.resume or {}).get("inputs")
    if isinstance(kept, dict):
        return kept
    if event.questions is not None:
        return {
            f"question_{number}": _input_of_question(question)
            for number, question in enumerate(event.questions, 1)
        }
    schema = form_schema(event) or {}
    properties, required = schema.get("properties"), schema.get("required")
    return {
        key: _input(key, field, optional=not (isinstance(required, list) and key in required))
        for key, field in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(field, dict)
    }


def _schema(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: _property(field) for key, field in fields.items()},
    }
    required = [key for key, field in fields.items() if not field.get("optional")]
    return {**schema, "required": required} if required else schema


def _property(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input as a property of the schema; a default value must have the type of the input."""
    found: dict[str, Any] = {"type": _TYPES.get(text_of(field.get("type")).lower(), "string")}
    if name := text_of(field.get("name")):
        found["title"] = name
    options = field.get("options")
    if isinstance(options, list) and options:
        found["enum"] = [text_of(_option(option)) for option in options]
    value = field.get("value")
    if isinstance(value, str) == (found["type"] == "string") and value not in (None, ""):
        found["default"] = value
    return found


def _option(option: Any) -> Any:
    """Return the value of an option, which may be an object made for the selection on RAGFlow's page."""
    return option.get("value", option.get("label")) if isinstance(option, dict) else option


def _input(key: str, field: Mapping[str, Any], *, optional: bool) -> dict[str, Any]:
    options = field.get("enum")
    kind = "options" if isinstance(options, list) else _WIDGETS.get(text_of(field.get("type")), "line")
    return {
        "name": text_of(field.get("title")) or key,
        "type": kind,
        "optional": optional,
        "options": options if isinstance(options, list) else [],
        "value": field.get("default"),
    }


def _input_of_question(question: Mapping[str, Any]) -> dict[str, Any]:
    options = question.get("options")
    return {
        "name": text_of(question.get("text")),
        "type": "options" if isinstance(options, list) and options else "paragraph",
        "optional": question.get("required") is False,
        "options": options if isinstance(options, list) else [],
        "value": None,
    }
