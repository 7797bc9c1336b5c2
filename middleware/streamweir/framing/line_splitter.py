"""The lines of a body that arrives in pieces.

A line ends at LF, CRLF or CR. The other characters at which `str.splitlines` cuts do not end a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.errors import LimitExceeded
from streamweir.framing.control_bytes import CR

__all__ = ["LineSplitter"]


_LINE_ENDS: Final = b"\r\n"

_LONG: Final = 4 << 10
"""The least size of a piece that is kept as a separate object; shorter pieces are joined."""


class LineSplitter:
    """Cuts bytes into lines. A CRLF that arrives in two reads gives an additional blank line.

    Args:
        limit: the most bytes that one line may have, without its end.
        keeps_ends: return the lines with their ends, as they arrived; False: without.
    """

    def __init__(self, limit: int, keeps_ends: bool = False) -> None:
        self._limit = limit
        self._keeps_ends = keeps_ends
        self._rest = _Rest()

    @property
    def is_at_boundary(self) -> bool:
        """Whether no byte of the next line has arrived."""
        return not self._rest.size

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Return the lines that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: during the iteration: a line is larger than the limit; all lines before it have
                been returned.
        """
        if self._keeps_ends:
            *lines, rest = _with_ends(data)
        else:
            if CR in data:
                data = data.replace(b"\r", b"\n")
            size = self._rest.size + len(data)
            end = data.find(b"\n")
            if end == size - 1 >= 0 and size <= self._limit:  # a line and nothing else
                return (data[:-1],)
            if end < 0 and size <= self._limit:
                self._rest.append(data)
                return ()
            *lines, rest = data.split(b"\n")
        if lines and self._rest.size:
            self._rest.append(lines[0])
            lines[0] = self._rest.take()
        self._rest.append(rest)
        if max((self._rest.size, *map(len, lines))) > self._limit:
            return self._checked(lines)
        return lines

    def finish(self) -> bytes:
        """Return the bytes of a line whose end has not arrived."""
        return self._rest.take()

    def _checked(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            self._check(len(line.rstrip(_LINE_ENDS)))
            yield line
        self._check(self._rest.size)

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise LimitExceeded("a line is larger than allowed")


class _Rest:
    """The pieces of a line whose end has not arrived. They are copied once, when the line is whole.

    Attributes:
        size: the bytes of all pieces.
    """

    __slots__ = ("_long", "_short", "size")

    def __init__(self) -> None:
        self.size = 0
        self._long: list[bytes] = []
        self._short = bytearray()
        """The short pieces after `_long`, joined."""

    def append(self, piece: bytes) -> None:
        """Add a piece, which may be empty."""
        self.size += len(piece)
        if len(piece) >= _LONG:
            self._flush()
            self._long.append(piece)
            return
        self._short += piece
        if len(self._short) >= _LONG:
            self._flush()

    def take(self) -> bytes:
        """Return all pieces joined, and forget them."""
        self._flush()
        whole = b"".join(self._long)
        self._long.clear()
        self.size = 0
        return whole

    def _flush(self) -> None:
        if self._short:
            self._long.append(bytes(self._short))
            self._short.clear()


def _with_ends(data: bytes) -> list[bytes]:
    """Return the lines of `data` with their ends; the last one has none and may be empty."""
    lines = data.splitlines(keepends=True)
    if not lines or lines[-1].endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines
