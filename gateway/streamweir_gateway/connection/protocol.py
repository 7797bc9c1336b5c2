"""The HTTP/1.1 connection of a client.

    bytes -> RequestParser -> HttpExchange -> application
    bytes <- ResponseEncoder <- HttpExchange <- application

One `HttpProtocol` per connection connects these parts. It decides which requests are refused, which wait, and
when the connection is closed.

Source: RFC 9112, sections 9.3.2 (pipelining) and 9.6 (closing); the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from starlette.types import Scope

from streamweir_gateway.connection.client_connection import SwitchedProtocol
from streamweir_gateway.connection.closing import ClosePhase, ClosingConnection
from streamweir_gateway.connection.direct_exchange import DirectExchange
from streamweir_gateway.connection.error_responses import refusal
from streamweir_gateway.connection.exchange import HttpExchange
from streamweir_gateway.connection.flow_control import FlowControl
from streamweir_gateway.connection.request_clock import RequestClock
from streamweir_gateway.connection.request_parser import RequestHead, RequestParser, RequestRefused
from streamweir_gateway.connection.scope import Address, address_of, http_scope, shared
from streamweir_gateway.connection.server_context import ServerContext

__all__ = ["HttpProtocol"]

REQUESTS_AHEAD: Final = 8
"""The most requests that wait behind the current one. Further requests are not read."""

MAX_EARLY_BYTES: Final = 64 << 10
"""The most bytes that a client may send after its handshake, before the handshake is answered."""

MAX_WAITING_BODY: Final = 1 << 16
"""The most bytes of a body that wait for the application. If there are more, reading is paused."""


class HttpProtocol(asyncio.Protocol):
    """One client's connection.

    state        attributes                                    entered by
    ──────────   ───────────────────────────────────────────   ─────────────────────────────────────────────
    idle         no `_running`, no `_receiving`                `connection_made`; the last answer ends
    answering    `_running`; later requests are in `_ahead`    `on_request`
    last         not `_keeps_alive`: no request may follow     a request that closes, or `shutdown`
    closing      `_closing`: bytes that come are dropped       a refusal, an answer without keep-alive, an
                                                               idle time, or the end of the client's side
    released     no `_parser`, no `_clock`                     `connection_lost`, or `hand_over`

    Attributes:
        transport: the transport to the client.
        flow: the flow control of the transport.
    """

    __slots__ = (
        "_ahead",
        "_client",
        "_clock",
        "_closing",
        "_context",
        "_early",
        "_keeps_alive",
        "_local",
        "_parser",
        "_receiving",
        "_running",
        "flow",
        "transport",
    )

    transport: asyncio.Transport
    flow: FlowControl
    _parser: RequestParser
    _clock: RequestClock

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._client: Address | None = None
        self._local: Address | None = None
        self._running: HttpExchange | DirectExchange | None = None
        """The exchange that is being answered."""
        self._receiving: HttpExchange | DirectExchange | None = None
        """The exchange whose request is being received, or the last one that was received."""
        self._ahead: tuple[tuple[HttpExchange, Scope], ...] = ()
        """The exchanges that wait for their turn."""
        self._keeps_alive = True
        self._early = b""
        """The bytes that followed a handshake which is not answered yet."""
        self._closing: ClosingConnection | None = None

    # --- the connection -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request. The wait is bounded."""
        self.transport = transport
        self.flow = FlowControl(transport)
        self._client = address_of(transport, "peername")
        self._local = shared(address_of(transport, "sockname"))
        self._parser = RequestParser(self, self._context.limits)
        self._clock = RequestClock(self._context.limits, self._parser, self.flow, self._overdue)
        self._context.connections.add(self)
        has_room = self._context.make_room()
        self._context.idle.add(self)
        if has_room:
            self._clock.start()
        else:
            self._refuse("OVERLOADED")

    def data_received(self, data: bytes) -> None:
        """Parse requests, unless the connection accepts no more requests."""
        if self._closing is not None or self._parser.state == "stopped":
            self.flow.discard(len(data))
            return
        try:
            self._parser.feed(data)
        except RequestRefused as refused:
            self._refuse(refused.code)
        else:
            if self._parser.state in _COMING:
                self._clock.start()
                running = self._running
                if isinstance(running, DirectExchange) and not running.is_whole:
                    running.go_on()

    def eof_received(self) -> bool:
        """Let a response that can still be sent finish; else close the connection."""
        running = self._running
        if running is None or self._closing is not None or self._parser.state != "whole":
            return False
        if running.state != "expected":
            return False
        running.keep_alive = False
        self._closing = ClosingConnection(self.transport, ClosePhase.HALF_CLOSED)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the current exchange that its client has left. Exchanges that wait are never started."""
        del exc
        context, running = self._context, self._running
        context.connections.discard(self)
        self._release()
        if running is not None:
            running.lose()
        self.flow.close()

    def pause_writing(self) -> None:
        """Note that the client does not take the written bytes."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Note that the client takes bytes again."""
        self.flow.resume_writing()

    def shutdown(self) -> None:
        """Close the connection when no exchange is open any more."""
        self._keeps_alive = False
        if self._running is None:
            self._close()
        elif self._receiving is not None:
            self._receiving.keep_alive = False

    def expire(self) -> None:
        """Close the connection, because it has been idle for too long."""
        if self._parser.state == "idle":
            self._close()

    def give_way(self) -> bool:
        """Close the connection at once, to make room; return False if it is not idle."""
        if self._running is not None:
            return False
        self._context.connections.discard(self)
        self.transport.abort()
        return True

    # --- what the parser reports ----------------------------------------------------------------------------

    def takes_another(self) -> bool:
        """Return whether another request may begin."""
        if self._keeps_alive and len(self._ahead) < REQUESTS_AHEAD:
            return True
        if self._receiving is not None:
            self._receiving.keep_alive = False
        return False

    def on_request(self, head: RequestHead) -> None:
        """Answer a request, or let it wait until those before it are answered.

        Reading continues during the answer, so that a client that leaves is noticed.
        """
        self._keeps_alive = self._keeps_alive and head.keep_alive
        self._clock.restart()
        if self._running is None and self._context.shortcut() is not None and not head.is_unusual:
            self._running = self._receiving = DirectExchange(
                self, head, client=self._client, local=self._local
            )
            return
        exchange = HttpExchange(self, head)
        scope = http_scope(head, exchange, client=self._client, server=self._local)
        self._receiving = exchange
        if self._running is None:
            self._run(exchange, scope)
        else:
            self._ahead = (*self._ahead, (exchange, scope))

    def on_whole_request(self, head: RequestHead, body: bytes) -> None:
        """Answer a request that has arrived whole, with no other request before it."""
        if self._context.shortcut() is not None:
            self.on_request(head)
            self.on_body(body)
            self.on_request_end()
            return
        self._keeps_alive = self._keeps_alive and head.keep_alive
        self._running = self._receiving = exchange = HttpExchange(self, head)
        exchange.take_whole(body, keep_alive=self._keeps_alive)
        self._begin(exchange, http_scope(head, exchange, client=self._client, server=self._local))

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body. The number of bytes of a request that waits is bounded."""
        exchange = self._receiving
        if exchange is None or exchange.take(piece) <= MAX_WAITING_BODY:
            return
        if exchange is self._running:
            self.flow.pause_reading()
        else:
            self._drop_last()

    def on_request_end(self) -> None:
        """Note that the request is complete."""
        self._clock.stop()
        exchange, shortcut = self._receiving, self._context.shortcut()
        if exchange is None:
            return
        exchange.end_request(keep_alive=self._keeps_alive)
        if isinstance(exchange, DirectExchange) and (shortcut is None or not shortcut(exchange)):
            exchange.go_on()

    def on_early_bytes(self, data: bytes) -> None:
        """Keep bytes that follow a handshake for the WebSocket; refuse the request if there are too many."""
        self._early += data
        if len(self._early) > MAX_EARLY_BYTES and self._receiving is not None:
            self._early = b""
            self._parser.stop()
            self._receiving.refuse("BAD_REQUEST")

    def hand_over(self, protocol: SwitchedProtocol) -> bytes:
        """Give the connection to another protocol; return the bytes that followed the handshake.

        Reading is paused. If the client has ended its side already, the event loop reports that again when
        reading is resumed.
        """
        context, early = self._context, self._early
        context.connections.discard(self)
        context.connections.add(protocol)
        protocol.on_lost = partial(context.connections.discard, protocol)
        self._release()
        self.flow.close()
        self.transport.pause_reading()
        self.transport.set_protocol(protocol)
        self._early = b""
        return early

    def _release(self) -> None:
        """Stop the clocks, and drop references that would form cycles and outlive the connection."""
        self._context.idle.discard(self)
        if self._closing is not None:
            self._closing.cancel()
        self._clock.stop()
        self._parser.close()
        del self._clock, self._parser
        self._running = self._receiving = None
        self._ahead = ()

    def _drop_last(self) -> None:
        """Drop the last waiting request, and read no more requests."""
        self._ahead = self._ahead[:-1]
        self._receiving = self._ahead[-1][0] if self._ahead else self._running
        self._take_no_more()

    def _take_no_more(self) -> None:
        """Read no more requests after the last complete request."""
        self._clock.stop()
        self._parser.stop()
        if self._receiving is not None:
            self._receiving.keep_alive = False

    # --- answering ------------------------------------------------------------------------------------------

    def date(self) -> bytes:
        """Return the Date header of a response, with its line end."""
        return self._context.date.line()

    def on_response_end(self, exchange: HttpExchange | DirectExchange) -> None:
        """Start the next request, if another one may follow."""
        self._running = None
        if not exchange.keep_alive:
            self._close()
        elif self._ahead:
            (following, scope), *others = self._ahead
            self._ahead = tuple(others)
            self._run(following, scope)
        else:
            self._receiving = None
            self._parser.answered()
            self._context.idle.add(self)
        self.flow.resume_reading()

    def on_return(self, exchange: HttpExchange, *, is_answered: bool) -> None:
        """Forget the task. Send an error in place of a missing response; if that has begun, close."""
        self._context.tasks.discard(exchange.task)
        if is_answered:
            return
        if exchange.state == "expected":
            self.transport.write(self._refusal("INTERNAL"))
        self._running = None
        self._close()

    def go_on(self, direct: DirectExchange, exchange: HttpExchange, scope: Scope) -> None:
        """Serve a request in a task, because its shortcut has given it up."""
        if self._receiving is direct:
            self._receiving = exchange
        if self._running is direct:
            self._running = exchange
        self._begin(exchange, scope)

    def _run(self, exchange: HttpExchange, scope: Scope) -> None:
        self._running = exchange
        self._begin(exchange, scope)

    def _begin(self, exchange: HttpExchange, scope: Scope) -> None:
        context = self._context
        exchange.task = task = context.loop().create_task(exchange.run(context.app, scope))
        context.tasks.add(task)  # a callback at its end would take a turn of the event loop

    # --- refusing and closing -------------------------------------------------------------------------------

    def _overdue(self) -> None:
        """Refuse a request that has not arrived completely in time."""
        if self._parser.state == "idle":
            self._close()
        elif self._parser.state == "head" and self._running is not None:
            self._take_no_more()
        else:
            self._refuse("BAD_REQUEST")

    def _refuse(self, code: str) -> None:
        """Refuse the request that is being received. If an exchange reads its body, the exchange refuses it.

        A request that waits behind others gets no answer: the others are answered, then the connection is
        closed. If a response has begun the connection is only closed, because a refusal would become part of
        the response.
        """
        running, is_body = self._running, self._parser.state == "body"
        self._clock.stop()
        if running is not None and running.state == "expected":
            if running is self._receiving and is_body:
                self._parser.stop()
                running.refuse(code)
            elif is_body:
                self._drop_last()
            else:
                self._take_no_more()
            return
        self._parser.stop()
        if running is None:
            self.transport.write(self._refusal(code))
            self._close()
        else:
            self._closing = ClosingConnection(self.transport, ClosePhase.FLUSHING)

    def _refusal(self, code: str) -> bytes:
        context = self._context
        client = self._client[0] if self._client else None
        return refusal(code, context.observer, client, context.refusal_headers)

    def _close(self) -> None:
        """Close the connection in phases, so that the client gets the written bytes."""
        if self.transport.is_closing():
            return
        self._context.idle.add(self)
        self._clock.stop()
        if self._closing is not None:
            self._closing.enter(ClosePhase.FLUSHING)
        elif self._parser.state in _BETWEEN:
            self._closing = ClosingConnection(self.transport, ClosePhase.FLUSHING)
        else:
            self._parser.stop()
            self.flow.resume_reading()
            self._closing = ClosingConnection(self.transport, ClosePhase.LINGERING)


_BETWEEN: Final = ("idle", "whole")
_COMING: Final = ("head", "body")
