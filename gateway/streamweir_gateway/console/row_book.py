"""The rows of all serving processes.

Each change of a row gets the next number, `seq`. A viewer can ask for all rows that changed after a number.

Rows that end between two messages of a serving process arrive together, packed:

    state      entered by                                          left by
    ────────   ─────────────────────────────────────────────────   ───────────────────────────────────────────
    packed     `put_ended`                                         `decode`, which each question about rows
                                                                   calls; dropped if newer rows fill the book
    decoded    `put`, `decode`                                     dropped when newer rows have ended

So most rows of a busy gateway without viewers are never decoded. The packed rows are newer than the decoded
ones, and count for the limit.

Source: the console contract, section 1 (API).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from sys import intern
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from streamweir_gateway.console.link_messages import plotted_rows, unpacked_rows
from streamweir_gateway.console.row import FINAL_STATES, PlottedRow, Row, row_of

__all__ = ["RowBook"]

_SHARED: Final = ("endpoint", "upstream", "speaks", "answers", "framing", "key", "reason", "code")
"""Fields whose texts are equal in many rows: each text is kept in memory once."""

OnRow = Callable[[Row | None, Row], None]
"""Called with a row before its change (None for a new row), and after its change."""


class _Packed(NamedTuple):
    """Rows that have ended, not decoded yet, and the ids of rows that lost their captures before."""

    worker: int
    rows: msgspec.Raw
    size: int
    gone: list[str]


class RowBook:
    """Keeps the rows of all requests.

    Args:
        max_ended: the most ended rows to keep.

    Attributes:
        max_ended: the argument; it may be set anew.
        on_row: called after each change, but not with the rows of `put_ended`.
        on_ended: called with the rows of `put_ended`.
        on_decoded: called with each row of `put_ended` that is decoded.
    """

    def __init__(self, max_ended: int) -> None:
        self.max_ended = max_ended
        self.on_row: list[OnRow] = []
        self.on_ended: Callable[[list[PlottedRow]], object] = lambda _: None
        self.on_decoded: Callable[[Row], object] = lambda _: None
        self._seq = 0
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()
        """The ids of ended rows, in the order in which the rows ended."""
        self._packed: deque[_Packed] = deque()
        self._packed_count = 0
        """The number of rows in `_packed`."""

    @property
    def seq(self) -> int:
        """The number of the last change."""
        self.decode()
        return self._seq

    def __len__(self) -> int:
        self.decode()
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, the newest first."""
        self.decode()
        return iter(sorted(self._rows.values(), key=_age, reverse=True))

    def get(self, row_id: str) -> Row | None:
        """Return the row with this id; None if there is no such row."""
        self.decode()
        return self._rows.get(row_id)

    def put(self, row: Row) -> None:
        """Add a row or replace it. A row that has ended is not changed any more."""
        self.decode()
        before = self._rows.get(row.id)
        if before is not None and before.state in FINAL_STATES and row.state not in FINAL_STATES:
            return
        self._put(row)
        self._shrink()
        for on_row in self.on_row:
            on_row(before, row)

    def put_ended(self, worker: int, rows: msgspec.Raw, count: int, gone: list[str]) -> None:
        """Add rows that have ended and were not in the book before.

        Args:
            worker: the number of the serving process.
            rows: the rows, packed by `packed_rows`.
            count: the number of rows.
            gone: the ids of rows whose captures are not kept any longer; they may be among the rows.
        """
        if count:
            self.on_ended(plotted_rows(rows))
        self._packed.append(_Packed(worker, rows, count, gone))
        self._packed_count += count
        while self._packed and self._packed_count - self._packed[0].size >= self.max_ended:
            dropped = self._packed.popleft().size
            self._packed_count -= dropped
            self._seq += dropped
        self._shrink()

    def decode(self) -> None:
        """Decode the rows that are packed."""
        if not self._packed:
            return
        packed, self._packed, self._packed_count = self._packed, deque(), 0
        for worker, rows, _, gone in packed:
            for one in unpacked_rows(rows):
                row = row_of(one, worker)
                self._put(row)
                self.on_decoded(row)
            self.forget_captures(gone)
        self._shrink()

    def shrink(self) -> None:
        """Drop the oldest ended rows until at most `max_ended` are left."""
        self.decode()
        self._shrink()

    def _put(self, row: Row) -> None:
        for name in _SHARED:
            if (text := getattr(row, name)) is not None:
                setattr(row, name, intern(text))
        self._seq += 1
        row.seq = self._seq
        self._rows[row.id] = row
        if row.state in FINAL_STATES:
            self._ended[row.id] = None

    def _shrink(self) -> None:
        most = max(0, self.max_ended - self._packed_count)
        while len(self._ended) > most:
            row_id, _ = self._ended.popitem(last=False)
            self._rows.pop(row_id, None)

    def forget_captures(self, row_ids: list[str]) -> None:
        """Note that the captures of these rows are not kept any longer."""
        self.decode()
        for row_id in row_ids:
            row = self._rows.get(row_id)
            if row is not None and row.capture != "none":
                row.capture = "none"
                self._touch(row, row)

    def lose(self, worker: int) -> None:
        """End the open rows of a serving process that has ended; the captures of all its rows are lost."""
        self.decode()
        for row in [row for row in self._rows.values() if row.worker == worker]:
            before = replace(row)
            if row.state not in FINAL_STATES:
                row.state, row.reason = "ended", row.reason or "lost"
                self._ended[row.id] = None
            elif row.capture == "none":
                continue
            row.capture = "none"
            self._touch(row, before)
        self._shrink()

    def changed_since(self, seq: int) -> list[Row]:
        """Return the rows that changed after change number `seq`, in the order of their changes.

        A number that is higher than the last change comes from before a restart: return all rows.
        """
        self.decode()
        start = seq if seq <= self._seq else 0
        return sorted((row for row in self._rows.values() if row.seq > start), key=lambda row: row.seq)

    def _touch(self, row: Row, before: Row) -> None:
        self._seq += 1
        row.seq = self._seq
        for on_row in self.on_row:
            on_row(before, row)


def _age(row: Row) -> tuple[int, int]:
    """Return the arrival of a row's request: its millisecond, and its number in its process."""
    number = row.id.rpartition("-")[2]
    return row.began, int(number) if number.isdecimal() else 0
