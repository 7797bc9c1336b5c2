"""Plain text, a frame per line.

A line ends at LF, CRLF or CR, never at what only Python takes for a line end. Blank lines are none; the last
line counts without its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.errors import LimitExceeded
from streamweir.framing.frame import Frame

__all__ = ["LinesParser"]

_BOM: Final = b"\xef\xbb\xbf"


class LinesParser:
    """Splits bytes into one frame per line, wherever the network has cut them.

    Args:
        limit: the most bytes that one line may have.
    """

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._line = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: a line is larger than the limit; all before it have been yielded.
        """
        if b"\r" in data:  # a CRLF cut in two leaves a blank line, which is none
            data = data.replace(b"\r", b"\n")
        *lines, rest = data.split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            frame = self._take(line)
            if frame is not None:
                yield frame
        self._line += rest
        if len(self._line) > self._limit:
            raise LimitExceeded("a line is larger than allowed")

    def finish(self) -> Iterator[Frame]:
        """Yield the last line, if it has no end."""
        frame = self._take(bytes(self._line))
        self._line.clear()
        if frame is not None:
            frame.unterminated = True
            yield frame

    def _take(self, line: bytes) -> Frame | None:
        if len(line) > self._limit:
            raise LimitExceeded("a line is larger than allowed")
        if not self.recognised:
            line = line.removeprefix(_BOM)
        if not line or line.isspace():
            return None
        self.recognised = True
        return Frame(line, bare=True)
