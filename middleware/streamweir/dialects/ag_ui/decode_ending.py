"""Reads the end of a run: finished, cancelled, or waiting for an answer or for the client's tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import counts_in, leftover, object_in, objects_in, text_of
from streamweir.dialects.ag_ui.shared_metadata import BASE, metadata_of, read_metadata
from streamweir.events import Event, Interaction, SessionEnd

__all__ = ["read_finish", "summary_of"]

_FINISHED: Final = BASE | {"threadId", "runId", "outcome", "usage"}
_TOKENS: Final = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}
_KINDS: Final = ("form", "questions", "approval", "handoff", "continue")
_INTERRUPT: Final = ("id", "reason", "message", "toolCallId", "responseSchema", "metadata")


def read_finish(
    message: Mapping[str, Any], waiting: Mapping[str, str], asked: Collection[str]
) -> Iterator[Event]:
    """Yield the questions at the end of a run, then the end.

    Args:
        message: the event that ends the run.
        waiting: the names of the calls that have no result, by id.
        asked: the questions that were asked before the end.
    """
    outcome = object_in(message, "outcome")
    meta = read_metadata(message, _FINISHED, "summary")
    summary = summary_of(message) or None
    if outcome.get("type") == "cancelled":
        yield SessionEnd("cancelled", summary=summary, meta=meta)
        return
    questions = objects_in(outcome.get("interrupts"))
    for question in questions:
        if text_of(question.get("id")) not in asked:
            yield _interaction(question)
    of_questions = {text_of(question.get("toolCallId")) for question in questions}
    tools = [] if questions else _pending(outcome, waiting)
    for tool_id in tools:
        if tool_id not in of_questions:
            yield Interaction(tool_id, "tool", title=waiting.get(tool_id))
    yield SessionEnd("suspended" if questions or tools else "completed", summary=summary, meta=meta)


def _pending(outcome: Mapping[str, Any], waiting: Mapping[str, str]) -> list[str]:
    """Return the ids of the calls for the client to run: those named by the server, else without a result."""
    named = outcome.get("pendingToolCallIds")
    return [*map(text_of, named)] if isinstance(named, list) and named else list(waiting)


def _interaction(question: Mapping[str, Any]) -> Interaction:
    interrupt_id = text_of(question.get("id"))
    tool_id, schema = text_of(question.get("toolCallId")), question.get("responseSchema")
    resume = {"interruptId": interrupt_id}
    if rest := leftover(question, _INTERRUPT):
        resume |= rest
    return Interaction(
        interaction_id=tool_id or interrupt_id,
        kind=_kind(question),
        title=text_of(question.get("message")) or None,
        schema=schema if isinstance(schema, dict) else None,
        resume=resume,
    )


def _kind(question: Mapping[str, Any]) -> Any:
    """Return the kind of a question: as in its metadata, else `form` if it has a schema, else `approval`."""
    kind = metadata_of(question).get("kind")
    if kind in _KINDS:
        return kind
    if question.get("toolCallId"):
        return "approval"
    return "form" if isinstance(question.get("responseSchema"), dict) else "continue"


def summary_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary at the end of a run, with the sums of its usage."""
    summary = dict(object_in(metadata_of(message), "summary"))
    for usage in objects_in(message.get("usage")):
        for own, count in counts_in(usage, _TOKENS).items():
            known = summary.get(own)
            summary[own] = count + (known if type(known) is int else 0)
    return summary
