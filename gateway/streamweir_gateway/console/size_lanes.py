"""Records the reads and writes of one stream in its log, without their bytes: for `capture: metadata`.

Most reads are relayed at once: their events are sent before anything else happens. Such reads and their
writes share a block, the log entry `relays`, to which a few bytes are added for each read:

    state     entered by                                        left by
    ───────   ───────────────────────────────────────────────   ─────────────────────────────────────────────
    closed    construction, any other entry of the log, a       a relayed read without kinds of events (open)
              full block, `flush`
    open      a relayed read without kinds of events            any other entry, a full block, `flush`

While a block is open, `_reads`, `_writes` and `_sent` do not count the reads and writes in the block;
`_close` adds them. Entries about events (`kinds`) wait until the read that they come from is in the log,
because a relayed read is reported after its events.

Other entries wait too, until `flush` or until there are many: the log takes all of them in one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.body_lanes import BodyLanes, OnRelayed
from streamweir_gateway.console.event_kinds import EventKinds
from streamweir_gateway.console.relays import RELAY_BYTES, pack_relay, sent_in
from streamweir_gateway.console.stream_log import ENTRY_BYTES, HEARTBEAT, Entry, StreamLog
from streamweir_gateway.runs.stream_recorder import DeliveryFacts

__all__ = ["SizeLanes"]

_MOST_RELAYS: Final = 64
_MOST_WAITING: Final = 64
"""The most entries that wait before they are added to the log together."""


class SizeLanes(BodyLanes):
    """Adds the sizes of reads and writes, and the kinds of events, to a log.

    The docstring of this file lists its states.

    Args:
        log: the log of the stream.
    """

    __slots__ = ("_block", "_kinds", "_most", "_most_waiting", "_sent", "_waiting")

    def __init__(self, log: StreamLog) -> None:
        super().__init__(log)
        self._waiting: list[Entry] = []
        """Entries that are not in the log yet."""
        self._most_waiting = min(_MOST_WAITING, log.max_bytes // (8 * ENTRY_BYTES))
        self._kinds: list[tuple[Any, ...]] = []
        self._block: bytearray | None = None
        """The block of the open entry `relays`; None if no block is open."""
        most = max(1, min(_MOST_RELAYS, (log.max_bytes // 2 - ENTRY_BYTES) // RELAY_BYTES))
        self._most = most * RELAY_BYTES
        """The most bytes of a block. A full block fits into each half of the log."""
        self._sent = 0
        """The bytes of all writes that the log contains."""

    def add(self, entry: Entry, size: int = 0) -> None:
        """Add an entry, which holds no bytes."""
        del size
        if self._block is not None or self._kinds or len(self._waiting) > self._most_waiting:
            self._settle()
        self._waiting.append(entry)

    def flush(self) -> None:
        """Close the open block, and add all waiting entries to the log."""
        if self._block is not None or self._kinds:
            self._settle()
        if self._waiting:
            self._log.extend(self._waiting)
            self._waiting.clear()

    def _settle(self) -> None:
        """Close the open block, and let the kinds of events wait behind their read."""
        if self._block is not None:
            self._close(self._block)
        kinds, waiting = self._kinds, self._waiting
        if kinds:
            read = self._reads - 1 if self._reads else None
            for entry in kinds:
                if entry[0] == "mark":
                    entry[2]["read"] = read
            waiting += kinds
            kinds.clear()
        if len(waiting) > self._most_waiting:
            self._log.extend(waiting)
            waiting.clear()

    def follow(self, stream: StreamNormalizer, attempt: int) -> None:
        """Note the kind of each event of a stream."""
        EventKinds(self._kinds, attempt).follow(stream)

    def reader(self, attempt: int) -> Callable[[bytes], None]:
        """Return the function that records each read of the present response that is not relayed at once."""
        position, waiting, most = self.position, self._waiting, self._most_waiting
        assert position is not None, "an attempt has begun"

        def read(data: bytes) -> None:
            if data:
                if self._block is not None or self._kinds or len(waiting) > most:
                    self._settle()
                waiting.append(
                    ("read", time.monotonic(), len(data), attempt, position.written, self._reads, 0)
                )
                self._reads += 1

        return read

    def relays(self, attempt: int, delivery: DeliveryFacts) -> OnRelayed:
        """Return the function that records each read that has been relayed at once.

        Args:
            attempt: the number of the attempt.
            delivery: counts the bytes that have been sent: those of the read, and of the pieces that the
                function of `writer` has taken.
        """
        position, kinds, most, pack = self.position, self._kinds, self._most, pack_relay
        assert position is not None, "an attempt has begun"

        def relayed(now: float, size: int, before: int) -> None:
            block = self._block
            if block is not None and not kinds and len(block) < most:
                block += pack(now, size, before, delivery.bytes, position.written)
            else:
                self._add_relayed((now, size, before, delivery.bytes, position.written), attempt)

        return relayed

    def writer(self) -> Callable[[bytes], None]:
        """Return the function that records each piece of the response's body that was not sent by a relay."""

        def written(data: bytes) -> None:
            position = self.position
            self._add_write(time.monotonic(), len(data), None if position is None else position.written)

        return written

    def heartbeat(self, data: bytes) -> None:
        """Record a heartbeat, which belongs to no read."""
        position = self.position
        sequence = None if position is None else position.written
        self._add_write(time.monotonic(), len(data), sequence, is_heartbeat=True)

    def _add_relayed(self, relay: tuple[float, int, int, int, int], attempt: int) -> None:
        """Begin a block with a relayed read.

        If kinds of events wait, add them between the read and its write.
        """
        if self._block is not None:
            self._close(self._block)
        now, size, before, total, behind = relay
        if not self._kinds:
            self.flush()
            self._block = bytearray(pack_relay(*relay))
            entry = ("relays", now, self._block, attempt, before, self._reads, self._writes, self._sent)
            self._log.add(entry, self._most)
            return
        self._waiting.append(("read", now, size, attempt, before, self._reads, 0))
        self._reads += 1
        if total > self._sent:
            self._add_write(now, total - self._sent, behind)

    def _add_write(self, now: float, size: int, sequence: int | None, *, is_heartbeat: bool = False) -> None:
        if self._block is not None or self._kinds or len(self._waiting) > self._most_waiting:
            self._settle()
        read = self._reads - 1 if self._reads else None
        if is_heartbeat:
            read = HEARTBEAT
        self._waiting.append(("write", now, size, read, sequence, self._writes, 0))
        self._writes += 1
        self._sent += size

    def _close(self, block: bytearray) -> None:
        """Close the block: add its reads, writes and bytes to the counts, as `relays_in` reads them."""
        self._block = None
        self._reads += len(block) // RELAY_BYTES
        totals = [total for total in sent_in(block) if total > self._sent]
        self._writes += len(totals)
        self._sent = max(totals, default=self._sent)
