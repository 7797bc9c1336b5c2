"""Every tool call has one start and one end, and an id of its own.

Source: the standard protocol 1.1, section 3 rules 4 and 5. Calls without ids are paired by name: those
opened in a row end in the order of their start, else the last one opened ends first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar, Final

import msgspec

from streamweir.errors import LimitExceeded
from streamweir.events import (
    Error,
    Event,
    Interaction,
    SessionEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
    failure_meta,
)
from streamweir.stages.position import StreamPosition
from streamweir.stages.sanitizer import TOOL_INCOMPLETE

__all__ = ["Tools"]

MAX_OPEN: Final = 1000
"""So many calls may be open at once: each takes two kilobytes, and half as much to end it."""

MAX_CALLS: Final = 10_000
"""Ids of at most so many calls are kept: the oldest that are over are forgotten first."""

_COMPARED: Final = 16
"""A start is compared with so many open calls of its id and name; an honest upstream repeats one at once."""

_UNNAMED: Final = "unknown"


class _Call(msgspec.Struct):
    """One call: `upstream_id` is what the upstream calls it, `start.tool_id` what clients know."""

    upstream_id: str
    start: ToolCallStart
    row: int = 0
    """Calls that were opened with nothing but calls between them are in one row."""


_Calls = dict[str, _Call]
"""Calls by the id that clients know, in the order of their start."""


class _OpenCalls:
    """The calls that have no end yet, to be found by the upstream's id, by name, by both or by neither."""

    def __init__(self) -> None:
        self.all: _Calls = {}
        self._by_key: dict[tuple[str | None, str | None], _Calls] = {}
        self._rows: dict[tuple[int, str], OrderedDict[str, _Call]] = {}

    def add(self, call: _Call) -> None:
        for calls in (self.all, *(self._by_key.setdefault(key, {}) for key in self._keys(call))):
            calls[call.start.tool_id] = call
        self._rows.setdefault((call.row, call.start.tool_name), OrderedDict())[call.start.tool_id] = call

    def remove(self, call: _Call) -> None:
        del self.all[call.start.tool_id]
        for key in self._keys(call):
            calls = self._by_key[key]
            del calls[call.start.tool_id]
            if not calls:
                del self._by_key[key]
        row = self._rows[call.row, call.start.tool_name]
        del row[call.start.tool_id]
        if not row:
            del self._rows[call.row, call.start.tool_name]

    def of(self, upstream_id: str | None, name: str | None) -> _Calls:
        """The open calls of this id and name; `None` stands for any."""
        key = (upstream_id, name)
        return self.all if key == (None, None) else self._by_key.get(key, {})

    def first_beside(self, call: _Call) -> _Call:
        """The first open call of the name and the row of `call`, which may be that itself."""
        return next(iter(self._rows[call.row, call.start.tool_name].values()))

    def clear(self) -> None:
        self.all.clear()
        self._by_key.clear()
        self._rows.clear()

    @staticmethod
    def _keys(call: _Call) -> tuple[tuple[str | None, str | None], ...]:
        upstream_id, name = call.upstream_id, call.start.tool_name
        return (upstream_id, name), (upstream_id, None), (None, name)


