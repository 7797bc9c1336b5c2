"""Reads the UI message stream of AI SDK 5, 6 and 7, and of servers that write it for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom, meta_of, named_data, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.codec.text_form import TextForm
from streamweir.dialects.vercel_ui.decode_data import read_data, read_file, read_reasoning_file, read_source
from streamweir.dialects.vercel_ui.decode_ending import read_finish, usage_in
from streamweir.dialects.vercel_ui.decode_texts import Texts
from streamweir.dialects.vercel_ui.decode_tools import Calls
from streamweir.events import Event, Interaction, SessionEnd, SessionStart, Status
from streamweir.framing import Frame

__all__ = ["VercelUiDecoder"]

_DONE: Final = b"[DONE]"
_FIELDS: Final[Mapping[str, str]] = {
    "text-delta": "delta",
    "reasoning-delta": "delta",
    "tool-input-delta": "inputTextDelta",
    "tool-input-available": "toolName",
    "tool-input-start": "toolName",
    "tool-output-available": "toolCallId",
    "tool-output-error": "errorText",
    "error": "errorText",
}
_KEPT: Final = frozenset({"message-metadata", "custom"})
"""The chunks that the standard has no event for."""


class VercelUiDecoder(Decoder):
    """Reads the UI message stream. Calls without a result are for the client, unless the server runs them."""

    text_fields: ClassVar = TextFields(
        texts=(("delta",),), form=TextForm('{"type":"text-delta","id":<string>,"delta":<text>}')
    )
    behind_error: ClassVar = frozenset({"finish-step", "finish"})

    def __init__(self) -> None:
        self._texts = Texts()
        self._calls = Calls()
        self._begun = False
        self._tokens: dict[str, Any] = {}

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens in the metadata of the message, as far as they have arrived."""
        return self._tokens

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for a chunk with its fields; a start or a step needs only its type."""
        kind = fields.get("type")
        if event is not None or not isinstance(kind, str) or "data" in fields or "metadata" in fields:
            return 0.0
        if kind in _FIELDS:
            return 0.95 if isinstance(fields.get(_FIELDS[kind]), str) else 0.0
        if kind in ("text-start", "text-end", "reasoning-start", "reasoning-end"):
            return 0.9 if isinstance(fields.get("id"), str) else 0.0
        if kind in ("start-step", "finish-step"):
            return 0.8
        is_bare = fields.keys() <= {"type", "messageId", "messageMetadata", "finishReason", "reason"}
        return 0.6 if kind in ("start", "finish", "abort") and is_bare else 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; `finish`, `abort` and `error` end the stream."""
        if frame.data == _DONE:
            self.complete = self._begun
            return ()
        if not frame.data:
            return ()
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        if not self._begun:
            self._begun = True
            self._texts.room = self.room // 4
            self._calls.set_room(self.room)
        kind = text_of(message.get("type"))
        if kind.startswith(("text-", "reasoning-")) and kind != "reasoning-file":
            return self._texts.read(message)
        if kind.startswith("tool-"):
            return self._calls.read(message)
        if kind.startswith("data-"):
            return (self._read_data(message),)
        return self._read_other(message, kind)

    def _read_data(self, message: Mapping[str, Any]) -> Event:
        event = read_data(message)
        if isinstance(event, Interaction):
            self._calls.note_asked(event)
        return event

    def _read_other(self, message: Mapping[str, Any], kind: str) -> Iterable[Event]:
        self._tokens |= usage_in(message)
        match kind:
            case "start":
                message_id = message.get("messageId")
                return (SessionStart(meta=meta_of(message_id=message_id, extra=_rest(message, "messageId"))),)
            case "start-step" | "finish-step":
                self._calls.next_step()
                return (*self._texts.next_step(), *_beside(message, kind))
            case "reset-step":
                return (*self._texts.withdraw_step(), *self._calls.withdraw_step(), *_beside(message, kind))
            case "source-url" | "source-document":
                return (read_source(message),)
            case "file":
                return (read_file(message),)
            case "reasoning-file":
                return (read_reasoning_file(message),)
            case "steering-message":
                return (Status("session", "resumed", kind, _rest(message) or None),)
            case "error":
                meta = meta_of(extra=_rest(message, "errorText"))
                return (upstream_error(message.get("errorText"), meta=meta),)
            case "abort":
                return (SessionEnd("cancelled", meta=meta_of(extra=_rest(message))),)
            case "finish":
                return read_finish(message, self._calls)
        rest = _rest(message)
        return (named_data(kind, rest) if kind in _KEPT else custom(kind, rest),)


def _beside(message: Mapping[str, Any], kind: str) -> Iterable[Event]:
    """Return an unknown event with the fields of a chunk that should have only a type, if any."""
    return () if len(message) == 1 else (custom(kind, _rest(message)),)


def _rest(message: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "type" and name not in known}
