"""Reads the old vocabulary, one message at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.codec.base import NO_OPTIONS, Decoder, Options
from streamweir.codec.block_forms import BlockForms, text_in
from streamweir.codec.coerce import custom, is_custom, text_of
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_events import is_standard, read_standard
from streamweir.dialects.legacy.decode_messages import READERS, fields_of, read_other
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, SessionEnd
from streamweir.framing import Frame

__all__ = ["LegacyDecoder"]

_ALIASES: Final = {
    "token": "content",
    "content": "content",
    "tool_call": "tool_call",
    "tool_call_start": "tool_call",
    "tool_result": "tool_result",
    "tool_call_end": "tool_result",
    "thinking": "thinking",
    "final_answer": "final_answer",
    "dataframe_data": "dataframe_data",
    "session_start": "session_start",
    "done": "done",
    "session_end": "done",
    "error": "error",
    "warning": "warning",
    "ping": "ping",
    "heartbeat": "ping",
}
"""The meaning of each type, by its name in the stream."""

_ANSWERING: Final = frozenset({"content", "thinking", "tool_call", "tool_result", "final_answer"})
"""The types of messages that an answer consists of."""

_EVIDENCE: Final = {
    "dataframe_data": 0.95,
    "token": 0.9,
    "final_answer": 0.9,
    "tool_call": 0.7,
    "tool_result": 0.7,
    "thinking": 0.6,
    "content": 0.55,
    "error": 0.5,
    "done": 0.5,
}
"""The score of a flat message, by its type."""

_LONGEST_END: Final = 40
"""The most bytes of a block, alone in its read, that is compared with the forms of an end."""


class LegacyDecoder(Decoder):
    """Reads the old vocabulary, as SSE or NDJSON, pure or mixed with standard events."""

    framing = "auto"
    text_fields: ClassVar = TextFields(
        texts=(("content",), ("token",), ("text",), ("delta",), ("data", "content")),
        ignored=(("timestamp",), ("sequence",), ("metadata", "timestamp"), ("metadata", "sequence")),
        usual={"type": "token", "content": "Hello"},
        is_stateless=True,
    )
    block_forms: ClassVar = BlockForms(
        _LONGEST_END,
        end=('{"type":"done"}',),
        answer=('{"type":"final_answer","content":<text=text>}',),
        mark=("[DONE]",),
    )

    def __init__(self) -> None:
        self._began = False
        self._is_named = False
        self._is_nested = False
        """Whether messages have their type as event name and their fields in `data`; the first decides."""
        self._answered = False
        """Whether the last message was the whole answer, after which the body may end."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a score for the type of a message with the flat shape."""
        return _evidence(fields, event)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the event in `frame`."""
        if frame.data[:1] != b"{" and frame.data.strip() == b"[DONE]":
            self.complete = self._began
            return ()
        message = frame.json() if frame.event is None and frame.data else _message_of(frame)
        if type(message) is not dict:
            return () if message is None else (custom("message", message),)
        word = message.get("type")
        if type(word) is not str or not word:
            word = text_of(word) or _inferred(message)
        kind = _ALIASES.get(word, "")
        if kind == "ping":
            return ()
        if "data" in message or "metadata" in message:
            event = _event_of(message, kind)
        else:
            event = READERS.get(kind, read_other)(message, message)
        if not self._began:
            self._is_named = frame.event is not None and frame.event in _ALIASES
            self._is_nested = isinstance(message.get("data"), dict) and kind != "dataframe_data"
            self._began = not is_custom(event)
        if kind in _ANSWERING:
            self._answered = kind == "final_answer"
        return (event,)

    def read_block(self, found: re.Match[bytes]) -> Sequence[Event] | None:
        """Return the event of an end, or of a whole answer that is not empty; None before the answer."""
        kind = found.lastgroup
        if not self._began:
            return None
        if kind == "end":
            return (SessionEnd(),)
        if kind == "mark":
            self.complete = True
            return ()
        text = text_in(found["text"])
        if not text:
            return None
        self._answered = True
        return (Content(text, is_complete=True, whole="repeat"),)

    def begin_with_text(self) -> bool:
        """Note a first text: the answer has begun, in flat messages without names."""
        self._began = True
        return True

    @property
    def shown_form(self) -> Options:
        """The places of type and fields in the messages, as encoder options; empty for the usual places."""
        if not (self._is_named or self._is_nested):
            return NO_OPTIONS
        return {"named": self._is_named, "nested": self._is_nested}

    def close(self) -> Iterable[Event]:
        """Return the end of a body after its `final_answer`; many backends send no end event."""
        return (SessionEnd(),) if self._answered else super().close()


def _event_of(message: Mapping[str, Any], kind: str) -> Event:
    """Return the event of a message that has fields within `data` or `metadata`."""
    if is_standard(message):
        return read_standard(message)
    return READERS.get(kind, read_other)(message, fields_of(message))


def _message_of(frame: Frame) -> Any:
    """Return the JSON of a frame. The event name is the default type; a bare text is a whole message."""
    if not frame.data:
        return {"type": frame.event} if frame.event in _ALIASES else None
    try:
        message = frame.json()
    except MalformedEvent:
        if frame.event not in _ALIASES or frame.data.lstrip().startswith((b"{", b"[", b'"')):
            raise
        return {"type": frame.event, "content": frame.text}
    if frame.event is None or (isinstance(message, dict) and "type" in message):
        return message
    return (
        {**message, "type": frame.event}
        if isinstance(message, dict)
        else {"type": frame.event, "content": message}
    )


def _inferred(message: Mapping[str, Any]) -> str:
    """Return the type of a message without a type: only failures are sent without one."""
    return "error" if message.get("error") else ""


def _evidence(message: Mapping[str, Any], event: str | None) -> float:
    if is_standard(message):  # seen first only in a mixed stream: a standard one has its start before it
        return 0.95 if message["type"] == "thinking" else 0.0
    score = _EVIDENCE.get(text_of(message.get("type", event)), 0.0)
    return min(score, 0.5) if "tool" in message else score  # this name of the field is more usual elsewhere
