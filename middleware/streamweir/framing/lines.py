"""Plain text with one frame per line. Blank lines give no frame; the last line needs no line end."""

from __future__ import annotations

from collections.abc import Iterator

from streamweir.framing.blank import BOM
from streamweir.framing.frame import Frame
from streamweir.framing.line_splitter import LineSplitter

__all__ = ["LinesParser"]


class LinesParser:
    """Splits the bytes of a body into one frame per line.

    Args:
        limit: the most bytes that one line may have.
        keeps_raw: frames have their `raw` bytes, and gaps are returned.
    """

    def __init__(self, limit: int, keeps_raw: bool = False) -> None:
        self.recognised = False
        self.cut_off = False
        self.keeps_raw = keeps_raw
        self._lines = LineSplitter(limit, keeps_raw)

    @property
    def is_at_boundary(self) -> bool:
        """Whether no byte of the next line has arrived."""
        return self._lines.is_at_boundary

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: a line is larger than the limit; all frames before it have been yielded.
        """
        for line in self._lines.feed(data):
            frame = self._frame(line)
            if frame is not None:
                yield frame

    def finish(self) -> Iterator[Frame]:
        """Yield the last line, if it has no line end."""
        rest = self._lines.finish()
        frame = self._frame(rest) if rest else None
        if frame is not None:
            frame.unterminated = True
            yield frame

    def _frame(self, line: bytes) -> Frame | None:
        raw = line if self.keeps_raw else None
        if raw is not None:
            line = line.rstrip(b"\r\n")
        if not self.recognised:
            line = line.removeprefix(BOM)
        if not line or line.isspace():
            return None if raw is None else Frame(b"", raw=raw, is_gap=True)
        self.recognised = True
        return Frame(line, raw=raw, bare=True)
