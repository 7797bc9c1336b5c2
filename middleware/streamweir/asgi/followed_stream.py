"""A stream that is sent unchanged, but read at the same time, so that it can be ended properly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.codec.registry import process_dialects
from streamweir.errors import ErrorInfo
from streamweir.events import Content, Event, SessionStart, Stamp, Thinking, ToolCallEnd, ToolCallStart
from streamweir.options.limits import Limits
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventTap

__all__ = ["FollowedStream"]

_UNBOUNDED: Final = Limits(stream_bytes=1 << 62)
"""The limits of a reader that keeps no part of the stream in memory."""


class FollowedStream:
    """The stream of an application, read while it is passed on.

    Args:
        speaks: the dialect of the application.
        framing: `sse` or `ndjson`.
        request_id: the id of the request.
    """

    def __init__(self, speaks: str, framing: str, *, request_id: str) -> None:
        self._speaks = speaks
        self._framing = framing
        self._request_id = request_id
        self._reader = StreamReader(
            speaks if process_dialects().find(speaks).reads else "standard", limits=_UNBOUNDED
        )
        self._reader.frames.takes_marked = True
        self._open = _OpenParts()
        pipeline = Pipeline((self._open,), request_id=request_id)
        self._stream = StreamNormalizer(self._reader, pipeline)
        self._tail = b""

    @property
    def started(self) -> bool:
        """Whether an event has been sent."""
        return self._reader.started

    def follow(self, data: bytes) -> None:
        """Read bytes that are being sent to the client."""
        if data:
            self._stream.feed(data)
            self._tail = (self._tail + data)[-2:]

    def fail(self, info: ErrorInfo) -> bytes:
        """Return the bytes that end the stream with an error, to be sent after all other bytes."""
        self._stream.read_rest()
        writer = open_writer(self._speaks, self._framing, request_id=self._request_id, source=self._reader)
        writer.begin_body()
        self._open.write_into(writer, Stamp(self._request_id, 0, self._stream.pipeline.position.now))
        writer.take()  # the client has these bytes already
        self._stream.pipeline.add_sink(writer)
        self._stream.fail(info)
        return self._gap(writer.framing) + writer.take()

    def _gap(self, framing: str) -> bytes:
        """Return the line ends that separate an unfinished event from the next one."""
        if not self._tail or self._tail.endswith(b"\n\n"):
            return b""
        if framing == "sse":
            return b"\n\n"
        return b"" if self._tail.endswith(b"\n") else b"\n"


class _OpenParts(EventTap):
    """The parts of a stream on which its end depends: its start, its last texts, its open calls."""

    def __init__(self) -> None:
        self._start: SessionStart | None = None
        self._texts: dict[type[Event], Event] = {}
        self._calls: dict[str, ToolCallStart] = {}

    def write_into(self, writer: Writer, stamp: Stamp) -> None:
        """Write these parts to a writer that takes over in the middle of the stream."""
        if self._start is not None:
            for event in (self._start, *self._texts.values(), *self._calls.values()):
                writer.write(event, stamp)

    def write(self, event: Event, stamp: Stamp) -> None:
        del stamp
        match event:
            case SessionStart():
                self._start = event
            case Thinking(opaque=opaque) if opaque is not None:  # the block is over
                self._texts.pop(Thinking, None)
            case Content(content="", is_complete=None):  # such as an opaque value: no part begins
                pass
            case Content() | Thinking():
                self._texts[type(event)] = event
            case ToolCallStart():
                self._calls[event.tool_id] = event
            case ToolCallEnd():
                self._calls.pop(event.tool_id, None)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        self.write(event.with_text(texts[-1]), stamp)
