"""Puts the notes about a stream into its log: the base of the logs for `metadata` and for `content`.

A relayed read is noted after its events, so the notes `kind`, `named` and `mark` wait here until it is known
which read they come from. A note is an entry of the log (see `stream_log.py`), but the notes `request`,
`response` and `given` do not end with the number of masked secrets, and these are others:

    note        content
    ─────────   ─────────────────────────────────────────────────────────────────────────────────────────
    begin       what `begun` has returned
    attempt     the arguments of `ended_fields`
    read        bytes, sequence of the next event
    write       bytes, sequence of the next event
    heartbeat   bytes, sequence of the next event
    end         what `facts_at_end` has returned
    kind        sequence, type of the event
    named       sequence, type of the event, ids, code: an event that has ids, or a warning

With `capture: metadata` the number of bytes is noted in place of the bytes.

The note about a relayed read has no kind. It is a tuple: its time, its bytes, the sequence of the next event
before it, its write, and the sequence of the next event after it. The write is the bytes that were sent,
which may be none. With `capture: metadata` it is the number of all bytes sent so far, and the notes of such
reads are packed, those together that no other note divides; see `relays.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from streamweir_gateway.console.attempt_fields import begin_fields, ended_fields
from streamweir_gateway.console.end_fields import end_fields
from streamweir_gateway.console.stream_log import HEARTBEAT, RAW, Entry, StreamLog

__all__ = ["NotedLog"]


class NotedLog(ABC):
    """The log of one stream, made of notes.

    Args:
        log: gets the entries.

    Attributes:
        log: the argument.
    """

    def __init__(self, log: StreamLog) -> None:
        self.log = log
        self._attempt = 0
        """The number of the last attempt in the log; 0 before the first."""
        self._kinds: list[Entry] = []
        """Notes `kind` and `mark` whose read is not known yet."""
        self._reads = self._writes = 0

    def take(self, notes: Iterable[Entry]) -> None:
        """Add notes to the log."""
        for note in notes:
            kind = note[0]
            if not isinstance(kind, str):
                self._add_relays(note)
            elif kind == "kind":
                _, t, sequence, event = note
                self._kinds.append((kind, t, 0, sequence, event, None, None))
            elif kind == "named":
                _, t, sequence, event, ids, code = note
                self._kinds.append(("kind", t, 0, sequence, event, ids, code))
            elif kind == "mark":
                self._kinds.append((*note,))
            else:
                self.flush()
                self._add(kind, *note[1:])

    def flush(self) -> None:
        """Add the notes that wait: no relayed read follows."""
        for entry in self._kinds:
            if entry[0] == "mark":
                entry[2]["read"] = self._last_read
            self.log.add(entry)
        self._kinds.clear()

    def _add(self, kind: str, t: float, *parts: Any) -> None:
        """Add a note that is neither a relayed read nor an event."""
        match kind:
            case "read":
                self._add_read(t, *parts)
            case "write":
                self._add_write(t, parts[0], self._last_read, parts[1])
            case "heartbeat":
                self._add_write(t, parts[0], HEARTBEAT, parts[1])
            case "begin":
                self._attempt = parts[0][0]
                self.log.add((kind, t, begin_fields(*parts[0])))
            case "attempt":
                self.log.add([kind, t, ended_fields(*parts[0]), RAW])
            case "end":
                self.log.add((kind, t, end_fields(*parts[0])))
            case _:
                body = parts[1] if kind == "request" else None
                self.log.add([kind, t, *parts, RAW], len(body) if isinstance(body, bytes) else 0)

    @property
    def _last_read(self) -> int | None:
        """The number of the last read; None before the first."""
        return self._reads - 1 if self._reads else None

    @abstractmethod
    def _add_relays(self, note: Any) -> None:
        """Add the relayed reads of a note that does not begin with its kind, and their writes."""

    @abstractmethod
    def _add_read(self, now: float, read: Any, sequence: int) -> None:
        """Add a read of the present attempt."""

    @abstractmethod
    def _add_write(self, now: float, write: Any, read: int | None, sequence: int | None) -> None:
        """Add a write; `read` is the number of the read before it."""
