"""The log of a stream whose bytes are not kept: for `capture: metadata`."""

from __future__ import annotations

from typing import Final

from streamweir_gateway.console.noted_log import NotedLog
from streamweir_gateway.console.relays import RELAY_BYTES, unpack_relays
from streamweir_gateway.console.stream_log import ENTRY_BYTES, StreamLog

__all__ = ["OutlineLog"]

_MOST_RELAYS: Final = 64
"""The most relayed reads of one entry."""


class OutlineLog(NotedLog):
    """The log of a stream whose bytes are not kept; see `NotedLog`."""

    def __init__(self, log: StreamLog) -> None:
        super().__init__(log)
        self._sent = 0
        """The bytes of all writes in the log."""
        most = min(_MOST_RELAYS, (log.max_bytes // 2 - ENTRY_BYTES) // RELAY_BYTES)
        self._most_bytes = RELAY_BYTES * max(1, most)
        """The most bytes of relayed reads in one entry, which has to fit into each half of the log."""

    def _add_relays(self, note: bytes) -> None:
        """Add relayed reads. If events wait, add them between the first read and its write."""
        start = 0
        if self._kinds:
            now, size, before, total, behind = next(unpack_relays(note))
            self._add_read(now, size, before)
            self.flush()
            if total > self._sent:
                self._add_write(now, total - self._sent, self._last_read, behind)
            start = RELAY_BYTES
        for first in range(start, len(note), self._most_bytes):
            self._add_entry(note[first : first + self._most_bytes])

    def _add_entry(self, packed: bytes) -> None:
        relays = [*unpack_relays(packed)]
        now, _, before, *_ = relays[0]
        entry = ("relays", now, packed, self._attempt, before, self._reads, self._writes, self._sent)
        self.log.add(entry, len(packed))
        self._reads += len(relays)
        totals = {total for *_, total, _ in relays if total > self._sent}
        self._writes += len(totals)
        self._sent = max(totals, default=self._sent)

    def _add_read(self, now: float, read: int, sequence: int) -> None:
        self.log.add(("read", now, read, self._attempt, sequence, self._reads, 0))
        self._reads += 1

    def _add_write(self, now: float, write: int, read: int | None, sequence: int | None) -> None:
        self.log.add(("write", now, write, read, sequence, self._writes, 0))
        self._writes += 1
        self._sent += write
