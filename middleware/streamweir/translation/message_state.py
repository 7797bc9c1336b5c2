"""A message for a user interface, folded from the events of one or several streams.

Source: the library contract, section 5; the folded result of the standard protocol 1.1, section 4.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, Literal

import msgspec

from streamweir.errors import ErrorType, Reason
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    Unknown,
    Warning,
)
from streamweir.own_warnings import own_warning
from streamweir.request_errors import StreamRequestError
from streamweir.stages import REASON_OF_STATUS
from streamweir.translation.answer_order import AnswerOrder
from streamweir.translation.fold import Fold
from streamweir.translation.json_patch import CopyRoom, PatchError, apply_patch
from streamweir.translation.message_parts import MessagePart, PartList
from streamweir.translation.received_event import ReceivedEvent, failure_events
from streamweir.translation.tool_call import ToolCall

__all__ = ["MessageMetadata", "MessageState", "MessageStreamHandler"]


class MessageMetadata(msgspec.Struct, kw_only=True):
    """The ids of the last stream, the first start and the last end (in Unix milliseconds)."""

    request_id: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    start_time: int | None = None
    end_time: int | None = None


class MessageState:
    """One message, folded from the events of all its streams that have arrived. Only `MessageStreamHandler`
    changes it.

    Attributes:
        message_id: the first message id in the events.
        role: the role of the message.
        data_blocks: structured data in order; each `state_delta` is applied to the `state` before it.
        warnings: warnings, errors that did not end the run, and changes that could not be applied.
        statuses: the steps of the run, in order.
        is_streaming: a stream has begun and has not ended.
        metadata: ids and times.
    """

    def __init__(self) -> None:
        self.message_id: str | None = None
        self.role: Literal["assistant"] = "assistant"
        self.data_blocks: list[Data] = []
        self.warnings: list[Warning] = []
        self.statuses: list[Status] = []
        self.is_streaming = False
        self.metadata = MessageMetadata()
        self._fold = Fold(limit=None)
        self._order = AnswerOrder(self._fold, limit=None)
        self._parts = PartList()
        self._copies = CopyRoom()
        self._state: int | None = None
        """The index of the last block with a state; None without one."""

    @property
    def main_content(self) -> str:
        """The answer; several messages are separated by empty lines."""
        return self._fold.answer.text

    @property
    def thinking_content(self) -> str:
        """The reasoning."""
        return self._fold.thinking.text

    @property
    def channels(self) -> dict[str, str]:
        """The text of each channel other than the answer."""
        return {channel: texts.text for channel, texts in self._fold.channels.items()}

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls, in order of their start."""
        return self._fold.calls

    @property
    def parts(self) -> list[MessagePart]:
        """The parts of the message, in the order in which they began; a changed part is a new object."""
        return self._parts.as_list()

    @property
    def references(self) -> list[Reference]:
        """The references of the answer, in order of arrival."""
        return self._fold.references

    @property
    def interactions(self) -> list[Interaction]:
        """The interactions, in order of arrival."""
        return self._fold.interactions

    @property
    def has_error(self) -> bool:
        """Whether the last stream failed."""
        return self._fold.error is not None or self.status == "error"

    @property
    def error_code(self) -> str | None:
        """The code of the error that ended the last stream; None without one."""
        return self._fold.error.code if self._fold.error else None

    @property
    def error_type(self) -> ErrorType | None:
        """The type of the error that ended the last stream; None without one."""
        return self._fold.error.error_type if self._fold.error else None

    @property
    def error_message(self) -> str | None:
        """The message of the error that ended the last stream, safe to show; None without one."""
        return self._fold.error.message if self._fold.error else None

    @property
    def recoverable(self) -> bool | None:
        """Whether another attempt may succeed; None without an error."""
        return self._fold.error.recoverable if self._fold.error else None

    @property
    def retry_after_ms(self) -> int | None:
        """Milliseconds until another attempt may succeed; None if unknown."""
        return self._fold.error.retry_after_ms if self._fold.error else None

    @property
    def status(self) -> Literal["completed", "error", "cancelled", "suspended"] | None:
        """The status of the last ended stream; None before the first end."""
        return self._fold.end.status if self._fold.end else None

    @property
    def reason(self) -> Reason | None:
        """Why the last stream ended; for protocol 1.0, which has no reasons, one derived from the status."""
        end = self._fold.end
        return (end.reason or REASON_OF_STATUS[end.status]) if end else None

    @property
    def summary(self) -> dict[str, Any] | None:
        """The summary of the end: tokens, time, and numbers of calls and events."""
        return self._fold.end.summary if self._fold.end else None

    def folded(self) -> dict[str, Any]:
        """Return the folded result, as the server sends it for a request with `Accept: application/json`."""
        folded = self._fold.result()
        if self._order.has_opaque:
            folded["message"]["turn"] = self.as_message()
        return folded

    def as_message(self) -> dict[str, Any]:
        """Return the message in the form that a request uses, opaque values included.

        It has `role`, `content` (a text, or parts: `text`, `reasoning`, `tool_call`) and `tool_calls`.

        Source: the request contract, section 2.
        """
        return self._order.message()

    def __repr__(self) -> str:
        return (
            f"MessageState(message_id={self.message_id!r}, status={self.status!r}, {self.main_content!r:.60})"
        )


