"""Reads what an agent needs to go on: an answer, which is the next message of the same task, or a login."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.dialects.a2a.decode_adk import asked_events, is_asked
from streamweir.dialects.a2a.decode_envelope import MESSAGE
from streamweir.dialects.a2a.decode_parts import data_of, parts_of, text_of_parts
from streamweir.events import Content, Event, Interaction, Meta

__all__ = ["questions_of"]

_RESUME: Final = {"task_id": "run_id", "context_id": "thread_id"}


def questions_of(
    state: str, message: Mapping[str, Any], ids: Mapping[str, str], meta: Meta | None, *, is_nested: bool
) -> Iterator[Event]:
    """Yield what a person is asked.

    Args:
        state: `input-required` or `auth-required`.
        message: that stands with it; servers leave it out where an artifact says what is needed.
        ids: of the task (`run_id`) and its context (`thread_id`).
        meta: of the event.
        is_nested: the data of parts stand one level deeper.
    """
    parts = [*parts_of(message, is_nested=is_nested)]
    meta = and_extra(meta, leftover(message, MESSAGE))
    resume = {ours: ids[name] for ours, name in _RESUME.items() if name in ids}
    calls = [data_of(part) for part in parts if is_asked(part.fields.get("metadata"), data_of(part))]
    for call in calls:
        yield from asked_events(call, resume, meta)
    text = text_of_parts(parts)
    if calls and text:
        yield Content(text, meta=meta)
    elif not calls:
        asked = [data_of(part) for part in parts if part.text is None and "data" in part.fields]
        interaction_id = text_of(message.get("messageId")) or ids.get("run_id", "")
        ui = {"parts": asked} if asked else None
        yield _question(
            state, text, asked, Interaction(interaction_id, "continue", ui=ui, resume=resume, meta=meta)
        )


def _question(state: str, text: str, asked: Sequence[Any], bare: Interaction) -> Interaction:
    """The question in the form that its text and data have."""
    schema = next(filter(None, map(_schema_in, asked)), None)
    if schema is not None:
        return replace(bare, kind="form", description=text or None, schema=schema)
    if state == "auth-required" or not text:
        return replace(bare, description=text or None)
    return replace(bare, kind="questions", questions=[{"text": text, "response_type": "free_text"}])


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
