"""One request for a stream, and its events.

Source: the library contract, section 5; the standard protocol 1.1, sections 4 to 6.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from streamweir.classification.statuses import STREAM_STATUSES
from streamweir.client.body_readers import BodyReader, open_reader
from streamweir.client.http_request import HttpRequest, failed_body, failed_connection
from streamweir.client.rejections import info_of_rejection, request_id_in
from streamweir.client.waits import WaitOver, Waits
from streamweir.errors import ErrorInfo, error_info
from streamweir.events import Error, SessionEnd
from streamweir.options.timeouts import Timeouts
from streamweir.request_errors import (
    RequestRejected,
    RequestTimeout,
    StreamFailed,
    StreamRequestError,
    StreamTruncated,
)
from streamweir.request_id import valid_request_id
from streamweir.stages import info_of_error
from streamweir.translation.clock import Due, StreamClock, timeout_error
from streamweir.translation.received_event import ReceivedEvent, failure_events

__all__ = ["StreamAttempt"]

_T = TypeVar("_T")

_NO_STREAM: Final = ("audio", "font", "image", "multipart", "video")


class StreamAttempt:
    """One request for a stream, and the events of the answer.

    state     entered by                                             `next`
    ───────   ────────────────────────────────────────────────────   ────────────────────────────────────────
    new       construction                                           sends the request
    reading   an answer that is a stream: `_reader` is set           returns events, reads the body
    ending    a failure (`_failure`) or the end of the body          returns the events before it, then None:
              (`_at_end`): its events are in `ending`                the caller takes `ending`
    over      the connection is closed (`_is_over`), after each      returns the events before it, then None
              ending, after the last event, or by `aclose`

    `aclose` drops all events that have not been returned. `_is_named` is set by the first id of the server.

    Attributes:
        request_id: the id of the request; once there is an answer, the id in its headers, envelope or events.
        status: the HTTP status of the answer; None before it.
        run: the handle of the run in the answer's headers; None if they name no run.
        location: the URL at which that run is read, from the answer's headers.
        ending: the events of a failure or of the end of the body; taken by the caller once `next` returns
            None.
    """

    def __init__(
        self,
        exchange: HttpRequest,
        *,
        speaks: str,
        timeouts: Timeouts,
        request_id: str,
        waits: Waits,
        goes_on: bool = False,
    ) -> None:
        self.request_id = request_id
        self.status: int | None = None
        self.run: str | None = None
        self.location = ""
        self.ending: deque[ReceivedEvent] = deque()
        self._exchange = exchange
        self._speaks = speaks
        self._goes_on = goes_on
        self._timeouts = timeouts
        self._clock: StreamClock | None = None
        self._events: deque[ReceivedEvent] = deque()
        self._reader: BodyReader | None = None
        self._failure: StreamRequestError | None = None
        self._is_named = False
        self._at_end = False
        self._is_over = False
        self._waits = waits

    async def next(self) -> ReceivedEvent | None:
        """Return the next event; None if no more events will arrive."""
        while not self._events:
            if self._is_over or self.ending:
                return None
            await self._advance()
        return self._events.popleft()

    async def aclose(self) -> None:
        """Close the connection, also while another task is reading: its iteration then ends."""
        self._is_over = True
        self._events.clear()
        self.ending.clear()
        await self._waits.interrupt()
        await self._close()

    async def aclose_connection(self) -> None:
        """Close the connection; events that have arrived can still be read."""
        await self._close()

    async def _advance(self) -> None:
        """Wait for the network once, and take the bytes that have arrived."""
        try:
            events = await self._next_events()
        except BaseException:
            await self._close()
            raise
        for event in events:
            self._note_request_id(event.metadata.request_id)
        (self.ending if self._at_end or self._failure is not None else self._events).extend(events)
        if self._is_over or self._reader is None or self._reader.ended or self.ending:
            await self._close()

    async def _next_events(self) -> list[ReceivedEvent]:
        reader = self._reader
        try:
            if reader is None:
                self._reader = await self._within_time(self._open)
                return []
            data = await self._within_time(self._exchange.read) or b""
        except _LeftError:
            return []
        except Exception as error:
            self._failure = failure = self._failure_of(error)
            if reader is not None:
                return reader.fail(failure.info)
            return list(failure_events(failure.info, request_id=self.request_id, sequence=0))
        self._at_end = not data
        assert reader is not None
        return reader.feed(data) if data else reader.close()

    async def _open(self) -> BodyReader:
        response = await self._exchange.send()
        self.status = response.status_code
        self.run = response.headers.get("x-streamweir-run")
        self.location = response.headers.get("content-location", "")
        named = response.headers.get("x-request-id", "")
        self._note_request_id(named)
        if response.status_code not in STREAM_STATUSES:
            body = await self._exchange.read_rejection(self._waits)
            info = info_of_rejection(
                response.status_code, retry_after=response.headers.get("retry-after"), body=body
            )
            self._note_request_id(request_id_in(body))
            raise RequestRejected(info, request_id=self.request_id, status=self.status)
        kind = response.headers.get("content-type", "").partition("/")[0].strip().lower()
        if kind in _NO_STREAM:
            raise self._error(StreamFailed, error_info("UPSTREAM_INVALID_RESPONSE"))
        path = response.request.url.path
        return open_reader(self._speaks, request_id=self.request_id, path=path, goes_on=self._goes_on)

    def _note_request_id(self, given: str | None) -> None:
        """Adopt the first request id that the server sends, because the server's log has that id."""
        if not self._is_named and given and valid_request_id(given):
            self._is_named = True
            self.request_id = given

    async def _within_time(self, step: Callable[[], Awaitable[_T]]) -> _T | None:
        """Return the result of `step`; None if there is silence after which the stream may end.

        There is one timeout scope per wait for the network, however many events it brings.
        """
        deadline, due = self._next_due()
        try:
            return await self._waits.within(deadline, step, self._exchange.abort)
        except WaitOver:
            if self._is_over:
                raise _LeftError from None
        if due in ("total_timeout", "first_event_timeout", "idle_timeout"):
            raise self._error(RequestTimeout, timeout_error(due))
        return None

    def _next_due(self) -> tuple[float, Due | None]:
        """Return the latest end of the wait that begins now, and the clock that ends it."""
        now = self._waits.now()
        if self._clock is None:
            self._clock = StreamClock(began=now, timeouts=self._timeouts)
            self._clock.asked = now
        self._clock.source = self._reader
        self._clock.last_read = now
        return self._clock.next_due()

    async def _close(self) -> None:
        self._is_over = True
        self._waits.release()
        await self._exchange.aclose()

    def _error(self, kind: type[StreamRequestError], info: ErrorInfo) -> StreamRequestError:
        return kind(info, request_id=self.request_id, status=self.status)

    def _failure_of(self, error: Exception) -> StreamRequestError:
        """Return the exception for the caller, given an exception of the HTTP exchange."""
        if isinstance(error, StreamRequestError):
            return error
        kind, info = failed_body(error) if self._reader is not None else failed_connection(error)
        failure = self._error(kind, info)
        failure.__cause__ = error
        return failure

    def error_of(self, event: Error) -> StreamRequestError:
        """Return the exception for a terminal error of this stream."""
        if self._failure is not None:
            return self._failure
        following = (*self._events, *self.ending)
        ends = (later.data.reason for later in following if isinstance(later.data, SessionEnd))
        info = info_of_error(event, next(ends, None))
        if self._reader is not None and self._reader.was_rejected:
            return self._error(RequestRejected, info)
        if self._at_end and info.code == "UPSTREAM_TRUNCATED":
            return self._error(StreamTruncated, info)
        return self._error(StreamFailed, info)

    @property
    def failure(self) -> StreamRequestError | None:
        """The failure by which the connection ended without an end of the stream; None if there was one."""
        for event in self.ending:
            if isinstance(event.data, Error) and event.data.terminal:
                return self.error_of(event.data)
        return None


class _LeftError(Exception):
    """Another task has closed the stream that is being read."""
