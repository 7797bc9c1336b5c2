"""Puts the notes about a stream into its log: for `capture: metadata`.

A relayed read is noted after its events, so the notes `kind` and `mark` wait here until it is known which
read they come from. A note is an entry of the log (see `stream_log.py`), but the notes `request`, `response`
and `given` do not end with the number of masked secrets, and these are others:

    note        content
    ─────────   ─────────────────────────────────────────────────────────────────────────────────────────
    begin       attempt, upstream, warnings at the beginning of the stream
    attempt     the arguments of `ended_fields`
    read        bytes, attempt, sequence of the next event
    write       bytes, sequence of the next event
    heartbeat   bytes, sequence of the next event
    relays      relayed reads, attempt
    end         the record of the request
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamweir_gateway.console.attempt_fields import begin_fields, ended_fields
from streamweir_gateway.console.end_fields import end_fields
from streamweir_gateway.console.relays import RELAY_BYTES, first_relay, sent_in
from streamweir_gateway.console.stream_log import ENTRY_BYTES, HEARTBEAT, RAW, Entry, StreamLog
from streamweir_gateway.runs.destination import Destination

__all__ = ["OutlineLog", "most_relay_bytes"]

_MOST_RELAYS: Final = 64
"""The most relayed reads of one block."""


def most_relay_bytes(max_bytes: int) -> int:
    """Return the most bytes of a block in a log of `max_bytes`: it has to fit into each half of the log."""
    most = max(1, min(_MOST_RELAYS, (max_bytes // 2 - ENTRY_BYTES) // RELAY_BYTES))
    return most * RELAY_BYTES


class OutlineLog:
    """The log of a stream whose bytes are not kept.

    Args:
        log: gets the entries.

    Attributes:
        log: the argument.
    """

    __slots__ = ("_destination", "_kinds", "_reads", "_sent", "_writes", "log")

    def __init__(self, log: StreamLog) -> None:
        self.log = log
        self._destination: Destination | None = None
        """The upstream of the last attempt in the log."""
        self._kinds: list[Entry] = []
        """Notes `kind` and `mark` whose read is not known yet."""
        self._reads = self._writes = 0
        self._sent = 0
        """The bytes of all writes in the log."""

    def take(self, notes: Iterable[Entry]) -> None:
        """Add notes to the log."""
        for note in notes:
            match note[0]:
                case "kind" | "mark":
                    self._kinds.append(note)
                case "relays":
                    self._add_relays(*note[1:])
                case "read":
                    self.flush()
                    self._add_read(*note[1:])
                case "write" | "heartbeat" as kind:
                    self.flush()
                    self._add_write(*note[1:], is_heartbeat=kind == "heartbeat")
                case kind:
                    self.flush()
                    self.log.add(self._entry(kind, *note[1:]))

    def _entry(self, kind: str, t: float, *parts: Any) -> Entry:
        """Return the entry of a note that is neither a read nor a write nor an event."""
        if kind == "begin":
            attempt, destination, warnings = parts
            before, self._destination = self._destination, destination
            return kind, t, begin_fields(attempt, destination, before, warnings)
        if kind == "attempt":
            return [kind, t, ended_fields(*parts[0]), RAW]
        if kind == "end":
            return kind, t, end_fields(parts[0])
        return [kind, t, *parts, RAW]

    def flush(self) -> None:
        """Add the notes that wait: no relayed read follows."""
        read = self._reads - 1 if self._reads else None
        for entry in self._kinds:
            if entry[0] == "mark":
                entry[2]["read"] = read
            self.log.add(entry)
        self._kinds.clear()

    def _add_relays(self, now: float, block: bytearray, attempt: int) -> None:
        """Add relayed reads. If events wait, add them between the first read and its write."""
        if self._kinds:
            now, size, before, total, behind = first_relay(block)
            self._add_read(now, size, attempt, before)
            self.flush()
            if total > self._sent:
                self._add_write(now, total - self._sent, behind)
            block = block[RELAY_BYTES:]
            if not block:
                return
        now, _, before, *_ = first_relay(block)
        entry = ("relays", now, block, attempt, before, self._reads, self._writes, self._sent)
        self.log.add(entry, len(block))
        self._reads += len(block) // RELAY_BYTES
        totals = [total for total in sent_in(block) if total > self._sent]
        self._writes += len(totals)
        self._sent = max(totals, default=self._sent)

    def _add_read(self, now: float, size: int, attempt: int, sequence: int) -> None:
        self.log.add(("read", now, size, attempt, sequence, self._reads, 0))
        self._reads += 1

    def _add_write(self, now: float, size: int, sequence: Any, *, is_heartbeat: bool = False) -> None:
        read = self._reads - 1 if self._reads else None
        if is_heartbeat:
            read = HEARTBEAT
        self.log.add(("write", now, size, read, sequence, self._writes, 0))
        self._writes += 1
        self._sent += size
