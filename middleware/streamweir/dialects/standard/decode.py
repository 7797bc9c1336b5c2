"""Reads the standard protocol, one message at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom
from streamweir.codec.folded_result import events_in, is_whole_answer, refusal_in
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_events import is_standard, read_standard
from streamweir.codec.text_form import TextForm
from streamweir.events import Error, Event
from streamweir.framing import Frame

__all__ = ["StandardDecoder"]

_ONLY_HERE: Final = (
    "session_start",
    "tool_call_start",
    "tool_call_progress",
    "tool_call_end",
    "session_end",
)
"""The types that no older vocabulary uses with a `data` object."""


class StandardDecoder(Decoder):
    """Reads the standard protocol: SSE, NDJSON, or folded into one JSON object."""

    framing = "auto"
    errors_for_users = True
    text_fields: ClassVar = TextFields(
        texts=(("data", "content"),),
        ignored=(("metadata", "timestamp"), ("metadata", "sequence")),
        form=TextForm(
            '{"type":"content","data":{"content":<text>}',
            ',"metadata":{"request_id":<string>,"timestamp":<ignored>,"sequence":<ignored>}}',
        ),
        learned_after=5,  # it is plain to read
    )

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for a known `type`, `data` and `metadata`; others may have no `metadata`."""
        del event
        return _evidence(fields)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the event in `frame`; an end of the session ends the stream."""
        if not frame.data or frame.data == b"[DONE]":
            return ()
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        if isinstance(message.get("type"), str):
            event = read_standard(message)
            return (_before_its_end(event) if type(event) is Error else event,)
        if is_whole_answer(message):
            return map(_before_its_end, map(read_standard, events_in(message)))
        return (refusal_in(message) or custom("message", message),)


def _before_its_end(event: Event) -> Event:
    """Return the event; a terminal error is marked, because a separate end event follows it."""
    if type(event) is Error and event.terminal:
        event.precedes_end = True
    return event


def _evidence(message: Mapping[str, Any]) -> float:
    if is_standard(message):
        return 1.0 if message["type"] != "thinking" else 0.9  # old streams have it too; ours begin otherwise
    if is_whole_answer(message):
        return 0.95
    is_ours = message.get("type") in _ONLY_HERE and "metadata" not in message
    return 0.6 if is_ours and isinstance(message.get("data"), dict) else 0.0
