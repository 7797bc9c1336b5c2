"""Splits large reads and writes into several entries of a log, so that the log can leave out some.

    kind                       entry
    ────────────────────────   ──────────────────────────────────────────────────────────────
    `read_part`, `write_part`  a part that is not the last one
    `read`, `write`            the last part; the whole, if it is not large

All parts of a read have the number, time and position of the read. A capture file joins the parts to one
line, or to two lines with the same number if parts in the middle were left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir_gateway.console.stream_log import RAW, Entry
from streamweir_gateway.console.stream_tail import LANE_OF_PART

__all__ = ["LANE_OF_PART", "EntryParts", "parts_of", "size_of_parts"]

_SHARE: Final = 16
"""A part has at most 1/16 of the bytes that a log keeps, so that each half of the log has several parts."""
_SMALLEST: Final = 1024


def size_of_parts(max_bytes: int) -> int:
    """Return the most bytes of one entry, in a log that keeps `max_bytes`."""
    return max(_SMALLEST, max_bytes // _SHARE)


def parts_of(entry: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield an entry with bytes, split into parts of at most `size` bytes."""
    kind, t, data, *rest = entry
    last = (len(data) - 1) // size * size
    for start in range(0, last, size):
        yield [f"{kind}_part", t, data[start : start + size], *rest]
    yield [kind, t, data[last:], *rest]


class EntryParts:
    """The parts of the latest read or write of a log, collected until the last part arrives."""

    def __init__(self) -> None:
        self._parts: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Keep a part that is not the last part."""
        self._parts.append(entry)

    def joined(self, last: Entry) -> Entry:
        """Return `last` joined with the kept parts before it, and forget these parts."""
        if not self._parts:
            return last
        self._parts.append(last)
        parts, self._parts = self._parts, []
        return _joined(parts)

    def take(self) -> Entry | None:
        """Return the kept parts joined, because the log left out the last part; None if no parts are kept."""
        parts, self._parts = self._parts, []
        return _joined(parts) if parts else None


def _joined(parts: list[Entry]) -> Entry:
    kind, t, _, *rest, _ = parts[-1]
    secrets = [part[-1] for part in parts]
    assert RAW not in secrets, "parts that are shown are masked"
    return (LANE_OF_PART[kind], t, b"".join(part[2] for part in parts), *rest, sum(secrets))
