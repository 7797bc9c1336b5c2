"""Writes the end of a run: with a success, a question, a cancellation or an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamweir.codec.questions import form_schema, question_text
from streamweir.dialects.ag_ui.shared_metadata import with_metadata
from streamweir.errors import CODES
from streamweir.events import Error, Interaction, SessionEnd

__all__ = ["interrupt", "run_cancelled", "run_error", "run_finished"]

Message = dict[str, Any]

_TOKENS: Final = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}
_REASONS: Final = {"approval": "tool_call", "form": "input_required", "questions": "input_required"}
"""The reason why a run stopped, in the words of other servers, by the kind of question."""


def run_error(event: Error) -> Message:
    """Return the `RUN_ERROR` that ends the run."""
    error = {"type": "RUN_ERROR", "message": event.message, "code": event.code}
    more = {"recoverable": event.recoverable, "retry_after_ms": event.retry_after_ms}
    return with_metadata(error, event, error_type=event.error_type, details=event.details, **more)


def run_cancelled(event: SessionEnd) -> Message:
    """Return the end of a cancelled run, for clients that do not know the outcome `cancelled`."""
    error = {"type": "RUN_ERROR", "message": CODES["CANCELLED"].message, "code": "CANCELLED"}
    return with_metadata(error, event, summary=event.summary)


def run_finished(event: SessionEnd, run: Mapping[str, Any], interrupts: Sequence[Message]) -> Message:
    """Return the end of `run`. Calls without a result are for the client to run."""
    summary = dict(event.summary or {})
    usage = {name: summary.pop(own) for name, own in _TOKENS.items() if own in summary}
    outcome: Message = {"type": "cancelled" if event.status == "cancelled" else "success"}
    if interrupts:
        outcome = {"type": "interrupt", "interrupts": list(interrupts)}
    finished = {"type": "RUN_FINISHED", **run, "outcome": outcome}
    if usage:
        finished["usage"] = [usage]
    return with_metadata(finished, event, summary=summary or None)


def interrupt(event: Interaction, tool_id: str) -> Message:
    """Return an interrupt of a run. If the upstream uses this protocol, it keeps the upstream's id."""
    own = (event.resume or {}).get("interruptId")
    asked: Message = {
        "id": own if isinstance(own, str) and own else event.interaction_id,
        "reason": _REASONS.get(event.kind, event.kind),
        "message": question_text(event),
    }
    if event.kind == "approval":
        asked["toolCallId"] = tool_id
    if schema := form_schema(event):
        asked["responseSchema"] = schema
    return {**asked, "metadata": {"kind": event.kind}}
