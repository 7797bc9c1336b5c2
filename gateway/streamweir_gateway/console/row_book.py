"""The rows of all serving processes.

Each change of a row gets the next number, `seq`. A viewer can ask for all rows that changed after a number.

Source: the console contract, section 1 (API).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from sys import intern
from typing import Final

from msgspec.structs import replace

from streamweir_gateway.console.row import FINAL_STATES, Row

__all__ = ["RowBook"]

_SHARED: Final = ("endpoint", "upstream", "speaks", "answers", "framing", "key", "reason", "code")
"""Fields whose texts are equal in many rows: each text is kept in memory once."""

OnRow = Callable[[Row | None, Row], None]
"""Called with a row before its change (None for a new row), and after its change."""


class RowBook:
    """Keeps the rows of all requests.

    Args:
        max_ended: the most ended rows to keep.

    Attributes:
        max_ended: the argument; it may be set anew.
        seq: the number of the last change.
        on_row: called after each change.
    """

    def __init__(self, max_ended: int) -> None:
        self.max_ended = max_ended
        self.seq = 0
        self.on_row: list[OnRow] = []
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()
        """The ids of ended rows, in the order in which the rows ended."""

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, the newest first.

        Rows of several processes are in the order in which the console got them.
        """
        rows = [*reversed(self._rows.values())]
        rows.sort(key=lambda row: row.began, reverse=True)
        return iter(rows)

    def get(self, row_id: str) -> Row | None:
        """Return the row with this id; None if there is no such row."""
        return self._rows.get(row_id)

    def put(self, row: Row) -> None:
        """Add a row or replace it. A row that has ended is not changed any more."""
        before = self._rows.get(row.id)
        if before is not None and before.state in FINAL_STATES and row.state not in FINAL_STATES:
            return
        for name in _SHARED:
            if (text := getattr(row, name)) is not None:
                setattr(row, name, intern(text))
        self.seq += 1
        row.seq = self.seq
        self._rows[row.id] = row
        if row.state in FINAL_STATES:
            self._ended[row.id] = None
            self.shrink()
        for on_row in self.on_row:
            on_row(before, row)

    def shrink(self) -> None:
        """Drop the oldest ended rows until at most `max_ended` are left."""
        while len(self._ended) > self.max_ended:
            row_id, _ = self._ended.popitem(last=False)
            self._rows.pop(row_id, None)

    def forget_captures(self, row_ids: list[str]) -> None:
        """Note that the captures of these rows are not kept any longer."""
        for row_id in row_ids:
            row = self._rows.get(row_id)
            if row is not None and row.capture != "none":
                row.capture = "none"
                self._touch(row, row)

    def lose(self, worker: int) -> None:
        """End the open rows of a serving process that has ended; the captures of all its rows are lost."""
        for row in [row for row in self._rows.values() if row.worker == worker]:
            before = replace(row)
            if row.state not in FINAL_STATES:
                row.state, row.reason = "ended", row.reason or "lost"
                self._ended[row.id] = None
            elif row.capture == "none":
                continue
            row.capture = "none"
            self._touch(row, before)
        self.shrink()

    def changed_since(self, seq: int) -> list[Row]:
        """Return the rows that changed after change number `seq`, in the order of their changes.

        A number that is higher than the last change comes from before a restart: return all rows.
        """
        start = seq if seq <= self.seq else 0
        return sorted((row for row in self._rows.values() if row.seq > start), key=lambda row: row.seq)

    def _touch(self, row: Row, before: Row) -> None:
        self.seq += 1
        row.seq = self.seq
        for on_row in self.on_row:
            on_row(before, row)
