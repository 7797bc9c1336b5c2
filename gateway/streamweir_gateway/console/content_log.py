"""The log of a stream whose bytes are kept: for `capture: content`."""

from __future__ import annotations

from typing import Any

from streamweir_gateway.console.entry_parts import parts_of, size_of_parts
from streamweir_gateway.console.noted_log import NotedLog
from streamweir_gateway.console.stream_log import RAW, StreamLog

__all__ = ["ContentLog"]


class ContentLog(NotedLog):
    """The log of a stream whose bytes are kept; see `NotedLog`."""

    def __init__(self, log: StreamLog) -> None:
        super().__init__(log)
        self._most_bytes = size_of_parts(log.max_bytes)
        """The most bytes that one entry may have."""

    def _add_relays(self, note: tuple[float, bytes, int, bytes, int]) -> None:
        t, read, before, write, behind = note
        self._add_read(t, read, before)
        if write:
            self._add_write(t, write, self._last_read, behind)

    def _add_read(self, now: float, read: bytes, sequence: int) -> None:
        self._add_bytes(["read", now, read, self._attempt, sequence, self._reads, RAW])
        self._reads += 1

    def _add_write(self, now: float, write: bytes, read: int | None, sequence: int | None) -> None:
        self._add_bytes(["write", now, write, read, sequence, self._writes, RAW])
        self._writes += 1

    def _add_bytes(self, entry: list[Any]) -> None:
        """Add a read or a write; a large one as several parts, so that the log can leave out some of them."""
        size = len(entry[2])
        if size <= self._most_bytes:
            self.log.add(entry, size)
        else:
            for part in parts_of(entry, self._most_bytes):
                self.log.add(part, len(part[2]))
