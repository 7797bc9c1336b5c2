"""Collects the arguments of calls that arrive in pieces. A call starts when its arguments are complete.

    a call that                             starts before
    ─────────────────────────────────────   ──────────────────────────────────────────────────────────────
    has a start with arguments              what follows: it leaves at once, and later pieces are left out
    has a start without arguments           its progress or end, a question, text, thinking, the end
    has pieces and no start                 its progress or end, a question, the end of the stream

Source: the dialect-file contract, section 3. A piece without an id belongs to the call that began with its
index, else to the last call with its name, else to the last call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from streamweir.codec.coerce import arguments
from streamweir.codec.short_names import with_short_names
from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Error,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    ids_of,
)
from streamweir.ids import RecentIds, short_index
from streamweir.options.limits import EVENT_BYTES

__all__ = ["ArgumentPieces"]

MAX_CALLS: Final = 128
"""The most calls that are collected at the same time. Each piece is compared with all of these calls."""


class _Call(msgspec.Struct, eq=False):
    """A call whose arguments are arriving."""

    tool_id: str
    index: str | int | float | None
    name: str | None
    meta: Meta | None
    pieces: TextPieces = msgspec.field(default_factory=TextPieces)
    announced: ToolCallStart | None = None
    """The start of the call, which waits for its arguments; None if no start has arrived."""

    def start(self) -> ToolCallStart:
        if self.announced is not None:
            return msgspec.structs.replace(
                self.announced,
                tool_id=self.announced.tool_id or self.tool_id,
                tool_name=self.name or self.announced.tool_name,
                arguments=arguments(self.pieces.text),
            )
        return ToolCallStart(
            self.tool_id, self.name or "unknown", arguments=arguments(self.pieces.text), meta=self.meta
        )


class ArgumentPieces:
    """The calls of one stream whose arguments are not complete.

    Args:
        room: the number of bytes of arguments, roughly, that may wait. An eighth of it is for the ids of
            calls that have started: later pieces of these calls are left out.
        starts_wait: whether a start without arguments waits for the pieces that follow it.
    """

    def __init__(self, room: int = EVENT_BYTES, *, starts_wait: bool = False) -> None:
        self._starts_wait = starts_wait
        self._calls: list[_Call] = []
        self._left = room
        self._started: RecentIds[None] = RecentIds(room // 8)

    @property
    def has_calls(self) -> bool:
        """Whether some call has not started yet."""
        return bool(self._calls)

    @property
    def has_waiting_start(self) -> bool:
        """Whether a call's start waits for its arguments. Such a start is sent before any later text."""
        return any(call.announced is not None for call in self._calls)

    def pass_on(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield `events`, each after the starts of the calls that have to start before it.

        Raises:
            LimitExceeded: more is collected than can be kept.
        """
        for event in map(with_short_names, events):
            match event:
                case ToolCallDelta():
                    yield self._collect(event)
                case ToolCallStart() if event.arguments or not self._starts_wait or self._is_whole(event):
                    yield self._completed(event)
                case ToolCallStart():
                    self._announce(event)
                case Content(content=text) | Thinking(content=text):
                    if text:
                        yield from self._start([call for call in self._calls if call.announced is not None])
                    yield event
                case ToolCallProgress() | ToolCallEnd():
                    call = self._meant(event.tool_id, event.tool_name)
                    yield from self._start([call] if call else [])
                    yield event
                case Interaction() | SessionEnd() | Error(terminal=True):
                    yield from self.start_all()
                    yield event
                case _:
                    yield event

    def start_all(self) -> list[ToolCallStart]:
        """Return the starts of all waiting calls: no more arguments will arrive."""
        return self._start([*self._calls])

    def _collect(self, event: ToolCallDelta) -> ToolCallDelta:
        if event.tool_id in self._started:
            return event
        call = self._call_of(event)
        call.name = call.name or event.tool_name
        self._left -= call.pieces.append(event.arguments_delta)
        if self._left < 0:
            raise LimitExceeded("more text of arguments waits than is allowed")
        return ToolCallDelta(call.tool_id, call.name, event.arguments_delta, meta=event.meta)

    def _call_of(self, event: ToolCallDelta) -> _Call:
        known = self._same_call(event)
        if known is not None:
            known.tool_id = known.tool_id or event.tool_id
            return known
        if len(self._calls) >= MAX_CALLS:
            raise LimitExceeded("more calls are collected than is allowed")
        call = _Call(event.tool_id, short_index(event.index), event.tool_name, ids_of(event.meta))
        self._calls.append(call)
        return call

    def _is_whole(self, event: ToolCallStart) -> bool:
        """Return whether the pieces that arrived before the start of a call form one whole JSON object."""
        call = self._meant(event.tool_id, None if event.tool_name == "unknown" else event.tool_name)
        if call is None or not call.pieces.size:
            return False
        return "_raw" not in arguments(call.pieces.text)

    def _announce(self, event: ToolCallStart) -> None:
        """Keep a call's start until its arguments are complete; some pieces may have arrived before it."""
        name = None if event.tool_name == "unknown" else event.tool_name
        call = self._meant(event.tool_id, name)
        if call is None or call.announced is not None:
            if len(self._calls) >= MAX_CALLS:
                raise LimitExceeded("more calls are collected than is allowed")
            call = _Call(event.tool_id, None, name, None)
            self._calls.append(call)
        call.tool_id, call.name = call.tool_id or event.tool_id, name or call.name
        call.announced = event

    def _same_call(self, event: ToolCallDelta) -> _Call | None:
        """Return the call that a piece belongs to, by id, index or name. Each id names a separate call."""
        if event.tool_id:
            for call in reversed(self._calls):
                if call.tool_id == event.tool_id:
                    return call
        index = short_index(event.index)
        for call in reversed(self._calls):
            may_be_it = not (event.tool_id and call.tool_id)
            if index is not None:
                is_it = call.index == index
            else:
                is_it = not event.tool_id and event.tool_name in (None, call.name)
            if may_be_it and is_it:
                return call
        return self._first_without_index(event, index)

    def _first_without_index(self, event: ToolCallDelta, index: str | int | float | None) -> _Call | None:
        """Return the first started call without an index, and give it the index of this piece."""
        for call in self._calls:
            may_be_it = not event.tool_id or not call.tool_id
            if index is not None and may_be_it and call.announced is not None and call.index is None:
                call.index = index
                return call
        return None

    def _completed(self, event: ToolCallStart) -> ToolCallStart:
        """Return `event`, with the collected arguments if the start itself has no arguments."""
        name = None if event.tool_name == "unknown" else event.tool_name
        call = self._meant(event.tool_id, name)
        if call is None:
            self._note_started(event.tool_id)
            return event
        (collected,) = self._start([call])
        return msgspec.structs.replace(
            event,
            tool_id=event.tool_id or collected.tool_id,
            tool_name=name or collected.tool_name,
            arguments=event.arguments or collected.arguments,
        )

    def _meant(self, tool_id: str, name: str | None) -> _Call | None:
        """Return the call with this id; if the call or the piece has no id, the last call with this name."""
        for call in reversed(self._calls):
            if tool_id and call.tool_id == tool_id:
                return call
        for call in reversed(self._calls):
            if not (tool_id and call.tool_id) and (name is None or call.name in (None, name)):
                return call if not tool_id or tool_id not in self._started else None
        return None

    def _start(self, calls: list[_Call]) -> list[ToolCallStart]:
        for call in calls:
            self._calls.remove(call)
            self._left += call.pieces.size
            self._note_started(call.tool_id)
        return [call.start() for call in calls]

    def _note_started(self, tool_id: str) -> None:
        if tool_id:
            self._started.add(tool_id, None)
