"""Large reads and writes as several entries of a log, so that the log can leave out the middle of one.

    kind                       entry
    ────────────────────────   ──────────────────────────────────────────────────────────────
    `read_part`, `write_part`  a part that is not the last one
    `read`, `write`            the last part; the whole, if it is not large

All parts of a read have its number, time and position. A capture file has them as one line again, and as two
lines with the same number if parts between them were left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir_gateway.console.stream_log import RAW, Entry

__all__ = ["LANE_OF_PART", "EntryParts", "parts_of", "size_of_parts"]

LANE_OF_PART: Final = {"read_part": "read", "write_part": "write", "read": "read", "write": "write"}
"""By the kind of an entry with bytes: of which kind of line it is a part."""

_SHARE: Final = 16
"""A part has at most one sixteenth of the bytes that are kept of a stream, so that each half has several."""
_SMALLEST: Final = 1024


def size_of_parts(max_bytes: int) -> int:
    """Return the most bytes of one entry in a log that keeps `max_bytes`."""
    return max(_SMALLEST, max_bytes // _SHARE)


def parts_of(entry: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield an entry with bytes as parts of at most `size` bytes."""
    kind, t, data, *rest = entry
    last = (len(data) - 1) // size * size
    for start in range(0, last, size):
        yield [f"{kind}_part", t, data[start : start + size], *rest]
    yield [kind, t, data[last:], *rest]


class EntryParts:
    """The parts of the latest read or write of a log, until its last one comes."""

    def __init__(self) -> None:
        self._parts: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Take a part that is not the last one."""
        self._parts.append(entry)

    def joined(self, last: Entry) -> Entry:
        """Return `last` with the parts before it, which are dropped here."""
        if not self._parts:
            return last
        self._parts.append(last)
        parts, self._parts = self._parts, []
        return _joined(parts)

    def take(self) -> Entry | None:
        """Return the parts without the last one, because that is left out; None if there are none."""
        parts, self._parts = self._parts, []
        return _joined(parts) if parts else None


def _joined(parts: list[Entry]) -> Entry:
    kind, t, _, *rest, _ = parts[-1]
    secrets = [part[-1] for part in parts]
    assert RAW not in secrets, "parts that are shown are masked"
    return (LANE_OF_PART[kind], t, b"".join(part[2] for part in parts), *rest, sum(secrets))
