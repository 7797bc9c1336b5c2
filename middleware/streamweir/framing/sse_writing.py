"""Writes server-sent events.

Source: WHATWG HTML, section 9.2.6 (interpreting an event stream).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from streamweir.framing.control_bytes import LF
from streamweir.framing.frame import Frame

__all__ = ["LONE_COMMENT", "sse_writer", "write_sse"]

LONE_COMMENT: Final = b": ping\n"
"""A comment line without a blank line after it, because some readers take that for an event."""


def write_sse(frame: Frame, prefix: bytes = b"data: ") -> bytes:
    """Return `frame` as one SSE block with LF line ends, with `prefix` before each line of its data."""
    return sse_writer(prefix)(frame)


@lru_cache(maxsize=16)
def sse_writer(prefix: bytes) -> Callable[[Frame], bytes]:
    """Return a function that writes frames as SSE blocks with `prefix` before each line of data."""

    def write(frame: Frame) -> bytes:
        data: Any = frame.data
        start = prefix
        if isinstance(data, str):  # own encoders may write JSON text
            data = data.encode()
        if LF in data:
            data = data.replace(b"\n", b"\n" + prefix)
        if frame.event is not None:
            if not data:  # the name alone
                return _named(frame.event, frame.id)
            start = b"event: %b\n%b" % (frame.event.encode(), prefix)
        if frame.id is not None:
            return b"".join((b"id: ", frame.id.encode(), b"\n", start, data, b"\n\n"))
        return b"".join((start, data, b"\n\n"))

    return write


def _named(event: str, frame_id: str | None) -> bytes:
    """Return a block without data: an event name, and an id if there is one."""
    start = b"" if frame_id is None else b"id: %b\n" % frame_id.encode()
    return b"%bevent: %b\n\n" % (start, event.encode())
