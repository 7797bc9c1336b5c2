"""Reads the questions of an agent that waits for an answer (the next message of the task) or for a login.

Source: the specification; for the interrupts of graphs langgraph-api 0.16 (`api/a2a.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from streamweir.codec.coerce import and_extra, leftover, text_of
from streamweir.codec.families.langgraph_interrupts import interrupt_of
from streamweir.dialects.a2a.decode_adk import asked_events, is_asked
from streamweir.dialects.a2a.decode_envelope import MESSAGE
from streamweir.dialects.a2a.decode_parts import data_of, part_events, parts_of, text_of_parts
from streamweir.events import Content, Event, Interaction, Meta

__all__ = ["INTERRUPT", "interrupts_of", "questions_of"]

INTERRUPT: Final = "Interrupt"
"""The name of an artifact that holds the questions of a graph."""

_RESUME: Final = {"task_id": "run_id", "context_id": "thread_id"}


def questions_of(
    state: str, message: Mapping[str, Any], ids: Mapping[str, str], meta: Meta | None, *, is_nested: bool
) -> Iterator[Event]:
    """Yield the questions to a person.

    Args:
        state: `input-required` or `auth-required`.
        message: the message in the state; servers omit it if an artifact has the question.
        ids: the ids of the task (`run_id`) and its context (`thread_id`).
        meta: the metadata of the event.
        is_nested: whether the data of parts are nested one level deeper.
    """
    parts = [*parts_of(message, is_nested=is_nested)]
    meta = and_extra(meta, leftover(message, MESSAGE))
    resume = _resume(ids)
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


def interrupts_of(
    artifact: Mapping[str, Any], ids: Mapping[str, str], meta: Meta | None, *, is_nested: bool
) -> Iterator[Event]:
    """Yield the interrupts of a graph, which LangGraph's server sends as parts of an artifact.

    Args:
        artifact: the artifact with the name `INTERRUPT`; parts of other kinds in it are read as usual.
        ids: as in `questions_of`.
        meta: the metadata of the event.
        is_nested: as in `questions_of`.
    """
    meta = and_extra(meta, leftover(artifact, ("artifactId", "name", "description", "parts")))
    for part in parts_of(artifact, is_nested=is_nested):
        interrupt = data_of(part)
        if isinstance(interrupt, dict) and interrupt.keys() >= {"id", "value"}:
            rest = leftover(part.fields, ("kind", "data"))
            yield interrupt_of(interrupt, _resume(ids), and_extra(meta, rest))
        else:
            yield from part_events([part], meta, name=INTERRUPT)


def _resume(ids: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of the task and its context, which an answer has to repeat."""
    return {ours: ids[name] for ours, name in _RESUME.items() if name in ids}


def _question(state: str, text: str, asked: Sequence[Any], bare: Interaction) -> Interaction:
    """Return the question, in the form that fits its text and its data."""
    schema = next(filter(None, map(_schema_in, asked)), None)
    if schema is not None:
        return replace(bare, kind="form", description=text or None, schema=schema)
    if state == "auth-required" or not text:
        return replace(bare, description=text or None)
    return replace(bare, kind="questions", questions=[{"text": text, "response_type": "free_text"}])


def _schema_in(value: Any) -> dict[str, Any] | None:
    """Return the JSON Schema of the data that a part asks for."""
    found = None
    match value:
        case {"form": {"type": "object"}}:
            found = value["form"]
        case {"schema": {"type": "object"}}:
            found = value["schema"]
        case {"type": "object", "properties": dict()}:
            found = value
    return found if isinstance(found, dict) else None
