"""Reads the questions of LangGraph, which are interrupts of a graph, and the form of the expected answers.

Some servers send interrupts as the text of their `repr` instead of JSON objects.

Source: langgraph 1.2 (`types.py`, `Interrupt`; `errors.py`, `GraphInterrupt`), langchain 1.0
(`agents/middleware/human_in_the_loop.py`), langgraph 0.2 to 1.0 (`prebuilt/interrupt.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, text_in, text_of
from streamweir.codec.families.python_repr import CLASS, value_of_repr
from streamweir.events import Interaction, Meta

__all__ = ["interrupt_of", "interrupts_in"]

_TEXTS: Final = ("question", "query", "prompt", "message", "text", "description", "title")

_TEXT_FORMS: Final = ("Interrupt(", "(Interrupt(", "[Interrupt(", "GraphInterrupt(", "NodeInterrupt(")

_KNOWN: Final = (CLASS, "value", "id", "interrupt_id", "response_schema", "resumable", "ns", "when")


def interrupt_of(value: Any, held: Mapping[str, str], meta: Meta | None = None) -> Interaction:
    """Return the interaction for an interrupt.

    Args:
        value: the serialised interrupt, or only its value.
        held: the values that an answer needs in addition to the interrupt's id.
        meta: the metadata of the step.
    """
    value = _read(value)
    fields = value if isinstance(value, dict) and "value" in value else {"value": value}
    asked, interrupt_id = fields["value"], text_of(fields.get("id") or fields.get("interrupt_id"))
    resume: dict[str, Any] = {**held, **({"interrupt_id": interrupt_id} if interrupt_id else {})}
    meta = and_extra(meta, leftover(fields, _KNOWN))
    schema = fields.get("response_schema")
    schema = schema if isinstance(schema, dict) else None
    match asked:
        case {"action_requests": [*requests]} if requests:
            resume["decisions"] = len(requests)
            return _approval(interrupt_id, asked, requests, resume, meta)
        case [{"action_request": dict(request)}, *_]:
            resume["responses"] = len(asked)
            return _approval(interrupt_id, {"requests": asked}, [request], resume, meta)
        case dict() if text := text_in(asked, *_TEXTS):
            question = _question(text, asked.get("options", asked.get("choices")))
            return Interaction(
                interrupt_id,
                "questions",
                questions=[question],
                schema=schema,
                ui=asked,
                resume=resume,
                meta=meta,
            )
        case str():
            questions = [_question(asked, None)]
            return Interaction(
                interrupt_id, "questions", questions=questions, schema=schema, resume=resume, meta=meta
            )
    return Interaction(
        interrupt_id, "form", schema=schema or {}, ui={"value": asked}, resume=resume, meta=meta
    )


def interrupts_in(failure: Any) -> list[Any]:
    """Return the interrupts in the exception of a stopped tool; an empty list if the tool failed."""
    match _read(failure):
        case {"__class__": "GraphInterrupt" | "NodeInterrupt", **raised}:
            found = next(iter(raised.values()), None)
        case found:
            pass
    interrupts = found if isinstance(found, list) else [found]
    return interrupts if all(map(_is_interrupt, interrupts)) else []


def _is_interrupt(value: Any) -> bool:
    return isinstance(value, dict) and value.get(CLASS) == "Interrupt"


def _read(value: Any) -> Any:
    """Return an object of LangGraph that arrived as text; return any other value unchanged."""
    match value:
        case {"lc": int(), "repr": str(text)}:
            return value_of_repr(text) or value
        case str() if value.startswith(_TEXT_FORMS):
            return value_of_repr(value) or value
    return value


def _question(text: str, options: Any) -> dict[str, Any]:
    if isinstance(options, list) and options:
        return {"text": text, "response_type": "single_choice", "options": [*map(text_of, options)]}
    return {"text": text, "response_type": "free_text"}


def _approval(
    interrupt_id: str, asked: dict[str, Any], requests: list[Any], resume: dict[str, Any], meta: Meta | None
) -> Interaction:
    """Return the question whether calls may be run."""
    first = requests[0] if isinstance(requests[0], dict) else {}
    return Interaction(
        interrupt_id,
        "approval",
        title=text_in(first, "name", "action") or None,
        description=text_of(first.get("description")) or None,
        ui=asked,
        resume=resume,
        meta=meta,
    )
