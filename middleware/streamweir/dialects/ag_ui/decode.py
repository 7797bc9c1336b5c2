"""Reads AG-UI 1.0, and the older forms that servers still write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import NO_EXTRA, Decoder
from streamweir.codec.carried_events import read_carried
from streamweir.codec.coerce import custom, meta_of, named_data, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_shapes import structured
from streamweir.codec.text_form import TextForm
from streamweir.dialects.ag_ui.decode_ending import read_finish, summary_of
from streamweir.dialects.ag_ui.decode_names import in_camel_case
from streamweir.dialects.ag_ui.decode_steps import read_step, read_subagent
from streamweir.dialects.ag_ui.decode_texts import Texts, read_reasoning
from streamweir.dialects.ag_ui.decode_tools import Calls
from streamweir.dialects.ag_ui.shared_metadata import BASE, metadata_of, read_metadata
from streamweir.events import Data, Event, Interaction, SessionStart
from streamweir.framing import Frame

__all__ = ["AgUiDecoder"]

_STARTED: Final = BASE | {"threadId", "runId", "parentRunId", "protocolVersion", "input"}
_FAILED: Final = BASE | {"message", "code", "usage"}
_KEPT: Final = frozenset({"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE"})
"""The event types of AG-UI that the standard has no event for."""

_GROUPS: Final = ("TEXT_MESSAGE_", "REASONING_", "THINKING_", "TOOL_CALL_", "STEP_", "SUBAGENT_", "RUN_")
_SURE: Final = ("threadId", "messageId", "toolCallId", "snapshot", "stepName")


class AgUiDecoder(Decoder):
    """Reads AG-UI. Calls that have no result at the end of the run are for the client to run."""

    text_fields: ClassVar = TextFields(
        texts=(("delta",),),
        ignored=(("timestamp",),),
        form=TextForm('{"type":"TEXT_MESSAGE_CONTENT","messageId":<string>,"delta":<text>}'),
    )

    def __init__(self) -> None:
        self._texts = Texts()
        self._calls = Calls()
        self._asked: set[str] = set()
        self._tokens: Mapping[str, Any] = NO_EXTRA

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The token counts of a run that failed and whose end has no summary."""
        return self._tokens

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for types in capital letters with the ids that belong to them."""
        del event
        kind = fields.get("type")
        if not isinstance(kind, str) or not kind.startswith(_GROUPS):
            return 0.0
        return 1.0 if any(name in fields for name in _SURE) or any("_id" in name for name in fields) else 0.8

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; the end of a run ends the stream."""
        if not frame.data:
            return ()
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        if self._calls.room != self.room:
            self._calls.set_room(self.room)
        message = in_camel_case(message)
        kind = text_of(message.get("type"))
        if kind in _KEPT:
            return (_other(message, kind),)
        if kind.startswith("TEXT_MESSAGE_"):
            return self._texts.read(message)
        if kind.startswith(("REASONING_", "THINKING_")):
            return read_reasoning(message)
        if kind.startswith("TOOL_CALL_"):
            return self._calls.read(message)
        return self._read_other(message, kind)

    def _read_other(self, message: Mapping[str, Any], kind: str) -> Iterable[Event]:
        match kind:
            case "RUN_STARTED":
                return (_read_start(message),)
            case "RUN_FINISHED":
                ending = read_finish(message, self._calls.waiting, self._asked)
                return (*self._texts.left_fields(), *self._calls.never_ended(), *ending)
            case "RUN_ERROR":
                self._tokens = summary_of(message)
                return (_read_error(message),)
            case "STEP_STARTED" | "STEP_FINISHED":
                return (read_step(message),)
            case "SUBAGENT_STARTED" | "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                return (read_subagent(message),)
            case "STATE_SNAPSHOT":
                return (_read_state(message, "snapshot", "state"),)
            case "STATE_DELTA":
                return (_read_state(message, "delta", "state_delta"),)
            case "MESSAGES_SNAPSHOT":
                return self._texts.read_history(message.get("messages"))
            case "CUSTOM":
                return (self._read_custom(message),)
            case "RAW":
                return ()
        return (_other(message, kind),)

    def _read_custom(self, message: Mapping[str, Any]) -> Event:
        name, value = text_of(message.get("name")), message.get("value")
        carried = read_carried(name, value, metadata_of(message))
        if isinstance(carried, Interaction):
            self._asked.add(carried.interaction_id)
        if carried is not None:
            return carried
        meta = read_metadata(message, BASE | {"name", "value"})
        return named_data(name, value, meta) if name else custom("CUSTOM", value, meta)


def _read_start(message: Mapping[str, Any]) -> Event:
    session = metadata_of(message).get("session_id")
    ids = {"thread_id": message.get("threadId"), "run_id": message.get("runId")}
    meta = read_metadata(message, _STARTED, "request_id", **ids)
    return SessionStart(session if isinstance(session, str) and session else None, meta=meta)


def _read_error(message: Mapping[str, Any]) -> Event:
    recoverable = metadata_of(message).get("recoverable")
    return upstream_error(
        message.get("message"),
        code=message.get("code"),
        recoverable=recoverable if isinstance(recoverable, bool) else None,
        meta=read_metadata(message, _FAILED, "error_type", "recoverable", "retry_after_ms", "details"),
    )


def _read_state(message: Mapping[str, Any], field: str, kind: Any) -> Event:
    meta = read_metadata(message, BASE | {field})
    fitting = structured(kind, message.get(field))
    if fitting is None:
        return named_data(text_of(message["type"]), message.get(field), meta)
    return Data(kind, fitting[0], meta=meta)


def _other(message: Mapping[str, Any], kind: str) -> Event:
    fields = {name: value for name, value in message.items() if name not in ("type", "timestamp")}
    meta = meta_of(node_id=message.get("subagentRunId"))
    return named_data(kind, fields, meta) if kind in _KEPT else custom(kind, fields, meta)
