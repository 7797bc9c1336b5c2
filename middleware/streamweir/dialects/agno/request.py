"""Writes requests to AgentOS and to the playground: a form with a message, or the answers to a paused run.

Source: agno 3.1.10 (`os/routers`, `run/requirement.py`, `workflow/types.py`), 1.8.1 (`app/playground`); the
request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamweir.codec.coerce import objects_in
from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import Answer, Part
from streamweir.requests.decisions import confirms, decision_in
from streamweir.requests.media import media_type_of
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Upload, Written, path_segment, without_absent

__all__ = ["WRITER"]

_FORMER_WORKFLOW: Final = re.compile(r"/playground/workflows/[^/]+/runs/?\Z")
"""The route of the playground that takes JSON."""

_FORMS: Final = ("tools", "requirements", "step_requirements")
"""The forms in which an answer is sent. Each interaction holds exactly one of these fields."""

_REFUSALS: Final = ("cancel", "reject")
_CANCELLED: Final = "cancelled"


def _write(outgoing: Outgoing) -> Written:
    if outgoing.answers:
        return _continued(outgoing)
    if _FORMER_WORKFLOW.search(outgoing.path):
        outgoing.files("none")
        inputs = {"message": outgoing.text, **outgoing.inputs}
        return Written(without_absent(input=inputs, session_id=outgoing.thread_id, user_id=outgoing.user))
    if outgoing.inputs:
        outgoing.lose("inputs")
    form = without_absent(
        message=outgoing.text,
        stream="true",
        stream_events="true",
        session_id=outgoing.thread_id,
        user_id=outgoing.user,
        files=[_upload(part) for part in outgoing.files("bytes")],
    )
    return Written(form=form)


def _upload(part: Part) -> Upload:
    return Upload(part.get("name") or "file", media_type_of(part), part["base64"])


# Answers


def _continued(outgoing: Outgoing) -> Written:
    """Return the request that continues a run with all answers, each inside the object of its interaction."""
    found: dict[str, list[dict[str, Any]]] = {}
    run_id = session = None
    for answer in outgoing.answers:
        held = outgoing.held(answer)
        run_id, session = run_id or held.get("run_id"), session or held.get("session_id")
        for name in _FORMS:
            for item in objects_in(held.get(name)):
                found.setdefault(name, []).append(_ANSWERED[name](item, answer, outgoing))
    if not isinstance(run_id, str) or not found:
        raise outgoing.cannot_answer()
    forms = {name: write_json_text(_merged(items)) for name, items in found.items()}
    form = without_absent(
        **forms, session_id=outgoing.thread_id or session, user_id=outgoing.user, stream="true"
    )
    path = f"{outgoing.path.removesuffix('/')}/{path_segment(run_id, 'resume')}/continue"
    return Written(form=form, path=path)


def _merged(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answered items; items that are the same step with different calls are joined."""
    steps: dict[str, dict[str, Any]] = {}
    merged = []
    for item in items:
        calls, step_id = item.get("executor_requirements"), item.get("step_id")
        if isinstance(calls, list) and isinstance(step_id, str):
            if known := steps.get(step_id):
                known["executor_requirements"] += calls
                continue
            steps[step_id] = item
        merged.append(item)
    return merged


def _tool(tool: dict[str, Any], answer: Answer, outgoing: Outgoing) -> dict[str, Any]:
    """Return a call with its answer. A refusal of any question is written like a refused confirmation."""
    value = answer.get("value")
    if tool.get("external_execution_required") and not tool.get("requires_confirmation"):
        return {**tool, "result": _CANCELLED if _refuses(answer) else answer_text(value)}
    if tool.get("requires_confirmation") or _refuses(answer):
        is_confirmed = confirms(answer)
        note = value if isinstance(value, str) and value and not is_confirmed else None
        kind = {"requires_confirmation": True, "requires_user_input": None, "confirmed": is_confirmed}
        return {**tool, **kind, **without_absent(confirmation_note=note)}
    if questions := objects_in(tool.get("user_feedback_schema")):
        return {**tool, "user_feedback_schema": _chosen(questions, value), "answered": True}
    fields = _filled(_named(tool.get("user_input_schema")), value, outgoing)
    return {**tool, "user_input_schema": fields, "answered": True}


