"""The stream of a `StreamingEngine`: stages, a writer, and an end event that is held until the caller ends
the stream.

Three things happen between stages and writer. A terminal error is sent at once, but its `session_end` is held
until the caller ends the stream. The caller's values in a summary replace the computed ones. Each event is
logged.
"""

from __future__ import annotations

import logging

from streamweir.classification import classify_break
from streamweir.emit.application_stream import written_for_users
from streamweir.emit.held_end import HeldEnd
from streamweir.emit.logging_tap import LoggingTap, LogTarget
from streamweir.errors import ErrorInfo
from streamweir.events import Error, Event, Meta, SessionEnd
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline

__all__ = ["EngineStream"]

logger = logging.getLogger("streamweir")


class EngineStream:
    """One stream of a `StreamingEngine`.

    Args:
        protocol: the dialect that is written.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end.
        request_id: the id of the stream.
        session_id: the id of the session; None: a new one.
        log: called with each event in the form of the standard protocol.
        debug: add redacted details to errors and warnings.

    Attributes:
        media_type: the content type of the output.

    Raises:
        ConfigurationError: an option has an invalid value.
    """

    def __init__(
        self,
        *,
        protocol: str,
        framing: str,
        request_id: str,
        session_id: str | None,
        log: LogTarget | None,
        debug: bool,
    ) -> None:
        self._debug = debug
        self._writer = open_writer(protocol, framing, request_id=request_id)
        self._writer.begin_body()  # the application chooses the status
        self.media_type = self._writer.media_type
        self.headers = self._writer.headers
        logs = () if log is None else (LoggingTap(log),)
        self._end = HeldEnd(*logs, self._writer)
        self._pipeline = Pipeline(
            (self._end,),
            request_id=request_id,
            session_id=session_id,
            stream_tool_arguments=True,
            debug=debug,
        )
        self.start_time = self._pipeline.position.began

    @property
    def began(self) -> bool:
        """Whether `session_start` has been sent."""
        return self._pipeline.started

    @property
    def over(self) -> bool:
        """Whether `session_end` has been sent."""
        return self._pipeline.ended and not self._end.is_held

    @property
    def failed(self) -> bool:
        """Whether a terminal error has been sent, but no `session_end` after it."""
        return self._end.is_held

    @property
    def ended(self) -> bool:
        """Whether the stream has failed or ended, so that only the end may follow."""
        return self._pipeline.ended

    @property
    def error(self) -> ErrorInfo | None:
        """The terminal error of the stream; None without one."""
        return self._pipeline.error

    @property
    def sequence(self) -> int:
        """The number of the next event."""
        return self._pipeline.position.written + self._writer.added - self._end.is_held

    def has_started(self, tool_id: str) -> bool:
        """Return whether a call with this id has begun; it may have ended."""
        return self._pipeline.tools.has_started(tool_id)

    def has_ended(self, tool_id: str) -> bool:
        """Return whether the call with this id has ended."""
        return self._pipeline.tools.has_ended(tool_id)

    def push(self, event: Event) -> bytes:
        """Take an event whose texts count as written for users; return the bytes for the client."""
        self._pipeline.tick()
        self._pipeline.push(written_for_users(event, debug=self._debug))
        return self._writer.take()

    def push_error(self, event: Error) -> bytes:
        """Send a terminal error; hold the `session_end` until `end`."""
        self._end.holds = True
        return self.push(event)

    def fail_with(self, failure: BaseException, meta: Meta | None) -> bytes:
        """End the stream with the classified error of `failure`; `meta` is the metadata of the error."""
        self._pipeline.tick()
        has_begun = self._pipeline.position.written > 1  # more than `session_start` was sent
        self._pipeline.end(classify_break(failure, has_begun=has_begun, debug=self._debug), meta=meta)
        return self._writer.take()

    def end(self, event: SessionEnd) -> bytes:
        """End the stream. After a terminal error, send the held end with the fields that `event` adds."""
        self._end.summary = event.summary or {}
        if not self._end.is_held:
            return self.push(event)
        self._pipeline.tick()
        position = self._pipeline.position
        duration_ms = max(0, position.now - self.start_time)
        try:
            self._end.release(event, duration_ms=duration_ms, timestamp=position.now)
        except Exception:
            logger.exception("ending a stream failed", extra={"request_id": self._pipeline.request_id})
        return self._writer.take()
