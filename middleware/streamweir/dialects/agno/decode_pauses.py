"""Reads the questions of a paused run, and the values that the server needs to continue.

An answer to an agent holds the waiting tools, an answer to a team their requirements, and an answer to a
workflow the requirements of its steps. Each interaction holds one of these objects, so that the request can
be assembled from the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import objects_in, text_in, text_of
from streamweir.dialects.agno.decode_place import Place
from streamweir.dialects.agno.decode_tools import Calls
from streamweir.events import Event, Interaction

__all__ = ["is_notice", "paused_run", "paused_workflow"]

_NOTICES: Final = ("I have tools to execute, but", "Team run paused.")
_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
_NOT_SENT_BACK: Final = ("step_input", "step_output", "executor_requirements")


def is_notice(text: str) -> bool:
    """Return whether a text is the server's notice of a pause instead of a text of the model."""
    return text.startswith(_NOTICES)


def paused_run(fields: Mapping[str, Any], place: Place, calls: Calls) -> Iterator[Event]:
    """Yield the waiting calls of a paused agent or team, and a question for each.

    The calls of a team's members are only in the requirements of the team.
    """
    resume = _resume(fields)
    requirements = objects_in(fields.get("requirements"))
    if fields.get("team_id") or fields.get("team_name"):
        for requirement in requirements:
            held = {**resume, "requirements": [_present(requirement)]}
            yield from _asked(requirement, held, place, calls)
        return
    tools = objects_in(fields.get("tools"))
    if not any(map(_waits, tools)):
        tools = [
            tool for requirement in requirements for tool in objects_in([requirement.get("tool_execution")])
        ]
    for tool in tools:
        if _waits(tool):
            yield from _asked({"tool_execution": tool}, {**resume, "tools": [_present(tool)]}, place, calls)


def paused_workflow(fields: Mapping[str, Any], place: Place, calls: Calls) -> Iterator[Event]:
    """Yield the questions of the steps of a paused workflow."""
    resume = _resume(fields)
    for step in objects_in(fields.get("step_requirements")):
        own = {name: value for name, value in _present(step).items() if name not in _NOT_SENT_BACK}
        if step.get("requires_executor_input"):
            for requirement in objects_in(step.get("executor_requirements")):
                asked = {**own, "executor_requirements": [_present(requirement)]}
                yield from _asked(requirement, {**resume, "step_requirements": [asked]}, place, calls)
        elif _is_open(step):
            yield _step(step, {**resume, "step_requirements": [own]}, place)


def _resume(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in ("run_id", "session_id") if isinstance(fields.get(name), str)}


# A call of a tool


def _waits(tool: Mapping[str, Any]) -> bool:
    if tool.get("requires_confirmation"):
        return tool.get("confirmed") is None
    if tool.get("external_execution_required"):
        return tool.get("result") is None
    return bool(tool.get("requires_user_input")) and not tool.get("answered")


def _asked(
    requirement: Mapping[str, Any], resume: dict[str, Any], place: Place, calls: Calls
) -> Iterator[Event]:
    """Yield the start of a waiting call and its question."""
    tool = requirement.get("tool_execution")
    if not isinstance(tool, dict) or not _waits(tool):
        return
    yield from calls.start(tool, place)
    own = text_of(tool.get("tool_call_id")) or text_of(requirement.get("id"))
    yield _interaction(calls.id_of(own, place), tool, resume, place)


def _interaction(name: str, tool: Mapping[str, Any], resume: dict[str, Any], place: Place) -> Interaction:
    title = text_of(tool.get("tool_name")) or None
    if tool.get("external_execution_required") and not tool.get("requires_confirmation"):
        return Interaction(name, "tool", title=title, resume=resume, meta=place.meta)
    if tool.get("requires_confirmation"):
        return Interaction(name, "approval", title=title, resume=resume, meta=place.meta)
    if feedback := objects_in(tool.get("user_feedback_schema")):
        questions = [*map(_question, feedback)]
        ui = {"questions": feedback}
        return Interaction(
            name, "questions", title=title, questions=questions, ui=ui, resume=resume, meta=place.meta
        )
    schema = _schema(tool.get("user_input_schema"))
    return Interaction(name, "form", title=title, schema=schema, resume=resume, meta=place.meta)


def _question(asked: Mapping[str, Any]) -> dict[str, Any]:
    text = text_in(asked, "question", "header")
    options = [
        label for option in objects_in(asked.get("options")) if (label := text_of(option.get("label")))
    ]
    if not options:
        return {"text": text, "response_type": "free_text"}
    return {"text": text, "response_type": "single_choice", "options": options}


def _schema(fields: Any) -> dict[str, Any]:
    """Return the schema of a form; values that the model has filled in are defaults."""
    properties: dict[str, Any] = {}
    required = []
    for field in objects_in(fields):
        if not (name := text_of(field.get("name"))):
            continue
        known: dict[str, Any] = {"type": _TYPES.get(text_of(field.get("field_type")))}
        known |= {"description": text_of(field.get("description")) or None, "default": field.get("value")}
        if isinstance(allowed := field.get("allowed_values"), list):
            known["enum"] = allowed
        properties[name] = {key: value for key, value in known.items() if value is not None}
        if field.get("value") is None and field.get("required") is not False:
            required.append(name)
    schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


# A step of a workflow


def _is_open(step: Mapping[str, Any]) -> bool:
    if step.get("requires_route_selection"):
        return not step.get("selected_choices")
    if step.get("requires_user_input"):
        return not step.get("user_input")
    return step.get("confirmed") is None


def _step(step: Mapping[str, Any], resume: dict[str, Any], place: Place) -> Interaction:
    name = text_of(step.get("step_id")) or text_of(step.get("step_name"))
    title = text_of(step.get("step_name")) or None
    asked = text_in(step, "user_input_message", "output_review_message", "confirmation_message") or None
    if step.get("requires_route_selection"):
        choices = step.get("available_choices")
        options = [*map(text_of, choices)] if isinstance(choices, list) else []
        question = {"text": asked or title or name, "response_type": "single_choice", "options": options}
        return Interaction(
            name, "questions", title=title, questions=[question], resume=resume, meta=place.meta
        )
    if step.get("requires_user_input"):
        schema = _schema(step.get("user_input_schema"))
        return Interaction(
            name, "form", title=title, description=asked, schema=schema, resume=resume, meta=place.meta
        )
    return Interaction(name, "approval", title=title, description=asked, resume=resume, meta=place.meta)


def _present(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that are not None; the server fills in absent fields."""
    return {
        name: _present(item) if isinstance(item, dict) and name == "tool_execution" else item
        for name, item in value.items()
        if item is not None
    }