class MessageStreamHandler:
    """Folds events into a message.

    Args:
        message: the message of earlier streams; None: a new one.
        on_update: called with the message after each event.
    """

    def __init__(
        self,
        message: MessageState | None = None,
        *,
        on_update: Callable[[MessageState], object] | None = None,
    ) -> None:
        self.message = message or MessageState()
        self._on_update = on_update

    def handle_event(self, event: ReceivedEvent | Event | Mapping[str, Any]) -> MessageState:
        """Fold one event into the message, and return the message. An unknown type changes nothing.

        Raises:
            MalformedEvent: a mapping without a type.
        """
        if isinstance(event, Mapping):
            event = ReceivedEvent(event)
        if isinstance(event, ReceivedEvent):
            _note_metadata(self.message, event)
            payload, given = event.data, event.metadata
            at = given.timestamp if given.upstream_time is None else given.upstream_time
        else:
            payload, at = event, (event.meta or {}).get("upstream_time")
        if not isinstance(payload, Unknown):
            _fold_in(self.message, payload, at)
        if self._on_update is not None:
            self._on_update(self.message)
        return self.message

    async def consume(self, events: AsyncIterable[ReceivedEvent | Event | Mapping[str, Any]]) -> MessageState:
        """Fold a whole stream into the message, and return the message.

        Exceptions of `events` are raised; a `StreamRequestError` is first folded in as an error.
        """
        try:
            async for event in events:
                self.handle_event(event)
        except StreamRequestError as failure:
            self._fail(failure)
            raise
        finally:
            self.message.is_streaming = False
            if (aclose := getattr(events, "aclose", None)) is not None:
                await aclose()
        return self.message

    def _fail(self, failure: StreamRequestError) -> None:
        for event in failure_events(failure.info, request_id=failure.request_id):
            self.handle_event(event)


def _note_metadata(message: MessageState, event: ReceivedEvent) -> None:
    known, given = message.metadata, event.metadata
    message.message_id = message.message_id or given.message_id
    known.session_id = given.session_id or known.session_id
    known.thread_id = given.thread_id or known.thread_id
    if given.request_id is not None:
        known.request_id = message._fold.request_id = given.request_id
    if known.start_time is None:
        known.start_time = given.timestamp
    message.is_streaming = event.type != "session_end"
    known.end_time = None if message.is_streaming else given.timestamp


def _fold_in(message: MessageState, payload: Event, at: int | None) -> None:
    message.is_streaming = not isinstance(payload, SessionEnd)
    match payload:
        case SessionStart():
            message.metadata.session_id = payload.session_id or message.metadata.session_id
            message.metadata.request_id = payload.request_id or message.metadata.request_id
        case Data(data_type="state_delta"):
            _change_state(message, payload, at)
        case Data():
            _add_block(message, payload, payload, at)
        case Warning():
            message.warnings.append(payload)
        case Error(terminal=False):
            message.warnings.append(Warning(message=payload.message, message_code=payload.code))
        case Status():
            message.statuses.append(payload)
    known_calls = len(message.tool_calls)
    message._fold.add(payload, at)
    message._order.add(payload)
    for call in message.tool_calls[known_calls:]:
        message._parts.begin_call(call, payload.meta, at)
    _note_part(message._parts, payload, at)


def _note_part(parts: PartList, payload: Event, at: int | None) -> None:
    """Fold an event into the parts, unless it is about a call or data."""
    match payload:
        case Content():
            parts.add_text(payload, at)
        case Thinking():
            parts.add_thinking(payload, at)
        case Status():
            parts.add_status(payload, at)
        case Interaction():
            parts.add_interaction(payload, at)
        case Reference():
            parts.add_reference(payload, at)
        case SessionStart():
            parts.begin_stream()
        case SessionEnd():
            parts.end_stream()


def _add_block(message: MessageState, block: Data, event: Data, at: int | None) -> None:
    if block.data_type == "state":
        message._state = len(message.data_blocks)
    message.data_blocks.append(block)
    message._parts.add_block(block, event.meta, at)


def _change_state(message: MessageState, delta: Data, at: int | None) -> None:
    """Apply `delta` to the last state, or to an empty one; a patch that does not fit becomes a warning."""
    blocks, place = message.data_blocks, message._state
    before = Data("state", {}) if place is None else blocks[place]
    try:
        after = msgspec.structs.replace(before, data=_patched(before.data, delta.data, message._copies))
    except PatchError:
        message.warnings.append(own_warning("STATE_DELTA_IGNORED"))
        return
    if place is None:
        _add_block(message, after, delta, at)
    else:
        blocks[place] = after
        message._parts.change_block(place, after, at)


def _patched(state: Any, patch: Any, copies: CopyRoom) -> dict[str, Any]:
    changed = apply_patch(state, patch, copies)
    if not isinstance(changed, dict):
        raise PatchError("a state is an object")
    return changed
