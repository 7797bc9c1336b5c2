"""Reads recorded streams for the commands: captures or plain bodies, distinguished by their first line.

Source: the contract of capture files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain

from streamweir.capture import Capture, CaptureError, begins_capture, parse_captures
from streamweir.capture.capture import Read
from streamweir.capture.reading import lines_of, unpacked
from streamweir.options.limits import Limits
from streamweir_gateway.cli.command import CommandFailed
from streamweir_gateway.cli.input_output import ReadFailed, label_of, open_input, pieces
from streamweir_gateway.observability.text_line import printable

__all__ = ["captures_from", "recordings_in"]

_LONGEST_FIRST_LINE = 64 << 10
_MOST_BYTES = Limits().stream_bytes


def recordings_in(name: str) -> list[Capture]:
    """Return the captures of a file, or of standard input for `-`; a plain body is one capture.

    Raises:
        CommandFailed: the input cannot be read.
    """
    with open_input(name) as source:
        arriving = pieces(source, name)
        captures, body = captures_from(arriving, name)
        if captures is None:
            capture = Capture({"kind": "capture", "version": 1, "id": name})
            capture.recorded.append(Read(0.0, _whole(body, name)))
            capture.attempts.append({"kind": "attempt", "attempt": 1, "t": 0.0, "ended": "eof"})
            captures = [capture]
    return captures


def _whole(body: Iterable[bytes], name: str) -> bytes:
    """Return a plain body as one capture.

    Raises:
        CommandFailed: the body is larger than a stream may be.
    """
    whole = bytearray()
    for piece in body:
        whole += piece
        if len(whole) > _MOST_BYTES:
            raise CommandFailed(f"{label_of(name)} is larger than a stream may be")
    return bytes(whole)


def captures_from(arriving: Iterator[bytes], name: str) -> tuple[list[Capture] | None, Iterable[bytes]]:
    """Look at the first line of the input; return its captures, or None and the whole body, unpacked.

    If the bytes cannot be the first line of a capture, the body is returned at once.

    Raises:
        CommandFailed: the input is a capture that cannot be read, or its compressed beginning is broken.
    """
    opened = unpacked(arriving)
    head: list[bytes] = []
    first = b""
    try:
        for piece in opened:
            head.append(piece)
            first += piece
            if b"\n" in first or not _may_begin(first):
                break
        if not begins_capture(first.partition(b"\n")[0]):
            return None, _body(chain(head, opened), name)
        captures = parse_captures(lines_of(chain(head, opened)))
    except CaptureError as error:
        raise CommandFailed(f"{label_of(name)}: {error}") from error
    for capture in captures:
        for note in capture.notes:
            print(printable(f"streamweir: {label_of(name)}: {note}"), file=sys.stderr)
    return captures, ()


def _body(opened: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield a plain body.

    Raises:
        ReadFailed: the compressed file is broken.
    """
    try:
        yield from opened
    except CaptureError as error:
        raise ReadFailed(f"cannot read {label_of(name)}: {error}") from error.__cause__


def _may_begin(first: bytes) -> bool:
    return len(first) < _LONGEST_FIRST_LINE and first.lstrip(b"\xef\xbb\xbf \t")[:1] in (b"", b"{")
