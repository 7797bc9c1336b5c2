"""A connection to an upstream. It carries one exchange after another."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from math import inf
from typing import Final, cast

from .failures import NotSent
from .http1 import ResponseParser, announced_length
from .lingering import Lingering
from .request import OnInterim, UpstreamRequest
from .request_writer import RequestWriter
from .transport import WholeResponse

__all__ = ["UpstreamConnection"]

READ_BUFFER: Final = 64 << 10
"""The most bytes of a body that wait for `read`, apart from one read of the socket (up to 256 KiB)."""

ONE_WRITE: Final = 16 << 10
"""The size of bodies that many servers write separately, but immediately after the headers."""

_POLLS: Final = hasattr(select, "poll")


class UpstreamConnection(asyncio.Protocol):
    """A connection that carries one exchange at a time.

    state       entered by                                     bytes that come
    ─────────   ────────────────────────────────────────────   ───────────────────────────────────────────
    exchange    `connection_made`, `begin`, `request`          are kept for `read`; go to `take` in `relay`
    idle        `end_exchange`: `_idle_parser` is set          end the connection
    lingering   `linger`: `_lingering` is set                  are dropped; the end calls `on_whole`
    ended       `_end`: `is_open` is False for good            none; kept bytes can still be read

    Args:
        on_end: called once when the connection cannot be used any longer.

    Attributes:
        is_open: whether neither side has closed the connection.
    """

    __slots__ = (
        "_buffered",
        "_context",
        "_descriptor",
        "_idle_parser",
        "_is_paused",
        "_lingering",
        "_loop",
        "_on_end",
        "_on_news",
        "_parser",
        "_pieces",
        "_take",
        "_transport",
        "_waiter",
        "_writer",
        "is_open",
    )

    def __init__(self, on_end: Callable[[UpstreamConnection], None]) -> None:
        self.is_open = False
        self._on_news: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._lingering: Lingering | None = None
        self._transport: asyncio.Transport | None = None
        self._descriptor: int | None = None  # None on Windows, which lacks `poll`
        self._parser: ResponseParser | None = None  # of the response that comes or is read
        self._idle_parser: ResponseParser | None = None  # the same parser, between two exchanges
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._is_paused = False
        self._writer: RequestWriter | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[bytes], bool] | None = None  # set while `relay` waits, like the next
        self._context: Context | None = None  # of the request that `relay` is called for

    def request(self, head: bytes, request: UpstreamRequest) -> None:
        """Send a request. The headers of its response may arrive before all is sent.

        Args:
            head: the request line and headers.
            request: the request. Its `stream` is sent as the upstream takes it, until the response is
                complete.

        Raises:
            NotSent: the connection has ended.
        """
        if not self.is_open or self._writer is None:
            raise NotSent("the connection had ended")
        parser, stream = self._awaited(), request.stream
        parser.is_head = request.method == "HEAD"
        parser.on_interim = request.on_interim
        if stream is None:
            self._writer.write(head, request.body)
        else:
            self._writer.send_stream(head, request.body, stream, has_news=self.has_news, abort=self.abort)

    def begin(self, head: bytes, body: bytes) -> None:
        """Send a request with a whole body, without waiting for the response.

        It must not be a HEAD; see `request`.

        Raises:
            NotSent: the connection has ended.
        """
        if not self.is_open or self._writer is None:
            raise NotSent("the connection had ended")
        self._awaited()
        self._writer.write(head, body)

    def watch(self, listener: Callable[[], None] | None, on_interim: OnInterim | None = None) -> None:
        """Call `listener` once, instead of waking a task, when bytes arrive or the connection ends."""
        self._on_news = listener
        if self._parser is not None:
            self._parser.on_interim = on_interim

    def response(self) -> ResponseParser | None:
        """Return the response if its headers have arrived; None before. The caller then has to await `news`.

        Raises:
            NotSent: the connection ended before the request was written whole.
            Unreachable, InvalidResponse: no valid headers arrived.
        """
        parser = self._parser
        assert parser is not None
        if parser.status:
            return parser
        del parser
        self._raise_failure()
        return None

    def news(self) -> asyncio.Future[None]:
        """Return a future that is done when bytes arrive or the connection ends.

        The connection calls a listener of `watch` in place of the future, so `watch(None)` has to be called
        before if there is one.
        """
        self._waiter = waiter = self._loop.create_future()
        return waiter

    async def read(self) -> bytes:
        """Return the bytes of the body since the last call, or wait for the next; empty at the end.

        Raises:
            Truncated, InvalidResponse: the body broke off.
        """
        parser = self._parser
        assert parser is not None
        while not self._pieces:
            if parser.is_complete:
                return b""
            if parser.failure is not None:
                del parser
                self._raise_failure()
            await self.news()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._buffered = 0
        if self._is_paused:
            self._resume()
        return data

    async def relay(self, take: Callable[[bytes], bool]) -> None:
        """Call `take` with bytes of the body, directly from the event loop, until `take` returns False.

        Waking a task for each read costs several times as much. The caller gets all other bytes, and the end
        or failure of the body, by `read`, as soon as this returns.

        Raises:
            Exception: `take` raised it.
        """
        parser = self._parser
        assert parser is not None
        if self._pieces or parser.is_complete or parser.failure is not None:
            return
        self._context = copy_context()  # the loop calls a connection in the context of its first request
        self._take = take
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._take = self._waiter = self._context = None

    @property
    def is_ready(self) -> bool:
        """Whether `read` would return or raise without waiting."""
        parser = self._parser
        return bool(self._pieces) or parser is None or parser.is_complete or parser.failure is not None

    def whole_response(self) -> WholeResponse | None:
        """Return the response if it has arrived completely and no part has been read; else None."""
        parser = self._parser
        if parser is None or not parser.is_complete:
            return None
        return WholeResponse(parser.status, parser.headers, b"".join(self._pieces), parser.repeated)

    def is_nearly_whole(self) -> bool:
        """Return whether the headers have arrived, and announce a body that fits into one write."""
        parser = self._parser
        if parser is None or not parser.status or parser.is_complete or parser.failure is not None:
            return False
        length = announced_length(parser.headers)
        return length is not None and length <= ONE_WRITE

    def is_over(self) -> bool:
        """Return whether the response ended properly and all of its body has been read."""
        return not self._pieces and self._parser is not None and self._parser.is_complete

    def is_reusable(self) -> bool:
        """Return whether the exchange is over, its response is read, and another exchange can follow."""
        return (
            self.is_open
            and not self._is_paused
            and self._parser is not None
            and self._parser.may_be_reused
            and self._writer is not None
            and self._writer.is_over()
        )

    @property
    def keep_alive_seconds(self) -> float:
        """The seconds for which the upstream promises to keep this open; infinite if it promises none."""
        return inf if self._parser is None else self._parser.fields.keep_alive

    def end_exchange(self) -> None:
        """Forget the response."""
        self._on_news = None
        if self._parser is not None:
            self._parser.reset()
            self._idle_parser = self._parser
        self._parser = self._waiter = None
        self._pieces.clear()
        self._buffered = 0

    def linger(self, on_whole: Callable[[UpstreamConnection], None]) -> None:
        """Read and drop the rest of the response; call `on_whole` if the response ends soon."""
        self._pieces.clear()
        self._buffered = 0
        self._lingering = Lingering(partial(on_whole, self), self.abort)
        if self._is_paused:
            self._resume()

    def has_news(self) -> bool:
        """Return whether bytes have arrived that the loop has not seen. An idle connection then has ended."""
        if not self.is_open or self._descriptor is None:
            return not self.is_open
        poll = select.poll()  # made for each look: one that is kept takes more memory than the connection
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def abort(self) -> None:
        """Close the connection at once, and drop unsent bytes."""
        if self._transport is not None:
            self._transport.abort()
        self._end(None)

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that the connection is established. Some servers refuse it with an immediate response."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=1)  # we learn of all that has to wait; 0 confuses TLS
        self._writer = RequestWriter(self._transport)
        self._parser = ResponseParser()
        self._descriptor = transport.get_extra_info("socket").fileno() if _POLLS else None
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Take the bytes of one read of the socket."""
        parser = self._parser
        if parser is None or parser.is_complete:
            self.abort()  # a response that nobody asked for
            return
        body = parser.feed(data)
        if self._take is not None and self._is_small_piece(body, parser):
            self._hand_over(self._take, body)
            return
        if body and self._lingering is None:
            self._keep(body)
        if (parser.is_complete or parser.refuses_rest) and self._writer is not None:
            self._writer.stop()
        if parser.failure is not None:
            self.abort()
        elif self._lingering is not None:
            self._look_for_end(self._lingering, parser, len(body))
        self._wake()

    def pause_writing(self) -> None:
        """Note that a part of the request waits to be sent."""
        if self._writer is not None:
            self._writer.note_unsent()

    def resume_writing(self) -> None:
        """Wake the writer: the buffered bytes have been sent."""
        if self._writer is not None:
            self._writer.note_sent()

    def eof_received(self) -> None:
        """Note that the upstream sends no more. If no response is awaited, the transport closes itself."""
        self._end(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is lost."""
        self._end(error)
        self._transport = None

    def _awaited(self) -> ResponseParser:
        """Return the parser of the response that comes next; a server may have begun it unasked."""
        parser = self._parser or self._idle_parser
        assert parser is not None
        self._parser, self._idle_parser = parser, None
        return parser

    def _end(self, error: Exception | None) -> None:
        if (parser := self._parser or self._idle_parser) is not None:
            parser.end(error, was_sent=self._writer is None or not self._writer.is_unsent)
        if self._writer is not None:
            self._writer.stop()
        self._wake()
        self._stop_lingering()
        if self.is_open:
            self.is_open = False
            self._on_end(self)

    def _resume(self) -> None:
        if self.is_open and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def _look_for_end(self, lingering: Lingering, parser: ResponseParser, size: int) -> None:
        if parser.is_complete:
            self._stop_lingering()
            lingering.on_whole()
        else:
            lingering.note_read(size)

    def _stop_lingering(self) -> None:
        if self._lingering is not None:
            self._lingering.stop()
            self._lingering = None

    @staticmethod
    def _is_small_piece(body: bytes, parser: ResponseParser) -> bool:
        """Return whether a small read came and more follows. After large reads, other tasks run first."""
        return 0 < len(body) < READ_BUFFER and not parser.is_complete and parser.failure is None

    def _hand_over(self, take: Callable[[bytes], bool], body: bytes) -> None:
        waiter, context = self._waiter, self._context
        if waiter is None or context is None or waiter.done():  # its caller was cancelled just now
            self._keep(body)
            return
        try:
            if context.run(take, body):
                return
        except Exception as error:
            waiter.set_exception(error)
        self._take = None
        self._wake()

    def _keep(self, body: bytes) -> None:
        self._buffered += len(body)
        self._pieces.append(body)
        if self._buffered >= READ_BUFFER and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def _raise_failure(self) -> None:
        """Raise the fault of the response, if it has one.

        Neither this function nor a caller may hold the parser in a variable: the traceback of the failure
        refers to all variables, which would form a cycle that only `end_exchange` breaks.
        """
        if self._parser is not None and self._parser.failure is not None:
            raise self._parser.failure

    def _wake(self) -> None:
        on_news, self._on_news = self._on_news, None
        if on_news is not None:
            on_news()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
