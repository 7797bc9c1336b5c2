"""The log of one stream: references to its bytes with their times, up to a number of bytes.

The head takes entries until they fill half of the bytes; the tail keeps the newest entries in the other half
(`stream_tail.py`).
Reads, writes and kinds of events between head and tail are left out and counted; other entries are kept.

An entry of the log begins with its kind and its time (`time.monotonic`). Entries of the kinds with * may hold
secrets. Such an entry is a list, whose last element is the number of secrets that were masked in it (see
`log_mask.py`).

    kind        content
    ─────────   ─────────────────────────────────────────────────────────────────────────────────────────
    request*    head, body. Of the client, and of each request to an upstream
    response*   head, sequence of the next event or None
    begin       fields of the attempt: what shapes its translation
    given*      facts from the requests that the decoder needs
    read*       bytes, attempt, sequence of the next event, number
                several entries if they are large, see `entry_parts.py`; so are those of a write
    write*      bytes, number of the read before it (None: no read; `HEARTBEAT`: a heartbeat), sequence of the
                next event, number
    relays      relayed reads, attempt, sequence before them, number of the first read and of the first write,
                bytes of all writes before. With `capture: metadata`; see `relays.py`
    kind        0, sequence, type, ids, code of a warning. With `capture: metadata`, for each event that is no
                further piece of a text
    mark        fields of the line. With `capture: metadata`
    attempt*    fields of the line
    end         fields of the line

With `capture: metadata` each body is replaced by its number of bytes. With `capture: content` events and
marks are made from the reads when they are shown. A head is a tuple of its parts until its secrets are masked
(see `recorded_heads.py`), then the fields of the line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice, takewhile
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeGuard

from streamweir_gateway.console.relays import relays_in
from streamweir_gateway.console.stream_tail import Entry, NumberedEntry, StreamTail

__all__ = ["ENTRY_BYTES", "GONE", "HEARTBEAT", "RAW", "Entry", "LeftOut", "NumberedEntry", "StreamLog"]

ENTRY_BYTES: Final = 240
"""The bytes of memory that an entry takes in addition to its bytes, approximately."""
NOTICE_BYTES: Final = 64 << 10
"""The bytes after which `on_more` is called again."""

RAW: Final = None
"""Marks an entry whose secrets are not masked yet."""
GONE: Final = -1
"""Marks an entry that was left out before its secrets were masked.

