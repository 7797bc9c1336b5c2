"""Collects the response object of a stream while it runs.

    state       entered by                         holds
    ─────────   ────────────────────────────────   ────────────────────────────────────────────────
    empty       construction                       nothing
    collecting  `session_start`; of a later        the events so far, folded; texts of the present
                attempt it begins anew             run are joined when another event comes
    dropped     more than `max_bytes`              nothing: the response is not kept
    complete    `finish`                           the response object, or nothing if it was dropped

Source: the conversation contract, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from streamweir.errors import LimitExceeded
from streamweir.events import Content, Event, SessionEnd, SessionStart, Stamp, Thinking
from streamweir.optional_json import json_object
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.items import StreamItem
from streamweir.translation.sink import EventTap, FrameSink, ListeningSink

__all__ = ["ResponseTap"]


class ResponseTap(EventTap, ListeningSink, FrameSink):
    """Follows the attempts at one request.

    Attributes:
        end: the last event of the stream; None before the end.
        began_at: the time of the first event, in Unix milliseconds.
        response: the response object; None before the end, after a failure, and if it is too large.
        is_copied: whether `response` is the upstream's own object.

    Args:
        open_writer: returns a writer of the response object.
        max_bytes: the most bytes of text that are collected.
    """

    def __init__(self, open_writer: Callable[[], FoldedWriter], *, max_bytes: int) -> None:
        self.end: SessionEnd | None = None
        self.began_at = 0
        self.response: dict[str, Any] | None = None
        self.is_copied = False
        self._open_writer: Final = open_writer
        self._max_bytes: Final = max_bytes
        self._writer: FoldedWriter | None = None
        self._run: Content | Thinking | None = None
        """The event of the texts that have not been written yet; None if no text waits."""
        self._texts: list[str] = []
        self._stamp = Stamp("", 0, 0)
        self._size = 0
        self._copied: bytes = b""
        """The last frame of the upstream, if the client gets the upstream's frames."""

    def write(self, event: Event, stamp: Stamp) -> None:
        """Note the next event. The first event of an attempt begins the response anew."""
        if isinstance(event, SessionStart):
            self._begin(stamp)
        if isinstance(event, SessionEnd):
            self.end = event
        self._write_texts()
        self._try(lambda writer: writer.write(event, stamp))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Note the next pieces of one text, joined."""
        if event is not self._run:
            self._write_texts()
            self._run, self._stamp = event, stamp
        if self._writer is not None:
            self._texts += texts
            self._size += sum(map(len, texts))
            if self._size > self._max_bytes:
                self._drop()

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Keep a frame of the upstream that ends the response."""
        if any(isinstance(item, SessionEnd) for item in items):
            self._copied = raw

    def finish(self) -> None:
        """Note the end of the stream."""
        self._write_texts()
        self._try(lambda writer: writer.finish())
        if self._writer is not None:
            copied = _copied_response(self._copied)
            self.is_copied = copied is not None
            self.response = json_object(self._writer.take()) if copied is None else copied
        self._drop()

    def _begin(self, stamp: Stamp) -> None:
        self.end, self.response, self.began_at = None, None, stamp.timestamp
        self._drop()
        self._writer, self._size, self._copied = self._open_writer(), 0, b""

    def _write_texts(self) -> None:
        run, texts, self._run = self._run, self._texts, None
        if run is not None and texts:
            self._texts = []
            joined = "".join(texts)
            self._try(lambda writer: writer.write_run(run, [joined], self._stamp))

    def _try(self, write: Callable[[FoldedWriter], None]) -> None:
        if self._writer is None:
            return
        try:
            write(self._writer)
        except LimitExceeded:
            self._drop()

    def _drop(self) -> None:
        self._writer, self._run, self._texts = None, None, []


def _copied_response(frame: bytes) -> dict[str, Any] | None:
    """Return the response object in a frame that the client got unchanged; None if it has no response."""
    begin, end = frame.find(b"{"), frame.rfind(b"}")
    found = json_object(frame[begin : end + 1]) if 0 <= begin < end else None
    response = None if found is None else found.get("response")
    return response if isinstance(response, dict) and isinstance(response.get("id"), str) else None
