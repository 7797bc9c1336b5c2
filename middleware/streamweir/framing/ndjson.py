"""Newline-delimited JSON, both ways, and a JSON document in its place.

Source: the NDJSON convention (one JSON text per line, LF). A line also ends at CR, which valid JSON cannot
hold inside a string; never at U+2028, U+0085 or other characters that Python's `splitlines` would cut at.
Leniency: `data:` in front of a line is skipped, so are comments; the last line counts without its line end; a
body whose first line is nothing but an opening bracket is one pretty-printed document.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamweir.errors import LimitExceeded
from streamweir.framing.frame import Frame

__all__ = ["DocumentParser", "NDJSONParser", "write_ndjson"]

_BOM = b"\xef\xbb\xbf"


class DocumentParser:
    """Takes the whole body as one frame: `application/json`, also over several lines."""

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._body = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Keep `data`; yields nothing.

        Raises:
            LimitExceeded: the document is larger than one event may be.
        """
        self._body += data
        if len(self._body) > self._limit:
            raise LimitExceeded("a JSON document is larger than allowed")
        yield from ()

    def finish(self) -> Iterator[Frame]:
        """Yield the document, unless it is blank."""
        body = bytes(self._body).removeprefix(_BOM).strip()
        self._body.clear()
        if body:
            self.recognised = True
            yield Frame(body, unterminated=True, bare=True)


class NDJSONParser:
    """Splits bytes into one frame per line, wherever the network has cut them.

    Args:
        limit: the most bytes that one line may have.
    """

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._line = bytearray()
        self._document: DocumentParser | None = None

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: a line is larger than the limit; all before it have been yielded.
        """
        if b"\r" in data:
            data = data.replace(b"\r", b"\n")
        if self._document is not None:
            yield from self._document.feed(data)
            return
        *lines, rest = data.split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for index, line in enumerate(lines):
            frame = self._take(line)
            if frame is None:
                continue
            if not self.recognised and frame.data in (b"{", b"["):
                yield from self._become_document(b"\n".join([*lines[index:], rest]))
                return
            self.recognised = True
            yield frame
        self._line += rest
        if len(self._line) > self._limit:
            raise LimitExceeded("a line is larger than allowed")

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes."""
        if self._document is not None:
            yield from self._document.finish()
            self.recognised = self._document.recognised
            return
        frame = self._take(bytes(self._line))
        self._line.clear()
        if frame is not None:
            self.recognised = True
            frame.unterminated = True
            yield frame

    def _take(self, line: bytes) -> Frame | None:
        if len(line) > self._limit:
            raise LimitExceeded("a line is larger than allowed")
        line = line.strip()
        if line.startswith(_BOM) and not self.recognised:
            line = line.removeprefix(_BOM).lstrip()
        if line.startswith(b"data:"):
            line = line[5:].lstrip()
        return Frame(line, bare=True) if line and not line.startswith(b":") else None

    def _become_document(self, body: bytes) -> Iterator[Frame]:
        self._document = DocumentParser(self._limit)
        yield from self._document.feed(body)


def write_ndjson(frame: Frame) -> bytes:
    """Return `frame` as one line, also if its data has several; nothing for one without data."""
    data = frame.data
    if b"\n" in data:  # never in JSON text
        data = data.replace(b"\n", b" ")
    return data + b"\n" if data else b""
