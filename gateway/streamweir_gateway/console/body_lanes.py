"""Records the reads and writes of one stream in its log, with their bytes: for `capture: content`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from streamweir_gateway.console.entry_parts import parts_of, size_of_parts
from streamweir_gateway.console.stream_log import HEARTBEAT, RAW, StreamLog

__all__ = ["BodyLanes", "Position"]


class Position(Protocol):
    """Counts the events of a stream."""

    @property
    def written(self) -> int:
        """The sequence number of the next event."""
        ...


class BodyLanes:
    """Adds reads and writes to the log of one stream.

    Args:
        log: the log of the stream.

    Attributes:
        position: the position of the present attempt; None before the first attempt.
    """

    __slots__ = ("_log", "_most_bytes", "_reads", "_writes", "position")

    def __init__(self, log: StreamLog) -> None:
        self.position: Position | None = None
        self._log = log
        self._most_bytes = size_of_parts(log.max_bytes)
        """The most bytes that one entry may have."""
        self._reads = 0
        self._writes = 0

    def reader(self, attempt: int) -> Callable[[bytes], None]:
        """Return the function that records each read of the present response."""
        add, monotonic, position = self._log.add, time.monotonic, self.position
        most = self._most_bytes
        assert position is not None, "an attempt has begun"

        def read(data: bytes) -> None:
            if data:
                entry, size = (
                    ["read", monotonic(), data, attempt, position.written, self._reads, RAW],
                    len(data),
                )
                if size > most:
                    self._add_parts(entry)
                else:
                    add(entry, size)
                self._reads += 1

        return read

    def writer(self) -> Callable[[bytes], None]:
        """Return the function that records each piece of the response's body."""
        add, monotonic = self._log.add, time.monotonic
        most = self._most_bytes

        def written(data: bytes) -> None:
            position, reads = self.position, self._reads
            sequence = None if position is None else position.written
            entry = ["write", monotonic(), data, reads - 1 if reads else None, sequence, self._writes, RAW]
            if len(data) > most:
                self._add_parts(entry)
            else:
                add(entry, len(data))
            self._writes += 1

        return written

    def heartbeat(self, data: bytes) -> None:
        """Record a heartbeat, which belongs to no read."""
        position = self.position
        sequence = None if position is None else position.written
        self._log.add(
            ["write", time.monotonic(), data, HEARTBEAT, sequence, self._writes, RAW],
            len(data),
        )
        self._writes += 1

    def _add_parts(self, entry: list[Any]) -> None:
        """Add a large read or write as several parts, so that the log can leave out some of them."""
        for part in parts_of(entry, self._most_bytes):
            self._log.add(part, len(part[2]))
