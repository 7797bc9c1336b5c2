"""Reads the events that end a run with a request to the client: questions, forms, handovers.

`trajectory` holds the application's own prompt: the client sends it back unchanged and does not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import message_params, present, text_in, text_of
from streamweir.dialects.data_formulator.decode_agent_runs import thought
from streamweir.dialects.data_formulator.decode_plain_events import extra_of
from streamweir.events import Event, Interaction, SessionEnd

__all__ = ["handing_over", "pause"]

_RESUME: Final = ("trajectory", "completed_step_count")
_HANDING_OVER: Final = ("target", "delegate_prompt", "options")
_QUESTION: Final = frozenset(
    {"text", "text_code", "text_params", "responseType", "response_type", "options", "required"}
)
_SHOWS_THOUGHT: Final = ("clarify", "explain")
"""The questions whose reason is shown: pages of 0.7 show it; 0.8 uses `interact` and hides the reason."""


def pause(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the questions of a run; the run ends with them, and a new request resumes it."""
    known = list(_RESUME)
    if message.get("type") in _SHOWS_THOUGHT or not message.get("thought"):
        known.append("thought")
        yield from thought(message)
    asked, covered = _asked(message)
    form = message.get("form")
    if not asked and isinstance(form, dict) and form:
        yield _form(message, form, {*known, *covered})
    else:
        yield Interaction(
            interaction_id=text_of(message.get("type")),
            kind="questions",
            questions=[_question(item) for item in asked],
            resume=_resume(message),
            meta=extra_of(message, {*known, *covered}),
        )
    yield SessionEnd("suspended")


def handing_over(message: Mapping[str, Any]) -> Event:
    """Return a handover to another agent. The run may send a last text before the handover."""
    return Interaction(
        interaction_id="delegate",
        kind="handoff",
        title=text_of(message.get("target")) or None,
        description=text_in(message, "message", "delegate_prompt") or None,
        ui={name: message[name] for name in _HANDING_OVER if message.get(name) is not None} or None,
        resume=_resume(message),
        meta=extra_of(message, ("thought", "message", *_HANDING_OVER, *_RESUME)),
    )


def _asked(message: Mapping[str, Any]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the questions of `message`, and the names of the fields that they fully cover."""
    given = message.get("questions")
    items = given if isinstance(given, list) else []
    questions = [item for item in items if isinstance(item, dict)]
    if not questions and message.get("message"):
        return [{"text": message["message"], "options": message.get("options")}], ("message", "options")
    return questions, ("questions",) if all(map(_is_covered, items)) and given in (None, items) else ()


def _is_covered(question: Any) -> bool:
    """Return whether a standard interaction holds all fields of this question."""
    if not isinstance(question, dict) or not question.keys() <= _QUESTION:
        return False
    options = question.get("options") or []
    return isinstance(options, list) and all(
        option.keys() <= {"label", "label_code"} if isinstance(option, dict) else isinstance(option, str)
        for option in options
    )


def _question(item: Mapping[str, Any]) -> dict[str, Any]:
    raw = item.get("options")
    shown = [option for option in raw if _label(option)] if isinstance(raw, list) else []
    options = [_label(option) for option in shown]
    kind = item.get("responseType", item.get("response_type"))
    if kind not in ("single_choice", "free_text"):
        kind = "single_choice" if options else "free_text"
    question: dict[str, Any] = {"text": text_in(item, "text", "text_code"), "response_type": kind}
    if options:
        question["options"] = options
    if isinstance(item.get("required"), bool):
        question["required"] = item["required"]
    return {**question, **_translation_keys(item, shown)}


def _translation_keys(item: Mapping[str, Any], options: list[Any]) -> dict[str, Any]:
    """Return the keys for translation of a question and of the options that it shows."""
    codes = [text_in(option, "label_code") if isinstance(option, dict) else "" for option in options]
    return present(
        text_code=text_of(item.get("text_code")) or None,
        text_params=message_params(item.get("text_params")),
        option_codes=[code or None for code in codes] if any(codes) else None,
    )


def _label(option: Any) -> str:
    return text_in(option, "label", "label_code") if isinstance(option, dict) else text_of(option)


def _form(message: Mapping[str, Any], form: Mapping[str, Any], known: Iterable[str]) -> Event:
    """Return a form that the page draws by its kind (`ui`), with the fields that have a value."""
    connector = form.get("connector")
    filled = connector.get("prefilled") if isinstance(connector, dict) else None
    fields = filled if isinstance(filled, dict) else {}
    properties = {name: {"type": "string", "default": text_of(value)} for name, value in fields.items()}
    return Interaction(
        interaction_id=text_of(message.get("type")),
        kind="form",
        title=text_of(form.get("title")) or None,
        description=text_of(form.get("response")) or None,
        schema={"type": "object", "properties": properties} if properties else None,
        ui=dict(form),
        resume=_resume(message),
        meta=extra_of(message, {*known, "form"}),
    )


def _resume(message: Mapping[str, Any]) -> dict[str, Any] | None:
    return {name: message[name] for name in _RESUME if name in message} or None
