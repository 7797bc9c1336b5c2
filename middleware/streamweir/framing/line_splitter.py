"""The lines of a body that arrives in pieces.

A line ends at LF, CRLF or CR. Other characters at which `str.splitlines` cuts do not end a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.errors import LimitExceeded
from streamweir.framing.control_bytes import CR

__all__ = ["LineSplitter"]


_LINE_ENDS: Final = b"\r\n"


class LineSplitter:
    """Cuts bytes into lines. A CRLF that is cut in two leaves a blank line.

    Args:
        limit: the most bytes that one line may have, without its end.
        keeps_ends: return the lines with their ends, as they arrived; False: without.
    """

    def __init__(self, limit: int, keeps_ends: bool = False) -> None:
        self._limit = limit
        self._keeps_ends = keeps_ends
        self._rest = bytearray()

    @property
    def is_at_boundary(self) -> bool:
        """No byte of the next line has arrived."""
        return not self._rest

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Return the lines that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: while they are taken: a line is larger than the limit, after all before it.
        """
        if self._keeps_ends:
            *lines, rest = _with_ends(data)
        else:
            if CR in data:
                data = data.replace(b"\r", b"\n")
            size = len(self._rest) + len(data)
            if size <= self._limit and data.find(b"\n") == size - 1 >= 0:  # a line and nothing else
                return (data[:-1],)
            *lines, rest = data.split(b"\n")
        if lines and self._rest:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        if max(map(len, (*lines, self._rest))) > self._limit:
            return self._checked(lines)
        return lines

    def finish(self) -> bytes:
        """Return the bytes of a line whose end has not arrived."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest

    def _checked(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self._check(line.rstrip(_LINE_ENDS))
            yield line
        self._check(self._rest)

    def _check(self, line: bytes | bytearray) -> None:
        if len(line) > self._limit:
            raise LimitExceeded("a line is larger than allowed")


def _with_ends(data: bytes) -> list[bytes]:
    """Return the lines of `data` with their ends; the last one has none and may be empty."""
    lines = data.splitlines(keepends=True)
    if not lines or lines[-1].endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines
