"""Gives every tool call one start, one end and a unique id.

Source: the standard protocol 1.1, section 3 rules 4 and 5. Calls without ids are paired by name: calls that
were opened in a row end in the order of their start; otherwise the call opened last ends first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from streamweir.errors import TOOL_CODES, LimitExceeded
from streamweir.events import (
    Error,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    failure_meta,
)
from streamweir.ids import RecentIds, made_call_id, room_for
from streamweir.jsontext import json_identity
from streamweir.options.limits import EVENT_BYTES
from streamweir.own_warnings import own_warning
from streamweir.stages.announced_call import AnnouncedCall
from streamweir.stages.open_calls import MAX_OPEN, OpenCall, OpenCalls
from streamweir.stages.position import StreamPosition

__all__ = ["UNNAMED", "Tools"]

E = TypeVar("E", bound=Event)

_CALL: Final = 2048
"""Bytes that an open call takes without its ids: the tables in which it is found."""

_LEAST_ID_ROOM: Final = 16 << 10
"""Bytes that ids may take at least: some 80 calls keep their ids, however small an event may be."""

_COMPARED: Final = 16
"""A start is compared with at most this many open calls of its name: honest upstreams repeat at once."""

_ENDS: Final = frozenset({SessionEnd, Error})

UNNAMED: Final = "unknown"
"""The name of a call that has no tool name."""


class Tools:
    """Pairs, repairs and closes tool calls.

    Args:
        stream_arguments: let the pieces of a call's arguments through.
        position: the position of the stream; tells whether an event came between two calls.
        room: roughly how many bytes the open calls may take; half as many, but at least 32 KiB, may go to
            the ids of other calls.
        request_id: the id of the stream; the ids of calls without one are made of it.

    Attributes:
        repairs: the number of starts that this stage has made up.
        started: the number of calls that began.
        left_open: the stream has ended while a call had no end.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(
        {ToolCallStart, ToolCallDelta, ToolCallProgress, ToolCallEnd, Interaction, Error, SessionEnd}
    )
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    repairs = 0
    started = 0
    left_open = False
    _has_begun = False
    """An event of a call has come. Before the first one, no state is kept and nothing has to be closed."""
    _row = 0
    _follows_at = -1
    _made_up = 0
    _asked = 0

    def __init__(
        self,
        stream_arguments: bool = False,
        position: StreamPosition | None = None,
        room: int = EVENT_BYTES,
        request_id: str = "",
    ) -> None:
        self._request_id = request_id
        self._stream_arguments = stream_arguments
        self._position = position or StreamPosition(0, 0)
        self._open_room = room
        self._announced_room = self._argument_room = room // 4

    @cached_property
    def _open(self) -> OpenCalls:
        """The calls without an end; made when the first call comes, like all state that only calls need."""
        return OpenCalls(self._open_room)

    @cached_property
    def _announced(self) -> dict[str, AnnouncedCall]:
        """The calls whose arguments come in pieces, before their start."""
        return {}

    @cached_property
    def _ended(self) -> RecentIds[None]:
        """The upstream's ids of calls that have ended; made when the first call ends."""
        return RecentIds(max(self._open_room // 4, _LEAST_ID_ROOM))

    @cached_property
    def _used(self) -> RecentIds[None]:
        """The ids by which clients know calls."""
        return RecentIds(max(self._open_room // 4, _LEAST_ID_ROOM))

    @property
    def has_open(self) -> bool:
        """Whether a call has no end yet."""
        return self._has_begun and bool(self._open.all)

    def has_started(self, tool_id: str) -> bool:
        """Return whether a call with this id has begun; it may be over."""
        return tool_id in self._used and tool_id not in self._announced

    def has_ended(self, tool_id: str) -> bool:
        """Return whether the call with this id has ended."""
        return tool_id in self._ended and not self._open.of(tool_id, None)

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return `event` after the events that have to precede it, to put its call in order; None: unchanged.

        Raises:
            LimitExceeded: more calls are open at a time than can be kept.
        """
        if not self._has_begun and type(event) in _ENDS:
            return None
        if type(event) is ToolCallStart:
            return self._in_row(self._start, event)
        if type(event) is ToolCallEnd:
            return self._in_row(self._end, event)
        match event:
            case ToolCallDelta():
                return self._in_row(self._delta, event)
            case ToolCallProgress():
                return self._in_row(self._progress, event)
            case Interaction(kind="tool" | "approval"):
                return self._in_row(self._ask, event)
            case Interaction(interaction_id=""):
                return (self._named(event),)
            case Error(terminal=False):
                return None
            case SessionEnd(status="suspended"):
                return (*self._start_announced(), event)
            case Error() | SessionEnd() if self._announced or self._open.all:
                self.left_open = True
                announced = self._start_announced()
                ends = (_incomplete(start.tool_id) for start in announced)
                return (*announced, *self._close_open(), *ends, event)
        return None

    def _in_row(self, handle: Callable[[E], Iterable[Event] | None], event: E) -> Iterable[Event] | None:
        """Return what `handle` returns; note whether another event has come since the last one of a call."""
        self._has_begun = True
        position = self._position
        if position.written != self._follows_at:
            self._row += 1
        events = handle(event)
        if events is None and position.is_quiet:
            self._follows_at = position.written + 1
            return None
        return self._followed((event,) if events is None else events)

    def _followed(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass on the events of a call, and note where the next event follows them."""
        yield from events
        self._follows_at = self._position.written

    def _start(self, event: ToolCallStart) -> Iterable[Event] | None:
        given = event.tool_id
        known = self._open.of(given, event.tool_name) if given else {}
        arguments = _digest(event.arguments)
        for call in islice(reversed(known.values()), _COMPARED) if known else ():
            if call.arguments == arguments:
                return ()
        announced = self._take_announced(given) if self._announced else None
        tool_id = announced.start.tool_id if announced else self._unique(given)
        start = event if tool_id == given else msgspec.structs.replace(event, tool_id=tool_id)
        self._remember(given, start, arguments)
        return None if start is event else (start,)

    def _delta(self, event: ToolCallDelta) -> Iterator[Event]:
        """Pass on a piece of arguments; drop it if its call has begun, because it comes too late."""
        given = event.tool_id
        if not self._stream_arguments or not given or given in self._ended or self._open.of(given, None):
            return
        announced = self._announced.get(given)
        if announced is None:
            start = ToolCallStart(tool_id=self._unique(given), tool_name=event.tool_name or UNNAMED)
            announced = self._announced[given] = AnnouncedCall(start)
            self._announced_room -= room_for(given, start.tool_name) + _CALL // 4
            if self._announced_room < 0 or len(self._announced) > MAX_OPEN:
                raise LimitExceeded("more tool calls are announced than allowed")
        self._argument_room -= announced.keep(event.arguments_delta, self._argument_room)
        tool_id = announced.start.tool_id
        yield event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)

    def _take_announced(self, upstream_id: str) -> AnnouncedCall | None:
        announced = self._announced.pop(upstream_id, None)
        if announced is not None:
            self._argument_room += announced.size
        return announced

    def _progress(self, event: ToolCallProgress) -> Iterator[Event]:
        call = self._find(event.tool_id, event.tool_name)
        if call is None:
            if event.tool_id in self._ended:
                return
            call = yield from self._make_up(event.tool_id, event.tool_name)
        tool_id = call.tool_id
        yield event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)

    def _end(self, event: ToolCallEnd) -> Iterable[Event] | None:
        call = self._find(event.tool_id, event.tool_name)
        if call is not None:
            end = self._end_of(call, event)
            return None if end is event else (end,)
        if event.tool_id in self._ended:
            self.repairs += 1
            return ()
        return self._end_made_up(event)

    def _end_made_up(self, event: ToolCallEnd) -> Iterator[Event]:
        call = yield from self._make_up(event.tool_id, event.tool_name)
        yield self._end_of(call, event)

    def _end_of(self, call: OpenCall, event: ToolCallEnd) -> ToolCallEnd:
        """Return the end of a call, and forget the call."""
        self._forget(call)
        tool_id = call.tool_id
        named = event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)
        return named if call.began is None else _with_duration(named, call.began)

    def _ask(self, event: Interaction) -> Iterator[Event]:
        """Yield a request to run or approve a call, with the call's id that the client knows."""
        given = event.interaction_id
        calls = self._open.of(given or None, None)
        if calls:
            tool_id = next(reversed(calls))
        elif event.kind == "tool" and event.state == "requested" and not self.has_started(given):
            call = yield from self._make_up(given, event.title)
            tool_id = call.tool_id
        else:
            tool_id = given
        asked = event if given == tool_id else msgspec.structs.replace(event, interaction_id=tool_id)
        yield asked if tool_id else self._named(asked)

    def _named(self, event: Interaction) -> Interaction:
        """Return a question with an id, because an answer has to name it."""
        self._asked += 1
        return msgspec.structs.replace(event, interaction_id=f"ask_{self._asked}")

    def _find(self, upstream_id: str, name: str | None) -> OpenCall | None:
        """Return the open call with this id and name; if the id or the name is missing, the most likely call.

        With an id: the first call with that id and name, else with that id, else a call that the upstream
        gave no id. Without an id: the last call with that name, or the last of all calls if there is no name
        either. Calls of one name that were opened in a row end in the order of their start.
        """
        if not upstream_id:
            return self._last_or_first_beside(None, name)
        calls = self._open.of(upstream_id, name) or self._open.of(upstream_id, None)
        if calls:
            return next(iter(calls.values()))
        return None if upstream_id in self._ended else self._last_or_first_beside("", name)

    def _last_or_first_beside(self, upstream_id: str | None, name: str | None) -> OpenCall | None:
        last = next(reversed(self._open.of(upstream_id, name).values()), None)
        if last is None:
            return None
        first = self._open.first_beside(last)
        return first if upstream_id in (None, first.upstream_id) else last

    def _make_up(self, upstream_id: str, name: str | None) -> Generator[Event, None, OpenCall]:
        self.repairs += 1
        announced = self._take_announced(upstream_id)
        start = (
            announced.start
            if announced
            else ToolCallStart(tool_id=self._unique(upstream_id), tool_name=name or UNNAMED)
        )
        call = self._remember(upstream_id, start, _digest(start.arguments))
        yield own_warning("TOOL_CALL_REPAIRED")
        yield start
        return call

    def _unique(self, upstream_id: str) -> str:
        """Return an id that no call of the stream had: the upstream's, if it is certain to be new."""
        if self._used.has_dropped:
            upstream_id = ""
        candidate = upstream_id
        while not candidate or candidate in self._used or candidate in self._open.all:
            self._made_up += 1
            candidate = (
                f"{upstream_id}_{self._made_up}"
                if upstream_id
                else made_call_id(self._request_id, self._made_up)
            )
        self._used.add(candidate, None)
        return candidate

    def _remember(self, upstream_id: str, start: ToolCallStart, arguments: bytes) -> OpenCall:
        meta = failure_meta(start.meta) if start.meta else None
        ids = [value for value in meta.values() if isinstance(value, str)] if meta else ()
        room = _CALL + room_for(upstream_id, start.tool_id, start.tool_name, *ids)
        began = start.meta.get("upstream_time") if start.meta else None
        call = OpenCall(upstream_id, start.tool_id, start.tool_name, arguments, meta, self._row, room, began)
        self._open.add(call)
        self.started += 1
        return call

    def _forget(self, call: OpenCall) -> None:
        self._open.remove(call)
        if call.upstream_id and not self._open.of(call.upstream_id, None):
            self._ended.add(call.upstream_id, None)

    def _start_announced(self) -> list[ToolCallStart]:
        """Return starts for the calls whose arguments broke off, so that clients can show their end."""
        starts = [call.with_arguments() for call in self._announced.values()]
        self.started += len(starts)
        self._announced.clear()
        return starts

    def _close_open(self) -> Iterator[Event]:
        for call in self._open.all.values():
            yield _incomplete(call.tool_id, call.meta)
        self._open.clear()


def _incomplete(tool_id: str, meta: Meta | None = None) -> ToolCallEnd:
    """Return an end for a call that has none."""
    return ToolCallEnd(
        tool_id=tool_id,
        status="failed",
        error={"code": "TOOL_INCOMPLETE", "message": TOOL_CODES["TOOL_INCOMPLETE"]},
        meta=meta,
    )


def _with_duration(end: ToolCallEnd, began: int) -> ToolCallEnd:
    """Return the end of a call that began at `began`, with its duration unless the upstream has given one."""
    meta = end.meta
    ended = None if meta is None or "duration_ms" in meta else meta.get("upstream_time")
    if meta is None or ended is None or ended < began:
        return end
    return msgspec.structs.replace(end, meta={**meta, "duration_ms": ended - began})


def _digest(arguments: Mapping[str, Any]) -> bytes:
    return json_identity(arguments) if arguments else b""
