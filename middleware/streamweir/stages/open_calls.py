"""The tool calls of a stream that have no end yet.

Source: the standard protocol 1.1, section 3 rules 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from streamweir.errors import LimitExceeded
from streamweir.events import Meta

__all__ = ["MAX_OPEN", "OpenCall", "OpenCalls"]

MAX_OPEN: Final = 1000
"""The most calls that may be open at once: each takes two kilobytes, half as much again when closed."""


_FEW: Final = 8
"""The number of open calls from which an index is faster than a search."""


class OpenCall(msgspec.Struct, frozen=True):
    """One open call: its name, and enough of its arguments to tell it from another call."""

    upstream_id: str
    tool_id: str
    """The id by which clients know the call."""
    name: str
    arguments: bytes
    meta: Meta | None
    row: int
    """The number of its row. Calls that were opened with no other event between them are in one row."""
    room: int
    """Roughly how many bytes the entry takes."""
    began: int | None = None
    """The upstream's time of the call's start in Unix milliseconds; None if the upstream gave none."""


Calls = dict[str, OpenCall]
"""Calls by the id that clients know, in the order of their start."""


class OpenCalls:
    """The calls that have no end yet, to be found by the upstream's id, by name, by both or by neither.

    Up to `_FEW` calls are searched one by one. From then on an index serves, until the last call is removed.
    """

    def __init__(self, room: int) -> None:
        self.all: Calls = {}
        self._left = room
        self._index: _CallIndex | None = None

    def add(self, call: OpenCall) -> None:
        """Remember `call`.

        Raises:
            LimitExceeded: more calls are open at a time than can be kept.
        """
        self._left -= call.room
        if self._left < 0 or len(self.all) >= MAX_OPEN:
            raise LimitExceeded("more tool calls are open than allowed")
        self.all[call.tool_id] = call
        if self._index is not None:
            self._index.add(call)
        elif len(self.all) >= _FEW:
            self._index = _CallIndex(self.all.values())

    def remove(self, call: OpenCall) -> None:
        """Forget `call`, which has been added."""
        self._left += call.room
        del self.all[call.tool_id]
        if self._index is not None:
            self._index.remove(call)
            self._index = self._index if self.all else None

    def of(self, upstream_id: str | None, name: str | None) -> Calls:
        """Return the open calls with this upstream id and this name; `None` matches any value."""
        if not self.all or (upstream_id is None and name is None):
            return self.all
        if self._index is not None:
            return self._index.of(upstream_id, name)
        found: Calls = {}
        for tool_id, call in self.all.items():  # a comprehension takes longer for few calls
            if upstream_id is not None and call.upstream_id != upstream_id:
                continue
            if name is None or call.name == name:
                found[tool_id] = call
        return found

    def first_beside(self, call: OpenCall) -> OpenCall:
        """Return the first open call with the name and the row of `call`, which may be `call` itself."""
        if self._index is not None:
            return self._index.first_beside(call)
        return next(other for other in self.all.values() if (other.row, other.name) == (call.row, call.name))

    def clear(self) -> None:
        """Forget all calls."""
        for call in [*self.all.values()]:
            self.remove(call)


class _CallIndex:
    """Tables in which many open calls are found."""

    def __init__(self, calls: Iterable[OpenCall]) -> None:
        self._by_key: dict[tuple[str | None, str | None], Calls] = {}
        self._rows: dict[tuple[int, str], Calls] = {}
        for call in calls:
            self.add(call)

    def add(self, call: OpenCall) -> None:
        """Add a call after all others."""
        for key in self._keys(call):
            self._by_key.setdefault(key, {})[call.tool_id] = call
        self._rows.setdefault((call.row, call.name), {})[call.tool_id] = call

    def remove(self, call: OpenCall) -> None:
        """Remove a call, which has been added."""
        for key in self._keys(call):
            _remove(self._by_key, key, call.tool_id)
        _remove(self._rows, (call.row, call.name), call.tool_id)

    def of(self, upstream_id: str | None, name: str | None) -> Calls:
        """Answer `OpenCalls.of` if an id or a name is given."""
        return self._by_key.get((upstream_id, name), {})

    def first_beside(self, call: OpenCall) -> OpenCall:
        """Answer `OpenCalls.first_beside`."""
        return next(iter(self._rows[call.row, call.name].values()))

    @staticmethod
    def _keys(call: OpenCall) -> tuple[tuple[str | None, str | None], ...]:
        return (call.upstream_id, call.name), (call.upstream_id, None), (None, call.name)


def _remove(tables: dict[Any, Calls], key: Any, tool_id: str) -> None:
    """Remove the call from one of `tables`; remove the table too if that was its last call."""
    calls = tables[key]
    del calls[tool_id]
    if not calls:
        del tables[key]
