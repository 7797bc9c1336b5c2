"""A stream that was asked for, event by event.

Source: the library contract, section 5; the standard protocol 1.1, sections 4 to 6.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import anyio

from streamweir.client.body_readers import BodyReader, open_reader
from streamweir.client.http_request import AsyncClient, Body, HttpRequest, failed_body, failed_connection
from streamweir.client.rejections import info_of_rejection, request_id_in
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError, ErrorInfo, error_info
from streamweir.events import Error, SessionEnd
from streamweir.jsontext import write_json
from streamweir.options.durations import Duration
from streamweir.options.timeouts import Timeouts
from streamweir.request_errors import (
    RequestRejected,
    RequestTimeout,
    StreamFailed,
    StreamRequestError,
    StreamTruncated,
)
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.stages import info_of_error
from streamweir.translation.clock import Due, StreamClock, timeout_error
from streamweir.translation.received_event import ReceivedEvent, failure_events

__all__ = ["StreamRequest", "stream_request"]

_ACCEPT: Final = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson, application/json;q=0.9",
    "auto": "text/event-stream, application/x-ndjson;q=0.9",
}
_T = TypeVar("_T")
_NO_STREAM: Final = ("audio", "font", "image", "multipart", "video")


def stream_request(  # noqa: PLR0913 (the options are the documentation)
    url: str,
    *,
    method: str = "POST",
    json: Any = None,
    content: Body | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    speaks: str = "standard",
    timeouts: Timeouts | Mapping[str, Duration | None] | str | None = None,
    request_id: str | None = None,
    client: AsyncClient | None = None,
    raise_errors: bool = True,
) -> StreamRequest:
    """Return the events of the stream at `url`. Nothing is sent before the first event is asked for.

    Args:
        url: the address to ask.
        method: the HTTP method.
        json: the body, to be written as JSON.
        content: the body as it is, in the place of `json`.
        headers: sent with the request; they win over those that are sent by default.
        params: the query of the address.
        speaks: the dialect of the answer; `auto` finds it out.
        timeouts: `connect`, `first_event`, `idle`, `total`: seconds, or text such as `"5s"`; None or `"off"`
            turns one off. What is not named keeps its default (5s, 60s, 120s, off).
        request_id: sent as `X-Request-Id`; a new one if None.
        client: sends the request, and is left open.
        raise_errors: raise a `StreamRequestError` where the stream fails; else nothing is raised, and each
            failure arrives as an `error` and a `session_end`.

    Raises:
        ConfigurationError: an option has a value that it cannot have.
        UnknownDialectError: nobody reads `speaks`.
    """
    if json is not None and content is not None:
        raise ConfigurationError("json and content are two bodies: give one of them")
    limits = Timeouts.of(timeouts)
    sent = {
        "accept": _ACCEPT["auto" if speaks == "auto" else process_dialects().to_read(speaks).framing],
        "accept-encoding": "identity",
        **({} if json is None else {"content-type": "application/json"}),
        **{name.lower(): value for name, value in (headers or {}).items()},
    }
    sent["x-request-id"] = request_id = request_id or sent.get("x-request-id") or new_request_id()
    if not valid_request_id(request_id):
        raise ConfigurationError(f"not a request id: {request_id!r} (letters, digits, . _ : -, at most 128)")
    body = content if json is None else write_json(json)
    exchange = HttpRequest(
        client, method, url, body=body, headers=sent, params=params, connect=limits.connect
    )
    return StreamRequest(
        exchange, speaks=speaks, timeouts=limits, request_id=request_id, raise_errors=raise_errors
    )


class StreamRequest:
    """The events of one stream: an async iterator, and a context manager that closes the connection.

    Attributes:
        request_id: of the request; once there is an answer, the one that its headers name, else its envelope
            or its events.
        status: the HTTP status of the answer, None while there is none.
    """

    def __init__(
        self, exchange: HttpRequest, *, speaks: str, timeouts: Timeouts, request_id: str, raise_errors: bool
    ) -> None:
        self.request_id = request_id
        self.status: int | None = None
        self._exchange = exchange
        self._speaks = speaks
        self._timeouts = timeouts
        self._clock: StreamClock | None = None
        self._raise_errors = raise_errors
        self._events: deque[ReceivedEvent] = deque()
        self._reader: BodyReader | None = None
        self._failure: StreamRequestError | None = None
        self._is_named = False
        self._at_end = False
        self._is_over = False
        self._io: anyio.CancelScope | None = None
        self._left: anyio.Event | None = None

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def __anext__(self) -> ReceivedEvent:
        while not self._events:
            if self._is_over:
                raise StopAsyncIteration
            await self._advance()
        event = self._events.popleft()
        if self._raise_errors and isinstance(event.data, Error) and event.data.terminal:
            await self._close()
            raise self._error_of(event.data)
        return event

    async def aclose(self) -> None:
        """Close the connection, also while another task is reading: its iteration then ends."""
        self._is_over = True
        self._events.clear()
        if self._io is None:
            await self._close()
            return
        self._left = self._left or anyio.Event()
        self._io.cancel()
        await self._left.wait()

    async def _advance(self) -> None:
        """Wait for the network once, and take in what it gave."""
        try:
            events = await self._next_events()
        except BaseException:
            await self._close()
            raise
        finally:
            self._io = None
            if self._left is not None:
                self._left.set()
        for event in events:
            self._note_request_id(event.metadata.request_id)
        self._events.extend(events)
        if self._is_over or self._reader is None or self._reader.ended:
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
        named = response.headers.get("x-request-id", "")
        self._note_request_id(named)
        if response.status_code != 200:
            body = await self._exchange.read_rejection()
            info = info_of_rejection(
                response.status_code, retry_after=response.headers.get("retry-after"), body=body
            )
            self._note_request_id(request_id_in(body))
            raise RequestRejected(info, request_id=self.request_id, status=self.status)
        kind = response.headers.get("content-type", "").partition("/")[0].strip().lower()
        if kind in _NO_STREAM:
            raise self._error(StreamFailed, error_info("UPSTREAM_INVALID_RESPONSE"))
        return open_reader(self._speaks, request_id=self.request_id, path=response.request.url.path)

    def _note_request_id(self, given: str | None) -> None:
        """The first id that the server names is the one that stands in its log."""
        if not self._is_named and given and valid_request_id(given):
            self._is_named = True
            self.request_id = given

    async def _within_time(self, step: Callable[[], Awaitable[_T]]) -> _T | None:
        """Return what `step` gave; None after silence where the stream may end.

        One scope for each wait for the network, whatever number of events it gives.
        """
        deadline, due = self._next_due()
        with anyio.CancelScope(deadline=deadline) as self._io:
            return await step()
        if self._is_over:
            raise _LeftError
        if due in ("total_timeout", "first_event_timeout", "idle_timeout"):
            raise self._error(RequestTimeout, timeout_error(due))
        return None

    def _next_due(self) -> tuple[float, Due | None]:
        """Return when the wait that begins now is over at the latest, and what is due then."""
        now = anyio.current_time()
        if self._clock is None:
            self._clock = StreamClock(now=now, timeouts=self._timeouts)
            self._clock.asked = now
        self._clock.source = self._reader
        self._clock.last_read = now
        return self._clock.next_due()

    async def _close(self) -> None:
        self._is_over = True
        await self._exchange.aclose()

    def _error(self, kind: type[StreamRequestError], info: ErrorInfo) -> StreamRequestError:
        return kind(info, request_id=self.request_id, status=self.status)

    def _failure_of(self, error: Exception) -> StreamRequestError:
        """Return what an exception of the exchange means for the caller."""
        if isinstance(error, StreamRequestError):
            return error
        kind, info = failed_body(error) if self._reader is not None else failed_connection(error)
        failure = self._error(kind, info)
        failure.__cause__ = error
        return failure

    def _error_of(self, event: Error) -> StreamRequestError:
        """Return the exception that stands for a terminal error; what follows the error is not told."""
        following, self._events = self._events, deque()
        if self._failure is not None:
            return self._failure
        ends = (later.data.reason for later in following if isinstance(later.data, SessionEnd))
        info = info_of_error(event, next(ends, None))
        if self._reader is not None and self._reader.was_rejected:
            return self._error(RequestRejected, info)
        if self._at_end and info.code == "UPSTREAM_TRUNCATED":
            return self._error(StreamTruncated, info)
        return self._error(StreamFailed, info)


class _LeftError(Exception):
    """Another task has closed the stream that is being read."""
