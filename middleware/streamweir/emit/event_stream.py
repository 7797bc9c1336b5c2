"""EventStream: an application's own events as a response body, for any host.

`ApplicationStream` translates, without I/O. `EventSending` is the loop that feeds it and delivers. A host
with a `send` function (ASGI) calls `send_to`. For other hosts `EventStream` is an asynchronous iterator: the
loop runs in a background task that hands over one piece at a time, and makes the next piece on request.

Source: the library contract, section 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from typing import Any, Final, Self, TypeAlias, Unpack, cast

import anyio

from streamweir.context import WarningCollector, current_collector, current_request_id
from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.delivery import Delivery
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.background import BackgroundTask, start_in_background
from streamweir.emit.event_sending import ALWAYS_PASS, EventSending
from streamweir.emit.event_source import LEAVING_SECONDS, EventSource
from streamweir.emit.event_stream_options import EVENT_STREAM_DEFAULTS, EventStreamOptions
from streamweir.errors import ConfigurationError
from streamweir.http.accept import StreamFraming, choose_framing
from streamweir.http.headers import Headers
from streamweir.http.response_headers import response_headers
from streamweir.options.heartbeats import parse_heartbeat
from streamweir.options.signatures import checked, spells_out
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.translation.clock import StreamClock

__all__ = ["EventContent", "EventStream", "SendPiece"]

EventContent: TypeAlias = (
    AsyncIterable[Any] | Iterable[Any] | Callable[[], AsyncIterable[Any] | Iterable[Any]]
)

SendPiece: TypeAlias = Callable[[bytes], Awaitable[object]]

_TIDYING_SECONDS: Final = 0.1
"""The longest time for which the end of the body waits until the content has been closed."""


class EventStream:
    """An async iterator of `bytes`: whole framed events, a valid stream whatever the content yields.

    Give it to the host with its headers: Django `StreamingHttpResponse(s, headers=s.headers)`, Quart
    `Response(s, headers=s.headers)`, Litestar `Stream(s, headers=s.headers, media_type=s.media_type)`.

    Args:
        content: an iterator or iterable, async or not (a sync one runs in a worker thread), or a function
            that returns one. Its items are events as dicts or typed, framed text in the dialect `speaks`, cut
            anywhere, or None, which is skipped.
        speaks: the dialect of items that are text, and of dicts that are not standard events.
        protocol: the dialect that is written.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end.
        accept: the request's `Accept` header, which can choose the framing.
        options: see `EventStreamOptions`.

    Attributes:
        request_id: the id of the stream.
        translator: has the results of the stream (`started`, `error`, `has_answer`, `counts`).

    Raises:
        ConfigurationError: an option has an invalid value.
    """

    @spells_out(EventStreamOptions, EVENT_STREAM_DEFAULTS)
    def __init__(
        self,
        content: EventContent,
        *,
        speaks: str = "standard",
        protocol: str = "standard",
        framing: str = "sse",
        accept: str | None = None,
        **options: Unpack[EventStreamOptions],
    ) -> None:
        given = cast("EventStreamOptions", checked(options, EVENT_STREAM_DEFAULTS))
        outer = current_collector()
        request_id = given["request_id"] or current_request_id() or new_request_id()
        if not valid_request_id(request_id):
            raise ConfigurationError(
                f"a request id matches [A-Za-z0-9._:-]{{1,128}}, {request_id!r} does not"
            )
        if accept and framing in ("sse", "ndjson"):
            framing = choose_framing(accept, cast("StreamFraming", framing))
        interval = parse_heartbeat(given["heartbeat"])
        shares = outer is not None and not outer.opened and not outer.attached
        collector = (
            outer if outer is not None and shares else WarningCollector(request_id, debug=given["debug"])
        )
        self.request_id = request_id
        stream = ApplicationStream(
            collector=collector,
            speaks=speaks,
            answers=protocol,
            framing=framing,
            request_id=request_id,
            session_id=given["session_id"],
            warnings=given["warnings"],
            full_text=given["full_text"],
            debug=given["debug"],
        )
        self.translator = stream.translator
        if shares:
            collector.attach()
        self._sending = EventSending(
            EventSource(content), stream, collector, heartbeat=interval, owns_collector=not shares
        )
        self._context = copy_context()
        self._pieces: _Handover | None = None
        self._is_over = False

    # Properties for the host

    @property
    def media_type(self) -> str:
        """The content type."""
        return self.translator.media_type

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response, with content type and request id."""
        return {**response_headers(self.media_type, self.request_id), **self.translator.headers}

    # Methods for the host

    async def send_to(self, send: SendPiece) -> None:
        """Send the whole stream, piece by piece, and close the content. Use this instead of iterating.

        Raises:
            Exception: any exception of `send`; exceptions of the content are not raised.
        """
        await self.deliver(_PieceDelivery(_PieceClient(send), self.clock))

    @property
    def clock(self) -> StreamClock:
        """The clock of the stream, for a delivery of it."""
        return self._sending.clock

    @property
    def runs_on(self) -> bool:
        """Whether the content has ended the stream by an item, and may do more work before it returns."""
        return self._sending.runs_on

    async def deliver(self, delivery: Delivery) -> None:
        """Send the whole stream by `delivery`, and close the content. Use this instead of iterating.

        Raises:
            Exception: any exception of the client's server; exceptions of the content are not raised.
        """
        if self._is_over or self._pieces is not None:
            raise RuntimeError("an EventStream can be read once")
        self._is_over = True
        await self._sending.run(delivery)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            await self._wait_for_cleanup(_TIDYING_SECONDS)
            raise StopAsyncIteration
        if self._pieces is None:
            self._pieces = _Handover(self._sending)
            self._pieces.start(self._context.copy())
        try:
            piece = await self._pieces.get()
        except BaseException:
            self._is_over = True
            self._pieces.cancel()
            raise
        if piece is None:
            self._is_over = True
            raise StopAsyncIteration
        if self._pieces.is_last:  # even if the content takes long to clean up
            self._is_over = True
            self._pieces.let_go()
        return piece

    async def aclose(self) -> None:
        """Stop, and close the content; wait little more than a second."""
        if self._pieces is None:
            if not self._is_over:
                self._is_over = True
                await self._sending.leave()
            return
        if not self._is_over:
            self._is_over = True
            self._pieces.cancel()
        await self._wait_for_cleanup(LEAVING_SECONDS)

    async def _wait_for_cleanup(self, seconds: float) -> None:
        if self._pieces is not None:
            with anyio.move_on_after(seconds, shield=True):
                await self._pieces.finished.wait()

    def __del__(self) -> None:
        pieces = getattr(self, "_pieces", None)  # missing if an option was refused
        if pieces is not None and not self._is_over:
            pieces.abandon()


