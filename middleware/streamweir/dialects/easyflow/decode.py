"""Reads EasyFlow's specification and the form of AIFlowy's servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder, Options
from streamweir.codec.coerce import custom, is_custom, leftover, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.easyflow.decode_domains import READERS, read_error, read_interaction, read_other
from streamweir.dialects.easyflow.decode_envelope import Envelope, Run, is_envelope
from streamweir.dialects.easyflow.decode_history import read_history
from streamweir.dialects.easyflow.shared_vocabulary import DOMAINS
from streamweir.errors import MalformedEvent
from streamweir.events import Event, SessionEnd
from streamweir.framing import Frame

__all__ = ["EasyflowDecoder"]

_HISTORY: Final = "needsavemessage"
_DONE_MARK: Final = b"[DONE]"
_ANSWERING: Final = ("llm", "tool")
"""The domains whose events show that a run continues after an error or a pause."""


class EasyflowDecoder(Decoder):
    """Reads EasyFlow chat 1.1 and AIFlowy. If the envelope has no domain and type, the event name decides."""

    errors_for_users = True
    text_fields: ClassVar = TextFields(
        texts=(("payload", "delta"), ("payload",)), ignored=(("index",), ("timestamp",))
    )

    def __init__(self) -> None:
        self._run = Run()
        self._began = False
        self._is_done = False
        self._variant = "easyflow"

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for the protocol's name, and a lower one for a known domain with a payload."""
        return _evidence(fields, event)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; `done` and errors that end the run end the stream."""
        if frame.data.strip() == _DONE_MARK and (frame.event or "message") == "message":
            self.complete = self._is_done = self._began
            return ()
        message = _message_of(frame)
        if not isinstance(message, dict):
            return () if message is None else (custom("message", message),)
        if refusal := _refusal(message):
            return (refusal,)
        if message.get("protocol") == "aiflowy-chat":
            self._variant = "aiflowy"
        return self._read(Envelope(message, frame.event, self._run))

    @property
    def shown_form(self) -> Options:
        """The variant of the vocabulary that the server writes, as options of the encoder."""
        return {"variant": self._variant}

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._run.usage

    def close(self) -> Iterable[Event]:
        """Return the end: suspended if the run waits for a person, failed if the last event was an error."""
        if self._run.waits or self._run.paused_steps:
            return (self._run.suspended(),)
        if self._run.failure:
            return (SessionEnd("error"),)
        return (SessionEnd(),) if self._is_done else ()

    def _read(self, envelope: Envelope) -> Iterator[Event]:
        if envelope.domain in _ANSWERING and envelope.type != "error":
            self._run.go_on()
        for event in self._events(envelope):
            self._began = self._began or not is_custom(event)
            yield event
        if envelope.ends:
            yield self._run.end(envelope)
        self.pauses = self._run.pauses and self._run.waits and not self._is_done
        self.complete = self._is_done or self.pauses

    def _events(self, envelope: Envelope) -> Iterable[Event]:
        if envelope.type == "error" or envelope.event == "error":
            return read_error(envelope, self._run)
        if envelope.ends and (envelope.type == "done" or not envelope.payload):
            return ()
        if not envelope and envelope.event in ("", "message", "ping"):
            return ()
        if envelope.event == _HISTORY or _is_history(envelope):
            return read_history(envelope, self._run)
        if envelope.domain == "interaction":
            return read_interaction(envelope, self._run)
        reader = READERS.get((envelope.domain, envelope.type))
        is_readable = envelope.value is None or isinstance(envelope.value, dict)
        return reader(envelope, self._run) if reader and is_readable else (read_other(envelope),)


def _message_of(frame: Frame) -> Any:
    """Return the JSON value of a frame; for a name without data that ends the stream, an empty object."""
    event = (frame.event or "").lower()
    if not frame.data.strip():
        return {} if event in ("done", "error") else None
    try:
        return frame.json()
    except MalformedEvent:
        is_half = frame.data.lstrip().startswith((b"{", b"[")) and frame.data.strip() != _DONE_MARK
        if event not in ("done", "error") or is_half:
            raise
        return {"payload": {"code": "SYSTEM_ERROR", "message": frame.text}} if event == "error" else {}


def _is_history(envelope: Envelope) -> bool:
    """Return whether a message without an event name is a part of the history to be saved."""
    return (envelope.domain, envelope.type) == ("system", "message") and "role" in envelope.payload


def _refusal(message: Mapping[str, Any]) -> Event | None:
    """Return the error in AIFlowy's answer to a refused request; None for any other object."""
    code = message.get("errorCode")
    if not isinstance(code, int) or not code or is_envelope(message):
        return None
    details = leftover(message, ("errorCode", "message"))
    return upstream_error(message.get("message"), code=code, for_users=False, details=details)


def _evidence(message: Mapping[str, Any], event: str | None) -> float:
    if event == "needSaveMessage":
        return 0.95
    if not is_envelope(message):
        return 0.55 if _refusal(message) and "message" in message else 0.0
    if text_of(message.get("domain")).lower() not in DOMAINS or isinstance(message.get("protocol"), str):
        return 1.0
    if isinstance(message.get("payload"), dict):
        return 0.9
    return 0.75 if "type" in message or event else 0.5
