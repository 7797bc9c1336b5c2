"""The details of a frame that a framing leaves to the server: line ends, a space after the colon."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from streamweir.framing.blank import BOM
from streamweir.framing.control_bytes import CR, LF
from streamweir.framing.frame import Frame

__all__ = ["LINE_FRAMINGS", "USUAL_STYLE", "LineFraming", "LineStyle"]

LineFraming: TypeAlias = Literal["sse", "ndjson", "lines"]
"""The framings whose frames are lines."""
LINE_FRAMINGS: Final[frozenset[str]] = frozenset(get_args(LineFraming))

_FIELD: Final = re.compile(rb"(?:^|(?<=[\r\n]))(data|event|id|retry):( ?)")


class LineStyle(NamedTuple):
    """The line ends and the field separator of a server.

    Attributes:
        end: the end of a line: LF, CRLF or CR.
        colon: separates a field of SSE from its value: a colon, with or without a space.
    """

    end: bytes
    colon: bytes

    @classmethod
    def of(cls, raw: bytes) -> LineStyle:
        """Return the style of a frame. A JSON line that ends with CR is half of one that ends with CRLF."""
        if raw.startswith(b"data: ") and CR not in raw:  # nearly all
            return USUAL_STYLE
        end = b"\n" if CR not in raw else b"\r" if b"\r\r" in raw and LF not in raw else b"\r\n"
        field = _FIELD.search(raw.removeprefix(BOM))
        return cls(end, b":" + field[2] if field else b": ")

    def applied_to(self, frame: bytes) -> bytes:
        """Return a frame that has LF line ends, written in this style."""
        return _FIELD.sub(rb"\1" + self.colon, frame).replace(b"\n", self.end)

    def writer(self, write: Callable[[Frame], bytes]) -> Callable[[Frame], bytes]:
        """Return a function that writes frames as `write` does, in this style."""

        def write_alike(frame: Frame) -> bytes:
            return self.applied_to(write(frame))

        return write_alike

    def end_behind(self, raw: bytes, framing: str) -> bytes:
        """Return the line ends that are missing after a frame of a body in `framing`."""
        end = b"\n" if raw.endswith(b"\r") else self.end
        if framing != "sse":
            return b"" if raw.endswith(b"\n") else end
        return self.end if raw.endswith(b"\n") else end + self.end


USUAL_STYLE: Final = LineStyle(b"\n", b": ")