It has bytes only at an edge of the gap.
"""

HEARTBEAT: Final = -1
"""Replaces the number of the read in an entry `write` that is a heartbeat."""

EDGE_BYTES: Final = 4096
"""The bytes of the gap that are kept at each edge, to find a secret that begins or ends in the gap."""

_LEFT_OUT: Final = {
    "read": ("read", 1),
    "read_part": ("read", 0),
    "write": ("write", 1),
    "write_part": ("write", 0),
    "kind": ("kind", 1),
}
"""For each kind of entry that can be left out: the kind under which it is counted, and as how many lines."""


class LeftOut(NamedTuple):
    """The entries of one lane that were left out: their bytes, their lines, the number of the last one."""

    bytes: int = 0
    lines: int = 0
    last: int = -1


class StreamLog:
    """The entries of one stream, in the order in which they happened.

    `add` is fast because it compares one number only: `_room`, the bytes that the head can still take.
    `_room` never grows. When it falls below `_mark`, `_add_beyond` finds out whether `on_more` is due or the
    head is full.

    Entries that may hold secrets are handed out by `collect`. Those of the head wait there until it is
    called; those behind the head are handed out at once, because they may be left out.

    Args:
        max_bytes: the most bytes to keep.
        raw: gets the entries that may hold secrets.
        on_more: called each time another `NOTICE_BYTES` have been added; None: no call.

    Attributes:
        max_bytes: the most bytes to keep.
    """

    __slots__ = (
        "_collected",
        "_edges",
        "_half",
        "_head",
        "_kept",
        "_left_out",
        "_left_out_bytes",
        "_mark",
        "_next",
        "_notice_at",
        "_on_more",
        "_raw",
        "_room",
        "_tail",
        "max_bytes",
    )

    def __init__(
        self, max_bytes: int, raw: deque[list[Any]], on_more: Callable[[], None] | None = None
    ) -> None:
        self.max_bytes = max_bytes
        self._raw = raw
        self._collected = 0
        """The number of entries in the head that `collect` has looked at."""
        self._half = self._room = half = max_bytes // 2
        self._on_more = on_more
        self._notice_at = half - NOTICE_BYTES
        self._mark = 0 if on_more is None else max(0, self._notice_at)
        self._head: list[Entry] = []
        self._kept: list[NumberedEntry] = []
        """The entries between head and tail that are always kept."""
        self._tail: StreamTail | None = None
        """The tail; None while the head is not full."""
        self._next = 0
        self._left_out: dict[str, list[int]] = {}
        """The values of `LeftOut`, by lane."""
        self._left_out_bytes = 0
        self._edges: dict[str, _Edges] = {}

    @property
    def size(self) -> int:
        """The number of bytes that the log keeps."""
        return self._half - self._room - self._left_out_bytes

    def whole(self) -> list[Entry] | None:
        """Return all entries of a log that has only a head; None for another log."""
        return self._head if self._tail is None else None

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """The bytes and lines that were left out, by lane.

        If some parts of a large read or write are kept, its left-out bytes count, but it counts as a line
        only if its last part is left out.
        """
        return {lane: LeftOut(*counts) for lane, counts in self._left_out.items()}

    def add(self, entry: Entry, size: int = 0) -> None:
        """Add an entry that holds `size` bytes."""
        self._room = room = self._room - size - ENTRY_BYTES
        if room >= self._mark:
            self._head.append(entry)
        else:
            self._add_beyond(entry, size + ENTRY_BYTES)

    def extend(self, entries: list[Entry]) -> None:
        """Add entries without bytes."""
        room = self._room - ENTRY_BYTES * len(entries)
        if room >= self._mark:
            self._room = room
            self._head += entries
        else:
            for entry in entries:
                self.add(entry)

    def collect(self) -> None:
        """Hand out the entries that may hold secrets and were not handed out before."""
        head = self._head
        if self._collected < len(head):
            self._raw.extend(entry for entry in head[self._collected :] if _is_raw(entry))
            self._collected = len(head)

    def entries(self, start: int = 0) -> Iterator[NumberedEntry]:
        """Yield the kept entries from number `start` on, up to the first entry that is not masked."""
        yield from takewhile(_is_masked, self._all(start))

    def _all(self, start: int) -> Iterator[NumberedEntry]:
        yield from enumerate(islice(self._head, start, None), start)
        behind = merge(self._kept, self._tail or (), key=itemgetter(0))
        yield from (numbered for numbered in behind if numbered[0] >= start)

    def _add_beyond(self, entry: Entry, size: int) -> None:
        """Add an entry that may not fit into the head, and call `on_more` if it is due."""
        room = self._room
        if self._on_more is not None and room < self._notice_at:
            self._notice_at = room - NOTICE_BYTES
            self.collect()
            self._on_more()
        if room >= 0:
            self._mark = max(0, self._notice_at)
            self._head.append(entry)
            return
        if self._tail is None:
            self.collect()
            self._tail, self._next, self._mark = StreamTail(self._half), len(self._head), 0
        if _is_raw(entry):
            self._raw.append(entry)
        self._tail.add(self._next, entry, size)
        self._next += 1
        if self._tail.size > self._half:
            self._shrink(self._tail)

    def _shrink(self, tail: StreamTail) -> None:
        while tail.size > self._half:
            number, entry, size = tail.drop()
            if entry[0] in _LEFT_OUT or entry[0] == "relays":
                self._left_out_bytes += size
                self._leave_out(number, entry)
            else:
                self._kept.append((number, entry))

    def _leave_out(self, number: int, entry: Entry) -> None:
        if entry[0] == "relays":
            for relay in relays_in(entry):
                self._count(number, "read", relay.size)
                if relay.sent:
                    self._count(number, "write", relay.sent)
            return
        kind, lines = _LEFT_OUT[entry[0]]
        data = entry[2]
        self._count(number, kind, data if isinstance(data, int) else len(data), lines)
        if _is_raw(entry):
            entry[-1] = GONE
            self._edges.setdefault(kind, _Edges()).add(entry)

    def _count(self, number: int, lane: str, size: int, lines: int = 1) -> None:
        counts = self._left_out.get(lane)
        if counts is None:
            counts = self._left_out[lane] = [0, 0, 0]
        counts[0] += size
        counts[1] += lines
        counts[2] = number


class _Edges:
    """The left-out entries of one lane next to the edges of its gap.

    They keep their bytes until they are masked.

    Secrets that continue into the gap are found by these bytes.
    """

    __slots__ = ("_first_bytes", "_last", "_last_bytes")

    def __init__(self) -> None:
        self._first_bytes = 0
        self._last: deque[list[Any]] = deque()
        self._last_bytes = 0

    def add(self, entry: list[Any]) -> None:
        """Keep an entry that is left out. An older entry that is no longer at an edge loses its bytes."""
        size = len(entry[2])
        if self._first_bytes < EDGE_BYTES:
            self._first_bytes += size
            return
        self._last.append(entry)
        self._last_bytes += size
        while self._last_bytes - len(self._last[0][2]) >= EDGE_BYTES:
            oldest = self._last.popleft()
            self._last_bytes -= len(oldest[2])
            oldest[2] = b""


def _is_raw(entry: Entry) -> TypeGuard[list[Any]]:
    return isinstance(entry, list) and entry[-1] is RAW


def _is_masked(numbered: NumberedEntry) -> bool:
    return not _is_raw(numbered[1])
