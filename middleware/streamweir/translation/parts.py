"""Splits one read into parts, so that the work in one turn of the event loop is bounded (a bound of bytes
would not do).

Two bytes (`1` and a line end) can be a message, which costs as much to translate as a message of two hundred
bytes. A read is therefore cut by its marks: line ends and braces, of which each message and each item of a
list has at least one. The cuts need not fall between messages: streams can be cut anywhere.

    the part before              the next part
    ──────────────────────────   ───────────────────────────────────────────────────────────────────────
    absent, or not light         at most `_MARKS` marks
    light: its marks cost less   at most `_LIGHT_MARKS` marks, if it has about as many marks for its bytes
    than `_LIGHT_SECONDS` each
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

__all__ = ["TURN_SECONDS", "WHOLE_BYTES", "ReadParts"]

TURN_SECONDS: Final = 0.004
"""Seconds of work after which the event loop gets a turn."""

WHOLE_BYTES: Final = 512
"""A read of at most this many bytes is one part, whatever it contains."""

_MARKS: Final = 256
"""The most marks of one part: the slowest messages take about 4 ms for this many."""

_LIGHT_MARKS: Final = 1024
_LIGHT_SECONDS: Final = 1.5e-6
"""The most seconds per mark of a light part: pieces of text take less, other messages take more."""

_MARKS_OF_A_CALL: Final = 16
"""The cost of taking a part without marks, as a number of marks."""

_WINDOW: Final = 4 << 10
_LIGHT_WINDOW: Final = 32 << 10
"""The most bytes of one part."""

_LEAST_BYTES: Final = 256
"""The fewest bytes of one part."""

_UNMARKED: Final = bytes(byte for byte in range(256) if byte not in b"\n\r}")


class ReadParts:
    """One read, taken part by part in turns of the event loop.

    Args:
        data: the read.
    """

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> bytes:
        """The bytes that have not been taken."""
        return self._data[self._at :]

    def feed(self, take: Callable[[bytes], object]) -> bool:
        """Pass one part after another to `take` until the read is used up or the turn is over.

        Returns:
            False if the event loop must get a turn before the next call. That next call may have nothing left
            to take; it then returns True.
        """
        data, end = self._data, len(self._data)
        if 0 < end <= WHOLE_BYTES and not self._at:
            self._at = end
            take(data)
            return True
        began = time.perf_counter()
        spent, density = 0.0, 0.0
        while self._at < end and spent < TURN_SECONDS:
            part, marks = _next_part(data, self._at, density)
            self._at += len(part)
            take(part)
            before, spent = spent, time.perf_counter() - began
            is_light = spent - before < _LIGHT_SECONDS * (marks + _MARKS_OF_A_CALL)
            density = max(1, marks) / len(part) if is_light else 0.0
        return self._at >= end and spent < TURN_SECONDS / 2


def _next_part(data: bytes, at: int, density: float) -> tuple[bytes, int]:
    """Return the part of `data` that begins at `at`, and the number of its marks.

    Args:
        density: the marks per byte of the previous part if that was light; 0.0 otherwise.
    """
    if density:
        part = data[at : at + min(_LIGHT_WINDOW, int(_LIGHT_MARKS / density))]
        marks = _marks(part)
        if marks <= 1.5 * density * len(part):
            return part, marks
    part = data[at : at + _WINDOW]
    marks = _marks(part)
    while marks > 1.25 * _MARKS and len(part) > _LEAST_BYTES:
        part = part[: max(_LEAST_BYTES, len(part) * _MARKS // marks)]
        marks = _marks(part)
    return part, marks


def _marks(data: bytes) -> int:
    return len(data.translate(None, _UNMARKED))
