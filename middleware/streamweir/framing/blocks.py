"""Bytes cut where their frames end, for those who want to hand them on as they came.

Nothing is changed: the blocks together are the body, with its comments, blank lines and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from streamweir.framing.blank import BOM
from streamweir.framing.control_bytes import CR, LF

__all__ = ["Block", "BlockCutter", "LineFraming", "LineStyle", "payload_of", "with_payload"]

LineFraming: TypeAlias = Literal["sse", "ndjson", "lines"]

_LINE_ENDS: Final = b"\r\n"
_FIELD: Final = re.compile(rb"(?:^|(?<=[\r\n]))(data|event|id|retry):( ?)")


class Block(NamedTuple):
    """A frame with what surrounds it, or what stands between frames.

    Attributes:
        raw: all of it.
        new: that part of it which had not come before; a parser has been given the rest.
        is_whole: its end has come.
    """

    raw: bytes
    new: bytes
    is_whole: bool


class LineStyle(NamedTuple):
    """How a server writes its lines, where the framing leaves it the choice.

    Attributes:
        end: of a line.
        colon: between a field of SSE and its value.
    """

    end: bytes
    colon: bytes

    @classmethod
    def of(cls, raw: bytes) -> LineStyle:
        """Return the style of a block."""
        end = b"\r\n" if b"\r\n" in raw else b"\r" if CR in raw else b"\n"
        field = _FIELD.search(raw.removeprefix(BOM))
        return cls(end, b":" + field[2] if field else b": ")

    def applied_to(self, block: bytes) -> bytes:
        """Return a block with LF line ends in this style."""
        return _FIELD.sub(rb"\1" + self.colon, block).replace(b"\n", self.end)


class BlockCutter:
    """Cuts a body into blocks of at most one frame each, wherever the network has cut it.

    A block of SSE ends with its blank line; a comment or a bare JSON object that stands alone, with its own
    line. A block of any other framing is a line.

    Args:
        framing: of the body.
    """

    __slots__ = ("_after_cr", "_has_fields", "_line_start", "_open", "framing")

    def __init__(self, framing: LineFraming) -> None:
        self.framing: Final = framing
        self._open = bytearray()
        self._line_start = 0
        """Where in `_open` its last line begins, which has no end yet."""
        self._has_fields = False
        self._after_cr = False

    @property
    def rest(self) -> bytes:
        """What has come of a block whose end has not."""
        return bytes(self._open)

    @property
    def is_between(self) -> bool:
        """The last block is whole, and so is its line end."""
        return not self._open and not self._after_cr

    def cut(self, data: bytes) -> Iterator[Block]:
        """Yield the blocks that `data` completes, and what it holds of the next one."""
        if self._after_cr and data.startswith(b"\n"):  # the other half of a line end
            data = data[1:]
            if self._open:
                self._open += b"\n"
                self._line_start += 1
                yield Block(b"", b"\n", is_whole=False)
            else:
                yield Block(b"\n", b"\n", is_whole=True)
        if not data:
            self._after_cr = False
            return
        self._after_cr = data.endswith(b"\r")
        if LF not in data and CR not in data:
            self._open += data
            yield Block(b"", data, is_whole=False)
            return
        yield from self._cut_lines(data)

    def _cut_lines(self, data: bytes) -> Iterator[Block]:
        given = len(self._open) - self._line_start
        lines = (bytes(self._open[self._line_start :]) + data).splitlines(keepends=True)
        del self._open[self._line_start :]
        block: list[bytes] = [bytes(self._open)] if self._open else []
        given += len(self._open)
        self._open.clear()
        for line in lines:
            block.append(line)
            if self._ends(line):
                raw = b"".join(block)
                yield Block(raw, raw[given:], is_whole=True)
                block.clear()
                given = 0
        if not block:
            self._line_start = 0
            return
        self._open += b"".join(block)
        self._line_start = len(self._open) - (0 if _is_ended(block[-1]) else len(block[-1]))
        yield Block(b"", bytes(self._open[given:]), is_whole=False)

    def _ends(self, line: bytes) -> bool:
        """Does a block end with `line`?"""
        if not _is_ended(line):
            return False
        if self.framing != "sse":
            return True
        if len(line) <= len(_LINE_ENDS) and not line.strip(_LINE_ENDS):
            self._has_fields = False
            return True
        if not self._has_fields and (line.startswith(b":") or _is_bare_object(line)):
            return True
        self._has_fields = True
        return False


def payload_of(raw: bytes, framing: LineFraming) -> bytes:
    """Return what the frame in a block says."""
    if framing == "lines":
        return raw.strip(_LINE_ENDS).removeprefix(BOM)
    if framing == "ndjson":
        line = raw.strip().removeprefix(BOM).lstrip()
        return line.removeprefix(b"data:").lstrip()
    lines = raw.removeprefix(BOM).splitlines()
    data = [_field_value(line) for line in lines if _is_data(line)]
    return b"\n".join(data) if data else next((line for line in lines if _is_bare_object(line)), b"")


def with_payload(raw: bytes, payload: bytes, framing: LineFraming) -> bytes:
    """Return a block that says `payload`, one line, in the place of what it says."""
    if framing != "sse":
        end = raw[len(raw.rstrip(_LINE_ENDS)) :]
        return payload + end
    out: list[bytes] = []
    is_written = False
    for line in raw.removeprefix(BOM).splitlines(keepends=True):
        is_bare = _is_bare_object(line)
        if not is_bare and not _is_data(line):
            out.append(line)
        elif not is_written:
            is_written = True
            end = line[len(line.rstrip(_LINE_ENDS)) :]
            begin = b"" if is_bare else b"data: " if line.startswith(b"data: ") else b"data:"
            out.append(begin + payload + end)
    return b"".join(out)


def _is_ended(line: bytes) -> bool:
    return line.endswith((b"\n", b"\r"))


def _is_data(line: bytes) -> bool:
    return line.startswith(b"data:") or line.rstrip(_LINE_ENDS) == b"data"


def _field_value(line: bytes) -> bytes:
    return line.rstrip(_LINE_ENDS)[5:].removeprefix(b" ")


def _is_bare_object(line: bytes) -> bool:
    return line.startswith(b"{") and line.rstrip().endswith(b"}")
