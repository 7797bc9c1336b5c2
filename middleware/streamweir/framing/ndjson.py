"""Reads and writes newline-delimited JSON; also reads a single JSON document.

Source: the NDJSON convention (one JSON text per line, LF). A line also ends at CR, which valid JSON cannot
hold inside a string. Leniency: a `data:` before a line, comments, and a `data: [DONE]` after JSON on one line
are skipped. The last line needs no line end. A body whose first line is only one or two opening brackets is
one pretty-printed document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from streamweir.errors import LimitExceeded
from streamweir.framing.blank import BOM
from streamweir.framing.control_bytes import CR, LF
from streamweir.framing.frame import Frame
from streamweir.framing.line_splitter import LineSplitter

__all__ = ["DOCUMENT_STARTS", "DocumentParser", "NDJSONParser", "write_ndjson"]

_DONE_BEHIND: Final = re.compile(rb"\}\s{0,8}data: ?\[DONE\]\Z")

DOCUMENT_STARTS: Final = (b"{", b"[", b"[{")
"""First lines that begin a pretty-printed document."""


class DocumentParser:
    """Takes the whole body as one frame: `application/json`, on one line or several.

    Args:
        limit: the most bytes that the document may have.
        keeps_raw: the frame has its `raw` bytes.
    """

    def __init__(self, limit: int, keeps_raw: bool = False) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._keeps_raw = keeps_raw
        self._body = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Keep `data`, and return an iterator without frames.

        Raises:
            LimitExceeded: the document is larger than one event may be.
        """
        self._body += data
        if len(self._body) > self._limit:
            raise LimitExceeded("a JSON document is larger than allowed")
        yield from ()

    def finish(self) -> Iterator[Frame]:
        """Yield the document, unless it is blank."""
        raw = bytes(self._body)
        body = _without_done(raw.replace(b"\r", b"\n").removeprefix(BOM).strip())
        self._body.clear()
        if body:
            self.recognised = True
            yield Frame(body, raw=raw if self._keeps_raw else None, unterminated=True, bare=True)


class NDJSONParser:
    """Splits the bytes of a body into one frame per line.

    Args:
        limit: the most bytes that one line may have.
        keeps_raw: frames have their `raw` bytes, and gaps are returned.
    """

    def __init__(self, limit: int, keeps_raw: bool = False) -> None:
        self.recognised = False
        self.cut_off = False
        self.keeps_raw = keeps_raw
        self._limit = limit
        self._lines = LineSplitter(limit, keeps_raw)
        self._document: DocumentParser | None = None

    @property
    def is_document(self) -> bool:
        """Whether the body is one document, whose frame is returned at the end of the body."""
        return self._document is not None

    @property
    def is_at_boundary(self) -> bool:
        """Whether no byte of the next line has arrived."""
        return self._lines.is_at_boundary and self._document is None

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: a line is larger than the limit; all frames before it have been yielded.
        """
        if self._document is not None:
            yield from self._document.feed(data)
            return
        lines = iter(self._lines.feed(data))
        for line in lines:
            frame = self._frame(line)
            if frame is None:
                continue
            if not self.recognised and frame.data in DOCUMENT_STARTS:
                self._document = DocumentParser(self._limit, self.keeps_raw)
                between = b"" if self.keeps_raw else b"\n"
                yield from self._document.feed(between.join([line, *lines, self._lines.finish()]))
                return
            self.recognised = self.recognised or not frame.is_gap
            yield frame

    def only_frame(self, data: bytes) -> Frame | None:
        """Return the frame of a read that is one object on one line; else return None and change no state."""
        is_whole = data.startswith(b"{") and data.endswith(b"}\n") and data.find(LF) == len(data) - 1
        if not (is_whole and self.recognised and self.is_at_boundary) or data.find(CR) >= 0:
            return None
        if len(data) > self._limit or self.keeps_raw:
            return None
        return Frame(data[:-1], bare=True)

    def finish(self) -> Iterator[Frame]:
        """Yield the frames that the end of the body completes."""
        if self._document is not None:
            yield from self._document.finish()
            self.recognised = self._document.recognised
            return
        rest = self._lines.finish()
        frame = self._frame(rest) if rest else None
        if frame is not None:
            self.recognised = self.recognised or not frame.is_gap
            frame.unterminated = True
            yield frame

    def _frame(self, line: bytes) -> Frame | None:
        raw = line if self.keeps_raw else None
        line = line.strip()
        if line.startswith(b"{"):  # nearly all do
            return Frame(line if line.endswith(b"}") else _without_done(line), raw=raw, bare=True)
        if line.startswith(BOM) and not self.recognised:
            line = line.removeprefix(BOM).lstrip()
        if line.startswith(b"data:"):
            line = line[5:].lstrip()
        if line and not line.startswith(b":"):
            return Frame(line, raw=raw, bare=True)
        return None if raw is None else Frame(b"", raw=raw, is_gap=True)


def _without_done(line: bytes) -> bytes:
    """Return JSON without the `data: [DONE]` that some proxies write after it on one line."""
    match = _DONE_BEHIND.search(line)
    return line if match is None else line[: match.start() + 1]


def write_ndjson(frame: Frame) -> bytes:
    """Return `frame` as one line, even if its data has several lines; empty if it has no data."""
    data: Any = frame.data
    if isinstance(data, str):  # own encoders may write JSON text
        data = data.encode()
    if LF in data:  # never in JSON text
        data = data.replace(b"\n", b" ")
    return data + b"\n" if data else b""
