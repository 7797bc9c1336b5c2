"""Every tool call has one start and one end, and an id of its own.

Source: the standard protocol 1.1, section 3 rules 4 and 5. Calls without ids are paired by name, last opened
first, then by order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final

import msgspec

from streamweir.errors import LimitExceeded
from streamweir.events import (
    Error,
    Event,
    SessionEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
    failure_meta,
)
from streamweir.stages.safety import TOOL_INCOMPLETE

__all__ = ["Tools"]

MAX_CALLS: Final = 10_000
"""Ids of at most so many calls are kept: the oldest that are over are forgotten first."""

_UNNAMED: Final = "unknown"


class _Call(msgspec.Struct):
    """One call: `upstream_id` is what the upstream calls it, `start.tool_id` what clients know."""

    upstream_id: str
    start: ToolCallStart


class Tools:
    """Pairs, repairs and closes tool calls.

    Args:
        stream_arguments: let the pieces of a call's arguments through.
    """

    handles: frozenset[type[Event]] = frozenset(
        {ToolCallStart, ToolCallDelta, ToolCallProgress, ToolCallEnd, Error, SessionEnd}
    )

    def __init__(self, *, stream_arguments: bool = False) -> None:
        self._stream_arguments = stream_arguments
        self._open: dict[str, _Call] = {}
        self._open_by_upstream_id: dict[str, list[_Call]] = {}
        self._ended: dict[str, None] = {}
        self._used: dict[str, None] = {}
        self._announced: dict[str, str] = {}
        self._made_up = 0
        self.repairs = 0
        self.started = 0

    @property
    def has_open(self) -> bool:
        """Some call has no end yet."""
        return bool(self._open)

    def process(self, event: Event) -> Iterable[Event]:
        """Return `event` with its call in order, after whatever has to come before it.

        Raises:
            LimitExceeded: more calls are open at a time than can be kept.
        """
        match event:
            case ToolCallStart():
                return self._start(event)
            case ToolCallDelta():
                return self._delta(event)
            case ToolCallProgress():
                return self._progress(event)
            case ToolCallEnd():
                return self._end(event)
            case Error(terminal=False) | SessionEnd(status="suspended"):
                return (event,)
            case Error() | SessionEnd():
                return (*self._close_open(), event)
        return (event,)

    def _start(self, event: ToolCallStart) -> Iterator[Event]:
        given = event.tool_id
        if any(_same_call(call.start, event) for call in self._open_by_upstream_id.get(given, ())):
            return
        tool_id = self._announced.pop(given, "") or self._unique(given)
        start = event if tool_id == given else msgspec.structs.replace(event, tool_id=tool_id)
        self._remember(_Call(given, start))
        yield start

    def _delta(self, event: ToolCallDelta) -> Iterator[Event]:
        if not self._stream_arguments or not event.tool_id:
            return
        if event.tool_id not in self._announced:
            self._announced[event.tool_id] = self._unique(event.tool_id)
            _forget_oldest(self._announced)
        yield msgspec.structs.replace(event, tool_id=self._announced[event.tool_id])

    def _progress(self, event: ToolCallProgress) -> Iterator[Event]:
        call = self._find(event.tool_id, event.tool_name)
        if call is None:
            if event.tool_id in self._ended:
                return
            call = yield from self._make_up(event.tool_id, event.tool_name)
        yield msgspec.structs.replace(event, tool_id=call.start.tool_id)

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

    def _find(self, upstream_id: str, name: str | None) -> _Call | None:
        """The open call that is meant: by id; without one the last of that name, or the last of all."""
        if upstream_id:
            calls = self._open_by_upstream_id.get(upstream_id)
            return calls[0] if calls else None
        for call in reversed(self._open.values()):
            if name is None or call.start.tool_name == name:
                return call
        return None

    def _make_up(self, upstream_id: str, name: str | None) -> Generator[Event, None, _Call]:
        self.repairs += 1
        call = _Call(
            upstream_id, ToolCallStart(tool_id=self._unique(upstream_id), tool_name=name or _UNNAMED)
        )
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
        while not candidate or candidate in self._used:
            self._made_up += 1
            candidate = f"{upstream_id}_{self._made_up}" if upstream_id else f"call_{self._made_up}"
        self._used[candidate] = None
        _forget_oldest(self._used)
        return candidate

    def _remember(self, call: _Call) -> None:
        if len(self._open) >= MAX_CALLS:
            raise LimitExceeded("more tool calls are open than allowed")
        self.started += 1
        self._open[call.start.tool_id] = call
        if call.upstream_id:
            self._open_by_upstream_id.setdefault(call.upstream_id, []).append(call)

    def _forget(self, call: _Call) -> None:
        del self._open[call.start.tool_id]
        if not call.upstream_id:
            return
        siblings = self._open_by_upstream_id[call.upstream_id]
        siblings.remove(call)
        if not siblings:
            del self._open_by_upstream_id[call.upstream_id]
            self._ended[call.upstream_id] = None
            _forget_oldest(self._ended)

    def _close_open(self) -> Iterator[Event]:
        for call in self._open.values():
            yield ToolCallEnd(
                tool_id=call.start.tool_id,
                status="failed",
                error={"code": "TOOL_INCOMPLETE", "message": TOOL_INCOMPLETE},
                meta=failure_meta(call.start.meta),
            )
        self._open.clear()
        self._open_by_upstream_id.clear()


def _same_call(start: ToolCallStart, again: ToolCallStart) -> bool:
    return start.tool_name == again.tool_name and start.arguments == again.arguments


def _forget_oldest(ids: dict[str, Any]) -> None:
    if len(ids) > MAX_CALLS:
        del ids[next(iter(ids))]
