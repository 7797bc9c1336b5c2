"""StreamingEngine: writes an application's own stream event by event, in any protocol of streamweir.

The engine checks its arguments. The stages keep the stream valid: they add a missing start, and close open
calls and messages before the end.

Source: the library contract, section 3; the standard protocol 1.1, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from streamweir.codec.event_validation import reasons_of_code
from streamweir.context import current_request_id
from streamweir.emit.emitters import Emitters, MetaFields
from streamweir.emit.engine_stream import EngineStream
from streamweir.emit.logging_tap import LogTarget
from streamweir.emit.ordered_sink import OrderedSink, Sink
from streamweir.errors import ConfigurationError, EventValidationError, LifecycleError
from streamweir.events import Error, Meta, SessionEnd, SessionStart
from streamweir.http.response_headers import response_headers
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.stream_error import log_failure

__all__ = ["StreamingEngine"]


class StreamingEngine(Emitters):
    """Emits one stream. Every emitter returns the text for the client: whole frames.

    Emitters take `meta`: `message_id`, `run_id`, `parent_run_id`, `node_id`, `node_name`, `thread_id`,
    `duration_ms`, `extra`. An empty piece of text is not sent unless it completes a message: the emitter
    returns `""`.

    Args:
        request_id: the id that every event carries; None: the current request's id, else a new one.
        protocol: the dialect that is written.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end.
        session_id: the session's id; None: a new one.
        thread_id: the conversation's id, which every event carries in its metadata.
        sink: called with each text, in the order of the sequence numbers, even if several tasks emit.
        log: a logger, which gets each event at DEBUG, or a function that is called with each event as a dict.
        debug: add details to errors and warnings, redacted; for trusted clients only.

    Attributes:
        request_id: the id of the stream.
        start_time: when the stream began, in Unix milliseconds.

    Raises:
        ConfigurationError: an option has an invalid value.

    All emitters raise `EventValidationError`, which names the field, for a value that the protocol forbids,
    and `LifecycleError` for an event that is not allowed at this point. In both cases no event is emitted,
    and the engine stays usable.
    """

    def __init__(  # noqa: PLR0913 (the keyword-only options are the contract of the library)
        self,
        request_id: str | None = None,
        *,
        protocol: str = "standard",
        framing: str = "sse",
        session_id: str | None = None,
        thread_id: str | None = None,
        sink: Sink | None = None,
        log: LogTarget | None = None,
        debug: bool = False,
    ) -> None:
        request_id = request_id or current_request_id() or new_request_id()
        if not isinstance(request_id, str) or not valid_request_id(request_id):
            raise ConfigurationError(
                f"a request id matches [A-Za-z0-9._:-]{{1,128}}, {request_id!r} does not"
            )
        self._stream = EngineStream(
            log=log,
            protocol=protocol,
            framing=framing,
            request_id=request_id,
            session_id=session_id,
            debug=debug,
        )
        self.request_id = request_id
        self.start_time = self._stream.start_time
        self._debug = debug
        self._ids: Meta = {}
        if session_id:
            self._ids["session_id"] = session_id
        if thread_id:
            self._ids["thread_id"] = thread_id
        self._sink = OrderedSink(sink, request_id=request_id) if sink else None

    # State

    @property
    def sequence(self) -> int:
        """The sequence number of the next event."""
        return self._stream.sequence

    @property
    def closed(self) -> bool:
        """Whether `session_end` has been sent."""
        return self._stream.over

    @property
    def media_type(self) -> str:
        """The content type of the stream."""
        return self._stream.media_type

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a response with the stream, with content type and request id."""
        return {**response_headers(self.media_type, self.request_id), **self._stream.headers}

    # The emitters

    async def emit_session_start(self, session_id: str | None = None, *, meta: MetaFields = None) -> str:
        """Begin the stream. Without this call, the first event begins it."""
        if self._stream.began:
            raise LifecycleError("the session has started already")
        event = self._event(SessionStart, meta, session_id=session_id)
        if event.session_id:
            self._ids["session_id"] = event.session_id
        return await self._emit(event)

    async def emit_error(
        self,
        error_type: str,
        message: str,
        details: Any = None,
        recoverable: bool = False,
        *,
        code: str | None = None,
        terminal: bool | None = None,
        meta: MetaFields = None,
    ) -> str:
        """Report a failure; after a terminal error only the end may follow.

        Args:
            error_type: the kind of failure, as the protocol lists them.
            message: the text for users; it is redacted.
            details: values that are sent only with `debug`.
            recoverable: a repeated request may succeed later.
            code: a code of the protocol or of the application; None: `INTERNAL`.
            terminal: the error ends the run; None: it ends the run unless it is recoverable.
            meta: ids of the event.
        """
        terminal = not recoverable if terminal is None else terminal
        event = self._event(
            Error,
            meta,
            error_type=error_type,
            message=message,
            details=details,
            recoverable=recoverable,
            code=code or "INTERNAL",
            terminal=terminal,
        )
        self._check_open()
        return await self._deliver(self._stream.push_error(event) if terminal else self._stream.push(event))

    async def emit_exception(self, exc: BaseException, *, meta: MetaFields = None) -> str:
        """Classify and report an exception, and end the stream; the text of the exception is only logged."""
        own = self._meta_of(Error, meta)
        if self._stream.over:
            raise LifecycleError("the stream is over")
        log_failure(exc, request_id=self.request_id)
        if self._stream.failed:
            return await self._deliver(self._stream.end(SessionEnd(status="error")))
        return await self._deliver(self._stream.fail_with(exc, own))

    async def emit_session_end(
        self,
        status: str = "completed",
        summary: Mapping[str, Any] | None = None,
        *,
        reason: str | None = None,
        meta: MetaFields = None,
    ) -> str:
        """End the stream: completed, error, cancelled or suspended. Open calls and messages are closed."""
        event = self._event(SessionEnd, meta, status=status, summary=summary, reason=reason)
        if self._stream.over:
            raise LifecycleError("the stream is over")
        if self._stream.failed:
            self._check_end_of_failure(event)
        return await self._deliver(self._stream.end(event))

    async def close(self, status: str = "completed") -> str:
        """End the stream unless it has ended; after a terminal error the status is always `error`."""
        event = self._event(SessionEnd, None, status=status)
        if self._stream.over:
            return ""
        return await self._deliver(self._stream.end(event))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """End the stream. An exception is sent as its error and not raised; a cancellation is raised."""
        if exc is None:
            await self.close()
            return False
        if not isinstance(exc, Exception) or self._stream.over:
            return False
        await self.emit_exception(exc)
        return True

    # Checks

    def _check_end_of_failure(self, event: SessionEnd) -> None:
        if event.status != "error":
            raise LifecycleError(f"the stream cannot end {event.status}: a terminal error has been sent")
        error = self._stream.error
        if error is not None and event.reason not in (None, *reasons_of_code(error.code)):
            raise EventValidationError("reason", f"cannot be {event.reason!r} after the error {error.code}")

    # Delivery

    async def _deliver(self, data: bytes) -> str:
        text = data.decode()
        if text and self._sink is not None:
            await self._sink.send(text)
        return text
