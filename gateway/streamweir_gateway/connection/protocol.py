"""uvicorn's protocol, made fit for strangers: what a client may send, how much, and in what time.

An ASGI application is called too late for limits on headers, and uvicorn's httptools protocol has none.
Beyond them: refusals in the gateway's own form, a bound on requests that are sent ahead, a close that lets a
refused client read the answer, and `ClientConnection`.

Source: RFC 9112, sections 9.3.2 (pipelining) and 9.6 (closing); the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from streamweir_gateway.connection.error_responses import refusal
from streamweir_gateway.connection.flow_control import FlowControl, LightEvent
from streamweir_gateway.connection.request_validation import is_acceptable
from streamweir_gateway.connection.response_transport import PlainResponseTransport, ResponseTransport
from streamweir_gateway.connection.sending_queue import drop_unsent, unsent_by_system
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.runs.response_writer import CONNECTION_EXTENSION, ClientConnection

__all__ = ["LimitedProtocol", "RequestLimits"]

BODY_BYTES_PER_SECOND: Final = 500
"""A body that comes more slowly than this is not waited for; `header_time` is given on top of it."""

REQUESTS_AHEAD: Final = 8
"""So many requests may wait behind the one that is being answered; what is sent beyond is not taken."""

HALF_CLOSED_SECONDS: Final = 0.25
"""A client that ends its side counts as gone: most are. Those that still read get what is quickly said."""

LINGER_SECONDS: Final = 2.0
"""After an answer to a request that was not read whole: a close at once would destroy it on its way."""

UNSENT_SECONDS: Final = 30.0
"""How long a client may take to read the rest of what it got once its connection is to be closed."""

_NOTHING_AHEAD: Final[deque[Any]] = deque()
"""Shared and never filled: hardly any connection ever needs a queue of its own, which takes 700 bytes."""


@dataclass(slots=True)
class RequestLimits:
    """What one request may take. Shared by all connections; a change holds from the next request on."""

    header_bytes: int
    """Request line and headers; also what may come without a byte of body in it."""
    header_time: float
    """Seconds."""


class _NotTaken(Exception):  # noqa: N818 - stops the parser, which knows no other way
    """What follows is not taken from this connection."""


class _NotAcceptable(Exception):  # noqa: N818
    """The request breaks a rule that the parser does not know."""


class LimitedProtocol(HttpToolsProtocol):
    """One client's connection."""

    # Beside the dictionary that uvicorn's class has: a larger one would cost every connection two kilobytes.
    __slots__ = (
        "_began",
        "_body_bytes",
        "_clock",
        "_closing",
        "_declines",
        "_idle_bytes",
        "_ignores",
        "_in_headers",
        "_is_whole",
        "_keeps_alive",
        "_limits",
        "_observer",
        "_running",
        "_way_out",
    )

    def __init__(self, *args: Any, limits: RequestLimits, observer: Observer, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pipeline = _NOTHING_AHEAD
        self._limits = limits
        self._observer = observer
        self._running: RequestResponseCycle | None = None  # being answered; `cycle` is the last one that came
        self._way_out: Any = None
        self._in_headers = True
        self._is_whole = False
        self._keeps_alive = True
        self._declines = False
        self._ignores = False
        self._idle_bytes = 0  # headers, or between two pieces of a body
        self._body_bytes = 0
        self._began = 0.0  # of the headers, or of the body
        self._clock: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None

    # --- the connection -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self.flow = FlowControl(transport)
        self._way_out = ResponseTransport(transport, self._close)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request under way; those behind it never begin."""
        self._stop_clock()
        self._unset_keepalive_if_required()
        if self._closing is not None:
            self._closing.cancel()
        self.pipeline = _NOTHING_AHEAD
        self._lose_client()
        super().connection_lost(exc)
        # Who still answers has what it needs; kept here too, it would wait for the garbage collector.
        connection: Any = self
        connection.cycle = connection.scope = self._running = self._way_out = None

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Let an answer that is about to come out; end everything else."""
        running = self._running
        if running is None or running.response_started or not self._is_whole:
            return None
        running.keep_alive = False
        self._ignores = True
        self._close_after(HALF_CLOSED_SECONDS)
        return True

    def shutdown(self) -> None:
        """Close once nothing is under way."""
        if self._running is None or self._running.response_complete:
            self._close()
        else:
            self.cycle.keep_alive = False

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has been idle for long, also one whose client does not read."""
        self._close()

    # --- what comes -----------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Feed the parser, never more header bytes than are allowed."""
        if self._ignores:
            return
        self._unset_keepalive_if_required()
        if self._is_whole and self.cycle.response_complete:
            self._is_whole = False  # it may be no more than an empty line, but something has begun
        while data and not self._ignores:
            size = self._limits.header_bytes - self._idle_bytes if self._in_headers else len(data)
            if size <= 0:
                self._refuse("REQUEST_TOO_LARGE")
                return
            piece, data = data[:size], data[size:]
            self._feed(piece)
        if not self._is_whole and self._clock is None and not self._ignores:
            self._start_clock()

    def _feed(self, piece: bytes) -> None:
        body_bytes = self._body_bytes
        self._idle_bytes += len(piece)
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as offered:
            self._decline(piece[offered.args[0] :])
            return
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _NotTaken):
                self._ignores = True
            else:
                self._refuse("BAD_REQUEST")
            return
        if self._body_bytes != body_bytes:
            self._idle_bytes = 0
        elif self._idle_bytes > self._limits.header_bytes:  # chunk extensions, trailers
            self._refuse("REQUEST_TOO_LARGE")

    def _decline(self, rest: bytes) -> None:
        """Read a request that offers to go over to another protocol as if it did not.

        The parser would take what follows its headers for that protocol, and lose the body.
        """
        self._declines = False
        head = b"%s %s HTTP/%s\r\n" % (
            self.parser.get_method(),
            self.url,
            self.parser.get_http_version().encode("ascii"),
        )
        lines = [b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._idle_bytes = 0
        self._feed(b"".join([head, *lines, b"\r\n", rest]))

    def on_message_begin(self) -> None:
        """Hand the connection down with the request."""
        if not self._keeps_alive or len(self.pipeline) >= REQUESTS_AHEAD:
            self._take_no_more()
        super().on_message_begin()
        self._in_headers, self._is_whole = True, False
        connection = ClientConnection(
            self._unsent,
            self._reset,
            self.flow.resume_reading,
            self._write_at_once,
            self._hold,
        )
        scope: Any = self.scope  # its type allows no values but dictionaries
        scope["extensions"] = {CONNECTION_EXTENSION: connection}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what comes behind the body is none, whatever it is called."""
        if self._in_headers:
            super().on_header(name, value.rstrip(b" \t"))  # what stands before it the parser has taken off

    def on_headers_complete(self) -> None:
        """Begin to answer; from here on it is body."""
        parser = self.parser
        if not is_acceptable(parser.get_method(), self.url, parser.get_http_version(), self.headers):
            raise _NotAcceptable
        if parser.should_upgrade():
            self._declines = True
            return
        if self.pipeline is _NOTHING_AHEAD and self._is_answering():
            self.pipeline = deque()
        super().on_headers_complete()
        cycle: Any = self.cycle
        is_modern = self.scope["http_version"] == "1.1"
        cycle.transport = self._way_out if is_modern else PlainResponseTransport(self.transport, self._close)
        cycle.message_event = LightEvent()
        self._keeps_alive = cycle.keep_alive
        cycle.keep_alive = False  # while the request is not whole nobody knows where the next one begins
        cycle.waiting_for_100_continue &= is_modern
        self._in_headers = False
        self._idle_bytes = self._body_bytes = 0
        self._began = self.loop.time()
        # A request behind another one stops nothing: it would hide that the client leaves.
        self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body; of a request that has to wait, not too many."""
        self._body_bytes += len(body)
        super().on_body(body)
        running = self._running
        if running is not None and self.cycle is not running and len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.pipeline.popleft()
            self.cycle = self.pipeline[0][0] if self.pipeline else running
            self._take_no_more()

    def on_message_complete(self) -> None:
        """The next byte belongs to another request's headers."""
        if self._declines:
            return
        self._stop_clock()
        self._in_headers = self._is_whole = True
        self._idle_bytes = 0
        super().on_message_complete()
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps_alive

    def _take_no_more(self) -> None:
        self.cycle.keep_alive = False
        raise _NotTaken

    # --- clocks ---------------------------------------------------------------------------------------------

    def _start_clock(self) -> None:
        self._began = self.loop.time() if self._in_headers else self._began
        self._clock = self.loop.call_at(self._due(), self._look_at_clock)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _due(self) -> float:
        return self._began + self._limits.header_time + self._body_bytes / BODY_BYTES_PER_SECOND

    def _look_at_clock(self) -> None:
        self._clock = None
        if self.flow.read_paused:  # not the client's fault
            self._began = self.loop.time()
        if self.loop.time() < self._due():
            self._clock = self.loop.call_at(self._due(), self._look_at_clock)
        elif self._in_headers and not self._idle_bytes:
            self._close()
        else:
            self._refuse("BAD_REQUEST")

    # --- what goes ------------------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Go on to the next request, if there may be one."""
        if self._closing is None:
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        del msg
        self._refuse("BAD_REQUEST")

    def _write_at_once(self, body: bytes) -> bool:
        """Send a piece of the body under way as uvicorn does, but not where that would have to wait."""
        running = self._running
        if running is None or not running.chunked_encoding or not self._is_answering():
            return False
        if running.disconnected or self.flow.write_paused:
            return False
        running.transport.write(b"".join((b"%x\r\n" % len(body), body, b"\r\n")))
        return True

    def _hold(self, is_held: bool) -> None:
        """Let the response under way collect what it writes, or write what it has collected."""
        way_out: Any = self._running and self._running.transport
        if way_out is not None:
            way_out.cork(is_held)

    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _refuse(self, code: str) -> None:
        """Refuse the request that is coming; who is reading its body already does that, and tells of it.

        In the middle of another response only close, for the refusal would become part of it.
        """
        self._ignores = True
        self._stop_clock()
        running = self._running
        if running is None or running.response_complete:
            self.transport.write(refusal(code, self._observer))
            self._close()
        elif running is self.cycle and not self._in_headers and not running.response_started:
            scope: Any = running.scope
            scope["extensions"][CONNECTION_EXTENSION].refused = code
            running.message_event.set()
        else:
            self.transport.close()

    def _lose_client(self) -> None:
        running = self._running
        if running is None or running.response_complete or running.disconnected:
            return
        running.disconnected = True
        running.message_event.set()
        scope: Any = running.scope
        scope["extensions"][CONNECTION_EXTENSION].lost()

    def _close(self) -> None:
        """Close in a way that lets the client have what was written."""
        if self._closing is not None or self.transport.is_closing():
            return
        self._stop_clock()
        if self._is_whole and not self._ignores:
            self.transport.close()
            if self.transport.get_write_buffer_size():
                self._closing = self.loop.call_later(UNSENT_SECONDS, self._reset)
            return
        self._ignores = True
        self.flow.resume_reading()
        with suppress(OSError, RuntimeError):  # the other side was faster
            self.transport.write_eof()
        self._close_after(LINGER_SECONDS)

    def _close_after(self, seconds: float) -> None:
        self._closing = self.loop.call_later(seconds, self._close_for_good)

    def _unsent(self) -> int:
        """Return how many bytes of what was written the client's side has not taken."""
        return self.transport.get_write_buffer_size() + unsent_by_system(self.transport)

    def _reset(self) -> None:
        """Close at once: without this the system would go on offering a client what it does not read."""
        drop_unsent(self.transport)
        self.transport.abort()

    def _close_for_good(self) -> None:
        self.transport.close()
        self._closing = self.loop.call_later(UNSENT_SECONDS, self._reset)
