"""Writes questions to a person as a form or as text, for protocols with one form of question or without any.

Source: the standard protocol 1.1, section 2 (`interaction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import text_in, text_of
from streamweir.events import Interaction

__all__ = ["APPROVED", "asks_person", "form_schema", "question_text"]

APPROVED: Final = "approved"
"""The field of the form for an approval."""


def asks_person(event: Interaction) -> bool:
    """Return whether `event` asks a person. A question of kind `tool` asks the client's program."""
    return event.state == "requested" and event.kind != "tool"


def form_schema(event: Interaction) -> dict[str, Any] | None:
    """Return the question as JSON Schema; None if the question has no input.

    A free text becomes a string, options become an enum of strings, and an approval becomes a boolean.
    """
    if event.schema is not None:
        return event.schema
    if event.kind == "approval":
        title = event.title or event.description or "Approve?"
        return {
            "type": "object",
            "properties": {APPROVED: {"type": "boolean", "title": title}},
            "required": [APPROVED],
        }
    if not event.questions:
        return None
    names = {f"question_{number}": question for number, question in enumerate(event.questions, 1)}
    required = [name for name, question in names.items() if question.get("required") is not False]
    schema = {"type": "object", "properties": {name: _property(asked) for name, asked in names.items()}}
    return {**schema, "required": required} if required else schema


def question_text(event: Interaction) -> str:
    """Return the question as text for a person: title, text, and questions or fields with options."""
    texts = [text for text in (event.title, event.description) if text]
    asked = [_line(text_of(item.get("text")), item.get("options")) for item in event.questions or ()]
    properties = (event.schema or {}).get("properties")
    for name, field in properties.items() if isinstance(properties, dict) and not asked else ():
        if isinstance(field, dict):
            asked.append(_line(text_in(field, "title", "description") or name, field.get("enum")))
    return "\n".join([*dict.fromkeys(texts), *asked]) or _DEFAULT_TEXTS[event.kind]


_DEFAULT_TEXTS: Final = {
    "approval": "Your approval is needed to go on.",
    "continue": "Shall the run go on?",
    "handoff": "Another agent is to take over.",
    "form": "Your input is needed to go on.",
    "questions": "Your input is needed to go on.",
    "tool": "A tool is to be run.",
}
"""For each kind: the text of a question without a text."""


def _property(question: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string", "title": text_of(question.get("text"))}
    if options := _options(question.get("options")):
        found["enum"] = options
    return found


def _line(text: str, options: Any) -> str:
    labels = _options(options)
    return f"- {text} ({' / '.join(labels)})" if labels else f"- {text}"


def _options(options: Any) -> list[str]:
    """Return the options as texts; if an option is an object, the text that a person would read."""
    return [
        text_in(option, "label", "text", "title", "value") if isinstance(option, dict) else text_of(option)
        for option in (options if isinstance(options, list) else ())
    ]
