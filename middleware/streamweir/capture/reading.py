"""Reads capture files; every line is treated as untrusted.

Source: the contract of capture files, sections 1 and 4.
"""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any, Final

from streamweir.capture.capture import Capture, Read
from streamweir.errors import StreamweirError
from streamweir.framing.content_coding import CodedBodyError, body_decoder
from streamweir.optional_json import json_object
from streamweir.options.limits import EVENT_BYTES, Limits

__all__ = ["VERSION", "CaptureError", "begins_capture", "lines_of", "load", "parse_captures", "unpacked"]

VERSION: Final = 1
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 64 << 10
_LANES: Final = 3
"""Reads, events and writes may each have as many bytes as a stream may."""
_LINE_PER_BYTE: Final = 6
"""The most bytes of a line for one byte of a body, which is written as `\\u0000`."""
_MOST_BYTES: Final = 512 << 20
"""The most bytes of all lines of one capture, unless a stream may be larger than half of this."""


class CaptureError(StreamweirError):
    """The file is not a capture, or is a faulty one."""


def begins_capture(line: bytes) -> bool:
    """Return whether a file is a capture, judged by its first line and not by its name."""
    if not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        return False
    value = _object(line)
    return value is not None and value.get("kind") == "capture" and "version" in value


def load(file: str | os.PathLike[str] | IO[bytes], *, limits: Limits | None = None) -> list[Capture]:
    """Return the captures in a file: a path, or an open file of bytes; `.gz` is read too.

    Args:
        file: the path, or the open file, which is read from its current position.
        limits: `event_bytes` bounds each event, `stream_bytes` each capture.

    Raises:
        CaptureError: the file is not a capture, or is faulty.
        OSError: the file cannot be opened.
    """
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            return load(opened, limits=limits)
    return parse_captures(lines_of(iter(lambda: file.read(_PIECE), b""), limits), limits=limits)


def parse_captures(lines: Iterable[bytes], *, limits: Limits | None = None) -> list[Capture]:
    """Return the captures in these lines.

    Raises:
        CaptureError: there is no capture, or a line before the last is broken.
    """
    found: list[_Reading] = []
    broken: int | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if broken is not None:
            raise CaptureError(f"line {broken} is no JSON object")
        value = _object(line)
        if value is None:
            broken = number
        elif value.get("kind") == "capture":
            found.append(_Reading(_checked(value), limits or Limits()))
        elif not found:
            break
        else:
            found[-1].take(value, number, len(line))
    if not found:
        raise CaptureError("no capture: the first line of one has kind `capture`")
    if broken is not None:
        found[-1].capture.notes.append(f"line {broken} broke off and was passed over")
    return [reading.capture for reading in found]


def lines_of(pieces: Iterable[bytes], limits: Limits | None = None) -> Iterator[bytes]:
    """Yield the lines of a file that is read in pieces, compressed or not.

    Raises:
        CaptureError: a line is too long, or the compressed file is broken.
    """
    longest = _longest_line(limits or Limits())
    begun = bytearray()
    for piece in unpacked(iter(pieces)):
        first, *others = piece.split(b"\n")
        begun += first
        if len(begun) > longest:
            raise CaptureError("a line is longer than one may be")
        if others:
            yield bytes(begun)
            yield from others[:-1]
            begun = bytearray(others[-1])
    if begun:
        yield bytes(begun)


def _longest_line(limits: Limits) -> int:
    """Return the most bytes of a line: a read, event or write is not larger than an event may be."""
    return _LINE_PER_BYTE * min(limits.stream_bytes, max(limits.event_bytes, EVENT_BYTES))


def _most_bytes(limits: Limits) -> int:
    """Return the most bytes of the lines of one capture."""
    return min(_LANES * _LINE_PER_BYTE * limits.stream_bytes, max(2 * limits.stream_bytes, _MOST_BYTES))


def unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file, compressed or not.

    Raises:
        CaptureError: the compressed file is broken.
    """
    first = b""
    while len(first) < len(_GZIP) and _GZIP.startswith(first) and (piece := next(pieces, b"")):
        first += piece
    arriving = chain((first,), pieces)
    decoder = body_decoder("gzip") if first.startswith(_GZIP) else None
    if decoder is None:
        yield from arriving
        return
    try:
        for piece in arriving:
            yield from decoder.feed(piece)
        decoder.finish()
    except CodedBodyError as error:
        raise CaptureError("the compressed file is broken") from error


def _object(line: bytes) -> dict[str, Any] | None:
    return json_object(line.strip().removeprefix(b"\xef\xbb\xbf"))


def _checked(meta: dict[str, Any]) -> dict[str, Any]:
    version = meta.get("version")
    if isinstance(version, int) and version > VERSION:
        raise CaptureError("made by a newer streamweir")
    if version != VERSION or isinstance(version, bool):
        raise CaptureError(f"no capture: its version must be {VERSION}")
    return {**meta, "id": str(meta.get("id", ""))}


_KEPT: Final = {
    "request": "requests",
    "response": "responses",
    "write": "writes",
    "mark": "marks",
    "attempt": "attempts",
}
"""Kinds of lines that are kept unchanged."""


class _Reading:
    """A capture while its lines are being read."""

    def __init__(self, meta: dict[str, Any], limits: Limits) -> None:
        self.capture = Capture(meta)
        self._limits = limits
        self._most_bytes = _most_bytes(limits)
        self._bytes = self._body_bytes = 0

    def take(self, line: dict[str, Any], number: int, size: int) -> None:
        """Take one line of `size` bytes; unknown kinds of lines are skipped."""
        self._bytes += size
        if self._bytes > self._most_bytes:
            raise CaptureError(f"line {number}: the capture is larger than a stream may be")
        kind = str(line.get("kind"))
        if kind in _KEPT:
            getattr(self.capture, _KEPT[kind]).append(line)
        elif kind == "read":
            self.take_read(line, number)
        elif kind == "event":
            self.take_event(line, number, size)
        elif kind == "end":
            self.capture.end = line

    def take_read(self, line: dict[str, Any], number: int) -> None:
        """Take one read. Reads beyond `stream_bytes` are refused."""
        data = _body(line, number)
        self._body_bytes += len(data or b"")
        if self._body_bytes > self._limits.stream_bytes:
            raise CaptureError(f"line {number}: the capture is larger than a stream may be")
        self.capture.recorded.append(Read(_number(line.get("t")), data, int(_number(line.get("attempt"), 1))))

    def take_event(self, line: dict[str, Any], number: int, size: int) -> None:
        """Take one event, whose line has `size` bytes."""
        if size > _LINE_PER_BYTE * self._limits.event_bytes:
            raise CaptureError(f"line {number}: the event is larger than one may be")
        if isinstance(line.get("event"), dict):
            self.capture.events.append(line["event"])


def _body(line: dict[str, Any], number: int) -> bytes | None:
    """Return the bytes in a line; None if the line only has their number."""
    data, coded = line.get("data"), line.get("base64")
    if isinstance(data, str):
        return data.encode("utf-8", "replace")
    if isinstance(coded, str):
        try:
            return b64decode(coded, validate=True)
        except binascii.Error as error:
            raise CaptureError(f"line {number} holds no base64") from error
    return None


def _number(value: Any, default: float = 0.0) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1 << 53 else default
