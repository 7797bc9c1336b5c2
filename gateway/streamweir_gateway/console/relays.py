"""The entry `relays` of a log: reads that were relayed at once, and their writes, without their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Block", "Relay", "relays_in"]

Block: TypeAlias = list[tuple[float, int, int, int, int]]
"""For each relayed read: its time, its size, the sequence before it, the bytes that have been sent in all,
the sequence behind it."""


class Relay(NamedTuple):
    """A read that was relayed at once.

    Attributes:
        t: `time.monotonic`.
        read: its number.
        size: its bytes.
        before: the sequence of the next event before it.
        write: the number of its write.
        sent: the bytes of its write; 0 without one.
        behind: the sequence of the next event behind it.
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
    for t, size, before, total, behind in block:
        sent = max(0, total - sent_before)
        found.append(Relay(t, read, size, before, write, sent, behind))
        read, write, sent_before = read + 1, write + (sent > 0), sent_before + sent
    return found
