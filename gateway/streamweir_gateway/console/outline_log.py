"""The log of a stream whose bytes are not kept: for `capture: metadata`."""

from __future__ import annotations

from itertools import starmap
from typing import Any, Final

from streamweir_gateway.console.noted_log import NotedLog, relays_of
from streamweir_gateway.console.relays import RELAY_BYTES, pack_relay
from streamweir_gateway.console.stream_log import ENTRY_BYTES, StreamLog

__all__ = ["OutlineLog", "most_relays"]

_MOST_RELAYS: Final = 64
"""The most relayed reads of one block."""


def most_relays(max_bytes: int) -> int:
    """Return the most relayed reads of a block in a log of `max_bytes`: it has to fit into a half."""
    return max(1, min(_MOST_RELAYS, (max_bytes // 2 - ENTRY_BYTES) // RELAY_BYTES))


class OutlineLog(NotedLog):
    """The log of a stream whose bytes are not kept; see `NotedLog`."""

    def __init__(self, log: StreamLog) -> None:
        super().__init__(log)
        self._sent = 0
        """The bytes of all writes in the log."""

    def _add_relays(self, block: list[Any], attempt: int) -> None:
        """Add relayed reads. If events wait, add them between the first read and its write."""
        relays = relays_of(block)
        if self._kinds:
            (now, size, before, total, behind), *relays = relays
            self._add_read(now, size, attempt, before)
            self.flush()
            if total > self._sent:
                self._add_write(now, total - self._sent, self._last_read, behind)
            if not relays:
                return
        packed, (now, _, before, *_) = b"".join(starmap(pack_relay, relays)), relays[0]
        entry = ("relays", now, packed, attempt, before, self._reads, self._writes, self._sent)
        self.log.add(entry, len(packed))
        self._reads += len(relays)
        totals = {total for *_, total, _ in relays if total > self._sent}
        self._writes += len(totals)
        self._sent = max(totals, default=self._sent)

    def _add_read(self, now: float, read: int, attempt: int, sequence: int) -> None:
        self.log.add(("read", now, read, attempt, sequence, self._reads, 0))
        self._reads += 1

    def _add_write(self, now: float, write: int, read: int | None, sequence: int | None) -> None:
        self.log.add(("write", now, write, read, sequence, self._writes, 0))
        self._writes += 1
        self._sent += write