class _PieceClient(ClientPort):
    """A client whose host only takes the pieces of the body."""

    def __init__(self, send: SendPiece) -> None:
        self._send = send

    async def send_start(self, status: int, headers: Headers) -> None:
        """Do nothing: the host sends the status and the headers."""

    async def send_body(self, data: bytes, more: bool) -> None:
        """Pass a piece to the host's function."""
        del more
        if data:
            await self._send(data)


class _PieceDelivery(Delivery):
    """A delivery whose host sends the headers."""

    __slots__ = ()

    def _headers(self) -> Headers:
        return []


class _Handover(ClientPort):
    """Runs the loop in a background task, and hands over one piece per request.

    Attributes:
        finished: the task has ended.
        is_last: the piece that is being handed over is the last one.
    """

    def __init__(self, sending: EventSending) -> None:
        self.finished = anyio.Event()
        self.is_last = False
        self._sending = sending
        self._task: BackgroundTask | None = None
        self._piece: bytes | None = None
        self._failure: BaseException | None = None
        self._is_stopped = False
        self._wanted = anyio.Event()
        self._given = anyio.Event()

    def start(self, context: Context) -> None:
        """Start the task."""
        self._task = start_in_background(self._run, context)

    async def get(self) -> bytes | None:
        """Return the next piece; None after the last piece."""
        self._wanted.set()
        await self._given.wait()
        self._given = anyio.Event()
        piece, self._piece = self._piece, None
        if piece is None:
            self._given.set()
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
        return piece

    def let_go(self) -> None:
        """Let the task run to its end without handing over more pieces."""
        self._wanted.set()

    def cancel(self) -> None:
        """Stop the task."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()

    def abandon(self) -> None:
        """Stop the task; called by the garbage collector, in any thread."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel_from_anywhere()

    async def _run(self) -> None:
        try:
            await self._sending.run(_PieceDelivery(self, self._sending.clock))
        except (Exception, *ALWAYS_PASS) as exc:
            self._failure = exc
        except asyncio.CancelledError as exc:
            if self._is_stopped:
                raise
            self._failure = exc  # raised by the content: it is passed on to the host
        finally:
            self.finished.set()
            self._given.set()

    async def send_start(self, status: int, headers: Headers) -> None:
        """Do nothing: the host sends the status and the headers."""

    async def send_body(self, data: bytes, more: bool) -> None:
        """Hand over a piece; return when the next piece is asked for."""
        self.is_last = not more
        if data:
            self._wanted = anyio.Event()
            self._piece = data
            self._given.set()
            await self._wanted.wait()
