"""Lines of a body, wherever the network has cut it.

A line ends at LF, CRLF or CR, never at what only Python takes for a line end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamweir.errors import LimitExceeded
from streamweir.framing.control_bytes import CR

__all__ = ["LineSplitter"]


class LineSplitter:
    """Cuts bytes into lines, without their ends. A CRLF that is cut in two leaves a blank line.

    Args:
        limit: the most bytes that one line may have.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()

    @property
    def is_between(self) -> bool:
        """Nothing has come of the next line."""
        return not self._rest

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Return the lines that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: while they are taken: a line is larger than the limit, after all before it.
        """
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
        if size > self._limit and max(map(len, (*lines, self._rest))) > self._limit:
            return self._refused(lines)
        return lines

    def finish(self) -> bytes:
        """Return what has come of a line without its end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest

    def _refused(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            if len(line) > self._limit:
                break
            yield line
        raise LimitExceeded("a line is larger than allowed")
