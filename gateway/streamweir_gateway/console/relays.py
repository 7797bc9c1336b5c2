"""The log entry `relays`: reads that were relayed at once, and their writes, without their bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

__all__ = ["RELAY_BYTES", "Relay", "pack_relay", "relays_in", "unpack_relays", "with_relays"]

_RELAY: Final = Struct("=dQQQQ")
"""A relayed read in the bytes of the entry.

Its time, its size, the sequence number before it, the bytes that have been sent in all, and the sequence
number after it.
"""
RELAY_BYTES: Final = _RELAY.size
"""The bytes that one relayed read takes in the entry."""
pack_relay: Final = _RELAY.pack
unpack_relays: Final = _RELAY.iter_unpack


def with_relays(notes: Iterable[Any], relays: bytes) -> Iterator[Any]:
    """Yield notes, whose second elements are their times, and in between the relayed reads of those times.

    Relayed reads that no note divides are together in one piece of bytes.
    """
    times = [t for t, *_ in unpack_relays(relays)]
    start = 0
    for note in notes:
        end = bisect_left(times, note[1], start)
        if end > start:
            yield relays[start * RELAY_BYTES : end * RELAY_BYTES]
            start = end
        yield note
    if start < len(times):
        yield relays[start * RELAY_BYTES :]


class Relay(NamedTuple):
    """A read that was relayed at once.

    Attributes:
        t: `time.monotonic()` of the read.
        read: the number of the read.
        size: the bytes of the read.
        before: the sequence number of the next event before the read.
        write: the number of the write that sent the read.
        sent: the bytes of the write; 0 without a write.
        behind: the sequence number of the next event after the read.
    """

    t: float
    read: int
    size: int
    before: int
    write: int
    sent: int
    behind: int


def relays_in(entry: Sequence[Any]) -> list[Relay]:
    """Return the relayed reads in an entry `relays`."""
    _, _, block, _, _, read, write, sent_before = entry
    found: list[Relay] = []
    for t, size, before, total, behind in unpack_relays(block):
        sent = max(0, total - sent_before)
        found.append(Relay(t, read, size, before, write, sent, behind))
        read, write, sent_before = read + 1, write + (sent > 0), sent_before + sent
    return found