class Tools:
    """Pairs, repairs and closes tool calls.

    Args:
        stream_arguments: let the pieces of a call's arguments through.
        position: of the stream: by it is known what comes between two calls.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(
        {ToolCallStart, ToolCallDelta, ToolCallProgress, ToolCallEnd, Interaction, Error, SessionEnd}
    )

    def __init__(self, *, stream_arguments: bool = False, position: StreamPosition | None = None) -> None:
        self._stream_arguments = stream_arguments
        self._position = position or StreamPosition(0)
        self._row = 0
        self._follows_at = -1
        self._open = _OpenCalls()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._used: OrderedDict[str, None] = OrderedDict()
        self._announced: OrderedDict[str, ToolCallStart] = OrderedDict()
        self._made_up = 0
        self._asked = 0
        self.repairs = 0
        self.started = 0

    @property
    def has_open(self) -> bool:
        """Some call has no end yet."""
        return bool(self._open.all)

    def has_started(self, tool_id: str) -> bool:
        """A call with this id has begun, and is over or not."""
        return tool_id in self._used and tool_id not in self._announced

    def has_ended(self, tool_id: str) -> bool:
        """The call with this id is over."""
        return tool_id in self._ended and not self._open.of(tool_id, None)

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return `event` with its call in order, after whatever has to come before it; None: as it is.

        Raises:
            LimitExceeded: more calls are open at a time than can be kept.
        """
        match event:
            case ToolCallStart():
                return self._in_row(self._start(event))
            case ToolCallDelta():
                return self._in_row(self._delta(event))
            case ToolCallProgress():
                return self._in_row(self._progress(event))
            case ToolCallEnd():
                return self._in_row(self._end(event))
            case Interaction(kind="tool" | "approval"):
                return self._ask(event)
            case Interaction(interaction_id=""):
                return (self._named(event),)
            case Error(terminal=False):
                return None
            case SessionEnd(status="suspended"):
                return (*self._start_announced(), event)
            case Error() | SessionEnd():
                return (*self._start_announced(), *self._close_open(), event)
        return None

    def _in_row(self, events: Iterator[Event]) -> Iterator[Event]:
        """Pass on the events of a call; note whether anything else has come since the last of them."""
        if self._position.written != self._follows_at:
            self._row += 1
        yield from events
        self._follows_at = self._position.written

    def _start(self, event: ToolCallStart) -> Iterator[Event]:
        given = event.tool_id
        known = self._open.of(given, event.tool_name) if given else {}
        if any(
            call.start.arguments == event.arguments for call in islice(reversed(known.values()), _COMPARED)
        ):
            return
        announced = self._announced.pop(given, None)
        tool_id = announced.tool_id if announced else self._unique(given)
        start = event if tool_id == given else msgspec.structs.replace(event, tool_id=tool_id)
        self._remember(_Call(given, start, self._row))
        yield start

    def _delta(self, event: ToolCallDelta) -> Iterator[Event]:
        """Pass on a piece of arguments; those of a call that has begun come too late to be of use."""
        given = event.tool_id
        if not self._stream_arguments or not given or given in self._ended or self._open.of(given, None):
            return
        announced = self._announced.get(given)
        if announced is None:
            announced = ToolCallStart(tool_id=self._unique(given), tool_name=event.tool_name or _UNNAMED)
            self._announced[given] = announced
            if len(self._announced) > MAX_OPEN:
                raise LimitExceeded("more tool calls are announced than allowed")
        tool_id = announced.tool_id
        yield event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)

    def _progress(self, event: ToolCallProgress) -> Iterator[Event]:
        call = self._find(event.tool_id, event.tool_name)
        if call is None:
            if event.tool_id in self._ended:
                return
            call = yield from self._make_up(event.tool_id, event.tool_name)
        tool_id = call.start.tool_id
        yield event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)

    def _end(self, event: ToolCallEnd) -> Iterator[Event]:
        call = self._find(event.tool_id, event.tool_name)
        if call is None:
            if event.tool_id in self._ended:
                self.repairs += 1
                return
            call = yield from self._make_up(event.tool_id, event.tool_name)
        self._forget(call)
        tool_id = call.start.tool_id
        yield event if event.tool_id == tool_id else msgspec.structs.replace(event, tool_id=tool_id)

    def _ask(self, event: Interaction) -> Iterator[Event]:
        """The call that the client is to run or to approve, by the id that the client knows."""
        given = event.interaction_id
        calls = self._open.of(given or None, None)
        if calls:
            tool_id = next(reversed(calls))
        elif event.kind == "tool" and event.state == "requested" and not self.has_started(given):
            call = yield from self._make_up(given, event.title)
            tool_id = call.start.tool_id
        else:
            tool_id = given
        asked = event if given == tool_id else msgspec.structs.replace(event, interaction_id=tool_id)
        yield asked if tool_id else self._named(asked)

    def _named(self, event: Interaction) -> Interaction:
        """Something that is asked under no id: an answer needs one."""
        self._asked += 1
        return msgspec.structs.replace(event, interaction_id=f"ask_{self._asked}")

    def _find(self, upstream_id: str, name: str | None) -> _Call | None:
        """The open call that is meant.

        With an id: the first of that id and name, else of that id, else one that was given no id.
        Without one: of those of that name the last, or of all if there is no name either. Calls that were
        opened in a row end in the order of their start.
        """
        if not upstream_id:
            return self._last_or_first_beside(None, name)
        calls = self._open.of(upstream_id, name) or self._open.of(upstream_id, None)
        if calls:
            return next(iter(calls.values()))
        return None if upstream_id in self._ended else self._last_or_first_beside("", name)

    def _last_or_first_beside(self, upstream_id: str | None, name: str | None) -> _Call | None:
        last = _last(self._open.of(upstream_id, name))
        if last is None or name is None:
            return last
        first = self._open.first_beside(last)
        return first if upstream_id in (None, first.upstream_id) else last

    def _make_up(self, upstream_id: str, name: str | None) -> Generator[Event, None, _Call]:
        self.repairs += 1
        announced = self._announced.pop(upstream_id, None)
        start = announced or ToolCallStart(tool_id=self._unique(upstream_id), tool_name=name or _UNNAMED)
        call = _Call(upstream_id, start, self._row)
        self._remember(call)
        yield Warning(
            message="A tool call had no start; one was added.",
            message_code="TOOL_CALL_REPAIRED",
            for_users=True,
        )
        yield call.start
        return call

    def _unique(self, upstream_id: str) -> str:
        candidate = upstream_id
        while not candidate or candidate in self._used or candidate in self._open.all:
            self._made_up += 1
            candidate = f"{upstream_id}_{self._made_up}" if upstream_id else f"call_{self._made_up}"
        _keep(self._used, candidate)
        return candidate

    def _remember(self, call: _Call) -> None:
        if len(self._open.all) >= MAX_OPEN:
            raise LimitExceeded("more tool calls are open than allowed")
        self.started += 1
        self._open.add(call)

    def _forget(self, call: _Call) -> None:
        self._open.remove(call)
        if call.upstream_id and not self._open.of(call.upstream_id, None):
            _keep(self._ended, call.upstream_id)

    def _start_announced(self) -> Iterator[Event]:
        """Calls whose arguments broke off have a start too, so that clients can show their end."""
        for upstream_id, start in self._announced.items():
            self.started += 1
            self._open.add(_Call(upstream_id, start, self._row))
            yield start
        self._announced.clear()

    def _close_open(self) -> Iterator[Event]:
        for call in self._open.all.values():
            yield ToolCallEnd(
                tool_id=call.start.tool_id,
                status="failed",
                error={"code": "TOOL_INCOMPLETE", "message": TOOL_INCOMPLETE},
                meta=failure_meta(call.start.meta),
            )
        self._open.clear()


def _last(calls: _Calls) -> _Call | None:
    return next(reversed(calls.values()), None)


def _keep(ids: OrderedDict[str, Any], new: str) -> None:
    ids[new] = None
    if len(ids) > MAX_CALLS:
        ids.popitem(last=False)
