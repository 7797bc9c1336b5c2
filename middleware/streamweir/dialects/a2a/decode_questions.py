"""Reads what an agent needs to go on: an answer, which is the next message of the same task, or a login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.dialects.a2a.decode_envelope import MESSAGE
from streamweir.dialects.a2a.decode_parts import data_of, parts_of, text_of_parts
from streamweir.events import Interaction, Meta

__all__ = ["question_of"]

_RESUME: Final = {"task_id": "run_id", "context_id": "thread_id"}


def question_of(
    state: str, message: Mapping[str, Any], ids: Mapping[str, str], meta: Meta | None, *, is_nested: bool
) -> Interaction:
    """Return what is asked of a person.

    Args:
        state: `input-required` or `auth-required`.
        message: that stands with it; servers leave it out where an artifact says what is needed.
        ids: of the task (`run_id`) and its context (`thread_id`).
        meta: of the event.
        is_nested: the data of parts stand one level deeper.
    """
    parts = [*parts_of(message, is_nested=is_nested)]
    text = text_of_parts(parts)
    asked = [data_of(part) for part in parts if part.text is None and "data" in part.fields]
    schema = next(filter(None, map(_schema_in, asked)), None)
    fields: dict[str, Any] = {
        "ui": {"parts": asked} if asked else None,
        "resume": {ours: ids[name] for ours, name in _RESUME.items() if name in ids},
        "meta": and_extra(meta, leftover(message, MESSAGE)),
    }
    interaction_id = text_of(message.get("messageId")) or ids.get("run_id", "")
    if schema is not None:
        return Interaction(interaction_id, "form", description=text or None, schema=schema, **fields)
    if state == "auth-required" or not text:
        return Interaction(interaction_id, "continue", description=text or None, **fields)
    questions = [{"text": text, "response_type": "free_text"}]
    return Interaction(interaction_id, "questions", questions=questions, **fields)


def _schema_in(value: Any) -> dict[str, Any] | None:
    """The JSON Schema that a data part asks to be filled in."""
    found = None
    match value:
        case {"form": {"type": "object"}}:
            found = value["form"]
        case {"schema": {"type": "object"}}:
            found = value["schema"]
        case {"type": "object", "properties": dict()}:
            found = value
    return found if isinstance(found, dict) else None
