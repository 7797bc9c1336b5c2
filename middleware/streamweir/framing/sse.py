"""Server-sent events, both ways.

Source: WHATWG HTML, section 9.2.6 (interpreting an event stream). Intended differences: a block that has only
an event name is a frame without data (legacy servers end a stream with a bare `event: done`), the last block
counts without its blank line, and a line that is a bare JSON object is a frame (legacy servers print one
where `data:` belongs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamweir.errors import LimitExceeded
from streamweir.framing.frame import Frame

__all__ = ["SSEParser", "sse_writer", "write_sse", "write_sse_comment"]

_BOM = b"\xef\xbb\xbf"
_LF = 0x0A  # as a number it is found ten times as fast


class SSEParser:
    """Splits bytes into frames by the WHATWG rules, wherever the network has cut them.

    Args:
        limit: the most bytes that one event may have.
    """

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._head: bytes | None = b""
        self._after_cr = False
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_size = 0
        self._event: str | None = None
        self._id: str | None = None

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: an event is larger than the limit; all before it have been yielded.
        """
        data = self._skip_bom(data)
        if not data:
            return
        *blocks, rest = self._unify_line_ends(data).split(b"\n\n")
        is_between_blocks = not (self._line or self._data or self._event)
        for block in blocks:
            is_one_line = _LF not in block and len(block) <= self._limit
            if is_between_blocks and is_one_line and block.startswith(b"data: "):
                self.recognised = True
                yield Frame(block[6:], None, self._id)
            else:
                yield from self._feed_lines(block + b"\n\n")
                is_between_blocks = True
        if rest:
            yield from self._feed_lines(rest)

    def _feed_lines(self, data: bytes) -> Iterator[Frame]:
        *lines, rest = data.split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            frame = self._take(line)
            if frame is not None:
                yield frame
        if rest:
            self._line += rest
            if len(self._line) + self._data_size > self._limit:
                raise LimitExceeded("an event is larger than allowed")

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes."""
        line = bytes(self._line) or self._head or b""
        self._line.clear()
        frame = self._take(line) if line else None
        if frame is not None:
            frame.unterminated = True
            yield frame
        if self._data or (self._event and not line):
            last = self._dispatch()
            last.unterminated = True
            yield last
        elif frame is None:
            self.cut_off = bool(line)

    def _skip_bom(self, data: bytes) -> bytes:
        if self._head is None:
            return data
        head = self._head + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(_BOM)

    def _unify_line_ends(self, data: bytes) -> bytes:
        """CR and CRLF become LF; a CRLF cut in two by the network is still one line end."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
            if not data:
                return data
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _take(self, line: bytes) -> Frame | None:
        if len(line) + self._data_size > self._limit:
            raise LimitExceeded("an event is larger than allowed")
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._data_size += len(line)
            return None
        if not line:
            return self._dispatch() if self._data or self._event else None
        return self._take_other(line)

    def _take_other(self, line: bytes) -> Frame | None:
        if line.startswith(b":"):
            self.recognised = True
            return None
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(b"")
                self._data_size += len(line)
            case b"event":
                self._event = value.decode("utf-8", "replace") or None
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace") or None
            case b"retry":
                pass
            case _ if colon and line.startswith(b"{") and line.rstrip().endswith(b"}") and not self._data:
                self.recognised = True
                return Frame(line, self._event, self._id)
            case _:
                return None
        self.recognised = True
        return None

    def _dispatch(self) -> Frame:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        frame = Frame(data, self._event, self._id)
        self.recognised = True
        self._data.clear()
        self._data_size = 0
        self._event = None
        return frame


def write_sse(frame: Frame, prefix: bytes = b"data: ") -> bytes:
    """Return `frame` as one SSE block with LF line ends; `prefix` is `data:` where clients know no space."""
    return sse_writer(prefix)(frame)


def sse_writer(prefix: bytes) -> Callable[[Frame], bytes]:
    """Return what writes the blocks of one stream."""

    def write(frame: Frame) -> bytes:
        data, start = frame.data, prefix
        if _LF in data:
            data = data.replace(b"\n", b"\n" + prefix)
        if frame.event is not None:
            start = b"event: %b\n%b" % (frame.event.encode(), prefix)
        if frame.id is not None:
            return b"".join((b"id: ", frame.id.encode(), b"\n", start, data, b"\n\n"))
        return b"".join((start, data, b"\n\n"))

    return write


def write_sse_comment(text: str) -> bytes:
    """Return a comment block: it keeps the connection busy, and clients ignore it."""
    return f": {text}\n\n".encode()