def _requirement(requirement: dict[str, Any], answer: Answer, outgoing: Outgoing) -> dict[str, Any]:
    """Return the requirement of a call, with the answered call in it."""
    tool = requirement.get("tool_execution")
    tool = _tool(tool if isinstance(tool, dict) else {}, answer, outgoing)
    copies = {"confirmation": "confirmed", "external_execution_result": "result"}
    found = {own: tool[name] for own, name in copies.items() if tool.get(name) is not None}
    for name in ("confirmation_note", "user_input_schema", "user_feedback_schema"):
        if tool.get(name) is not None:
            found[name] = tool[name]
    return {**requirement, **found, "tool_execution": tool}


def _step(step: dict[str, Any], answer: Answer, outgoing: Outgoing) -> dict[str, Any]:
    """Return a step with the changes with which the run continues."""
    value = answer.get("value")
    if calls := objects_in(step.get("executor_requirements")):
        return {**step, "executor_requirements": [_requirement(call, answer, outgoing) for call in calls]}
    if _refuses(answer):
        return _rejected(step, value)
    if step.get("requires_route_selection"):
        return {**step, "selected_choices": [*_choices(value)]}
    if step.get("requires_user_input"):
        fields = _filled(_named(step.get("user_input_schema")), value, outgoing)
        given = {field["name"]: field["value"] for field in fields if field.get("value") is not None}
        given |= value if isinstance(value, dict) else {}
        return {**step, "user_input_schema": fields or None, "user_input": given, "confirmed": True}
    if step.get("requires_output_review") and _is_edit(answer):
        return {**step, "confirmed": True, "edited_output": value}
    return {**step, "confirmed": True} if confirms(answer) else _rejected(step, value)


def _rejected(step: dict[str, Any], why: Any) -> dict[str, Any]:
    """Return a refused step. The form is that of a refused confirmation for every kind of question."""
    asked = {"requires_confirmation": True, "requires_user_input": False, "requires_route_selection": False}
    feedback = why if isinstance(why, str) and why else None
    return {**step, **asked, "confirmed": False, **without_absent(rejection_feedback=feedback)}


def _is_edit(answer: Answer) -> bool:
    """Return whether the value is an edited output of a step, not an approval."""
    value = answer.get("value")
    if isinstance(value, str):
        return bool(value) and decision_in(value) is None
    return isinstance(value, list) or (
        isinstance(value, dict) and not {"approved", "confirmed"} & value.keys()
    )


def _refuses(answer: Answer) -> bool:
    return answer["action"] in _REFUSALS


def _filled(fields: list[dict[str, Any]], value: Any, outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return the filled-in fields of a form. A value that is no object is for the only open field."""
    if not isinstance(value, dict):
        open_fields = [field["name"] for field in fields if field.get("value") is None]
        if value is not None and len(open_fields) != 1 and fields:
            raise outgoing.cannot_answer()
        value = {} if value is None else dict.fromkeys(open_fields, value)
    return [{**field, "value": value.get(field["name"], field.get("value"))} for field in fields]


def _chosen(questions: list[dict[str, Any]], value: Any) -> list[dict[str, Any]]:
    """Return the questions with the chosen options: by the question's text, by order, or one for all."""
    return [
        {**question, "selected_options": [*_choices(_choice_of(question, at, value))]}
        for at, question in enumerate(questions)
    ]


def _choice_of(question: Mapping[str, Any], at: int, value: Any) -> Any:
    if isinstance(value, dict):
        names = (question.get("question"), question.get("header"), f"question_{at + 1}")
        return next((value[name] for name in names if isinstance(name, str) and name in value), None)
    if isinstance(value, list) and all(isinstance(item, list) for item in value):
        return value[at] if at < len(value) else None
    return value


def _choices(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [*value.values()]
    items = value if isinstance(value, list) else [value]
    return [answer_text(item) for item in items if item is not None]


def _named(value: Any) -> list[dict[str, Any]]:
    """Return the fields of a form."""
    return [field for field in objects_in(value) if isinstance(field.get("name"), str)]


_ANSWERED: Final[Mapping[str, Callable[[dict[str, Any], Answer, Outgoing], dict[str, Any]]]] = {
    "tools": _tool,
    "requirements": _requirement,
    "step_requirements": _step,
}

WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}))
