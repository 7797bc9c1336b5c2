"""Writes the events that end a run with a request to the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamweir.codec.coerce import text_in, text_of
from streamweir.dialects.data_formulator.shared_vocabulary import PAUSES
from streamweir.events import Interaction

__all__ = ["clarification", "delegation", "own_form"]

_OPEN_QUESTION: Final = "How would you like to proceed?"
"""The default question of a clarification: the page refuses a clarification without questions."""


def clarification(asked: Sequence[Interaction]) -> dict[str, Any]:
    """Return one event for all questions. The run resumes with the state of the last question."""
    last = asked[-1] if asked else None
    form = own_form(last) if last and len(asked) == 1 else None
    questions = [question for item in asked for question in _questions(item)]
    return {
        "type": last.interaction_id if last and last.interaction_id in PAUSES else "clarify",
        "thought": "",
        **({"form": form} if form else {"questions": questions or [_free_text(_OPEN_QUESTION)]}),
        **_resume(last),
    }


def own_form(event: Interaction) -> Mapping[str, Any] | None:
    """Return the form that the pages draw by its kind; None for a form of another protocol."""
    is_own = event.kind == "form" and event.interaction_id in PAUSES and event.ui
    return event.ui if is_own else None


def delegation(event: Interaction) -> dict[str, Any]:
    """Return the message that hands the run over to another agent."""
    ui = event.ui or {}
    own: dict[str, Any] = {name: ui[name] for name in ("target", "delegate_prompt", "options") if name in ui}
    return {
        "type": "delegate",
        "thought": "",
        "target": event.title or "",
        "message": event.description or "",
        **own,
        **_resume(event),
    }


def _resume(event: Interaction | None) -> dict[str, Any]:
    resume = (event.resume if event else None) or {}
    return {
        "trajectory": resume.get("trajectory", []),
        "completed_step_count": resume.get("completed_step_count", 0),
    }


def _questions(event: Interaction) -> list[dict[str, Any]]:
    text = "\n".join(dict.fromkeys(text for text in (event.title, event.description) if text))
    if event.questions:
        return _introduced(text, [_question(question) for question in event.questions])
    if event.kind == "approval":
        return [_question({"text": text or _OPEN_QUESTION, "options": ["Approve", "Reject"]})]
    if asked := _fields(event.schema or {}):
        return _introduced(text, asked)
    return [_free_text(text or _OPEN_QUESTION)]


def _introduced(text: str, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions; the text that introduces all of them is put before the first question."""
    if text and text != asked[0]["text"]:
        asked[0]["text"] = f"{text}\n{asked[0]['text']}"
    return asked


def _question(question: Mapping[str, Any]) -> dict[str, Any]:
    options = question.get("options")
    labels = [{"label": _label(option)} for option in options] if isinstance(options, list) else []
    written = {
        "text": text_of(question.get("text")) or _OPEN_QUESTION,
        "responseType": question.get("response_type") or ("single_choice" if labels else "free_text"),
        "required": question.get("required"),
        "options": labels or None,
    }
    return {key: value for key, value in written.items() if value is not None}


def _fields(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a form as questions."""
    properties, required = schema.get("properties"), schema.get("required")
    named = required if isinstance(required, list) else ()
    fields = properties.items() if isinstance(properties, dict) else ()
    return [_field(name, field, name in named) for name, field in fields if isinstance(field, dict)]


def _field(name: str, field: Mapping[str, Any], is_required: bool) -> dict[str, Any]:
    text = text_in(field, "title", "description") or name
    return _question({"text": text, "options": field.get("enum"), "required": is_required or None})


def _label(option: Any) -> str:
    return text_in(option, "label", "text", "title", "value") if isinstance(option, dict) else text_of(option)


def _free_text(text: str) -> dict[str, Any]:
    return {"text": text, "responseType": "free_text", "required": True}
