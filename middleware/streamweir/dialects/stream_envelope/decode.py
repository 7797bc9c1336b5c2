"""Reads every form of the envelope, one message at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder, Options
from streamweir.codec.coerce import custom
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_events import is_standard
from streamweir.dialects.stream_envelope.decode_code_agent import CODE_AGENT
from streamweir.dialects.stream_envelope.decode_flat import FLAT
from streamweir.dialects.stream_envelope.decode_graph import GRAPH, Reader
from streamweir.dialects.stream_envelope.decode_message import Message, Run
from streamweir.dialects.stream_envelope.shared_vocabulary import TRACE
from streamweir.events import Event
from streamweir.framing import Frame
from streamweir.own_warnings import own_warning

__all__ = ["EnvelopeDecoder"]

_READERS: Final[dict[str, Reader]] = {**GRAPH, **CODE_AGENT, **FLAT}
_UNREADABLE: Final = "_serialization_error"
_VALID_WITHOUT_DATA: Final = frozenset({"error", "done", "interrupt"})
"""The types that have a meaning even if the server could not serialise their data."""

_ENDS: Final = ("", "done", "error", "stopped")
"""The types that add no meaning if a flag of the message tells how the stream ended."""

_FLAGGED: Final = {
    "stopped": frozenset({"", "content", "done", "error", "status", "stopped"}),
    "done": frozenset({"", "content", "done"}),
}
"""For each flag of the stream: the types of messages in which it is one; in others it is the app's field."""

_WHOLE: Final = frozenset({"code_agent_thought", "code_agent_planning", "thought_step", "intermediate"})
"""The types of thoughts that arrive whole."""

_OWN_TYPES: Final = frozenset({*GRAPH, *CODE_AGENT}) - {"content", "error", "done", "status", "thread_id"}


class EnvelopeDecoder(Decoder):
    """Reads the envelope, the older flat form, and those of the copilot and the agent service, even mixed."""

    text_fields: ClassVar = TextFields(
        texts=(
            *(("data", name) for name in ("delta", "content", "text", "token", "plan")),
            *((name,) for name in ("delta", "content", "text", "token", "data", "plan")),
        ),
    )

    def __init__(self) -> None:
        self._run = Run()
        self._began = False
        self._is_whole = False
        self._is_flat: bool | None = None
        """Whether the messages are flat; the first message decides."""

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an envelope; flat forms score by fields that only they have."""
        del event
        return _evidence(fields)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an end, a stop or an interrupt ends the stream."""
        if not frame.data:
            return ()
        if frame.data.strip() == b"[DONE]":
            self.complete = self._began
            return ()
        value = frame.json()
        if not isinstance(value, dict):
            return (custom("message", value),)
        if self._is_flat is None:
            self._is_flat = not isinstance(value.get("data"), dict)
        return self._read(Message(value))

    def accepts_text(self, text: str) -> bool:
        """Return whether a text continues the last text. A whole thought is a separate message."""
        del text
        return not self._is_whole

    def accepts_texts(self, texts: Sequence[str]) -> int:
        """Accept all texts, or none of them: see `accepts_text`."""
        return 0 if self._is_whole else len(texts)

    @property
    def shown_form(self) -> Options:
        """The envelope or the flat form before it, as options of the encoder."""
        return {"form": "old" if self._is_flat else "new"}

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._run.usage

    def close(self) -> Iterable[Event]:
        """Return the end after `[DONE]`, with the usage of the model runs."""
        return (self._run.end_with(None),) if self.complete else ()

    def _read(self, message: Message) -> Iterator[Event]:
        stopped, done = _flag(message, "stopped"), _flag(message, "done")
        if (stopped or done) and message.kind in _ENDS:
            yield self._run.end(message, "cancelled" if stopped else "completed")
            return
        if _UNREADABLE in message.fields:
            yield _unreadable(message)
            if message.kind not in _VALID_WITHOUT_DATA:
                return
        if reader := _READERS.get(message.kind):
            self._began = True
            self._is_whole = message.kind in _WHOLE
            yield from reader(message, self._run)
        else:
            yield custom(message.kind or "message", dict(message.fields), message.ids())
        if stopped or done:
            yield self._run.end_with(message.ids(), "cancelled" if stopped else "completed")


def _flag(message: Message, name: str) -> bool:
    return message.kind in _FLAGGED[name] and message.fields.get(name) is True


def _unreadable(message: Message) -> Event:
    """Return the event that reports a message that the server could not serialise."""
    detail = {"type": message.kind, "reason": message.fields.pop(_UNREADABLE)}
    return own_warning("UPSTREAM_MALFORMED_EVENT", detail=detail, meta=message.ids())


def _evidence(message: Mapping[str, Any]) -> float:
    if is_standard(message):
        return 0.0
    kind, data = message.get("type"), message.get("data")
    if isinstance(data, dict) and isinstance(kind, str):
        return _evidence_of_envelope(message, kind)
    if not isinstance(kind, str | None):
        return 0.0
    if {"run_id", "node_name"} <= message.keys() and kind in _READERS:
        return 0.9
    rows = _FLAT_EVIDENCE.get(kind, ())
    return max((score for keys, score in rows if keys <= message.keys()), default=0.0)


def _evidence_of_envelope(message: Mapping[str, Any], kind: str) -> float:
    if any(name in message for name in TRACE[1:]):
        return 0.98
    if "run_id" in message and "node_name" in message:
        return 0.95
    if kind in _OWN_TYPES:
        return 0.85 if "thread_id" in message else 0.7
    return 0.75 if kind in _READERS and "thread_id" in message else 0.0


_FLAT_EVIDENCE: Final[Mapping[Any, tuple[tuple[frozenset[str], float], ...]]] = {
    "thread_id": ((frozenset({"thread_id"}), 0.8),),
    "content": tuple(
        (frozenset(keys), 0.6)
        for keys in (("content", "thread_id"), ("content", "stopped"), ("data", "thread_id"))
    ),
    "tool_start": ((frozenset({"tool_name", "tool_input"}), 0.85), (frozenset({"tool_name"}), 0.7)),
    "tool_end": ((frozenset({"tool_name", "tool_output"}), 0.85), (frozenset({"tool_name"}), 0.7)),
    "done": ((frozenset({"thread_id"}), 0.6), (frozenset({"stopped"}), 0.6)),
    "error": ((frozenset({"thread_id"}), 0.6), (frozenset({"stopped"}), 0.6)),
    "status": ((frozenset({"stage", "message"}), 0.75), (frozenset({"status", "thread_id"}), 0.7)),
    "tool_call": ((frozenset({"tool", "input"}), 0.75),),
    "tool_result": ((frozenset({"action"}), 0.8),),
    "thought_step": ((frozenset({"step"}), 0.85),),
    "result": ((frozenset({"message", "actions"}), 0.85),),
    "start": ((frozenset({"session_id"}), 0.6),),
    "task_created": ((frozenset({"task_id"}), 0.85),),
    "chunk": ((frozenset({"data"}), 0.55),),
    "intermediate": ((frozenset({"data"}), 0.7),),
    "complete": ((frozenset({"total_length"}), 0.7),),
    None: ((frozenset({"stopped", "thread_id"}), 0.7), (frozenset({"stopped"}), 0.5)),
}
"""For each type: the fields that show this dialect, and the score that they give."""
