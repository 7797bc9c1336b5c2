"""One request and its response, with the interface that ASGI applications use.

Source: the ASGI specification, HTTP 2.3; RFC 9110, section 10.1.1 (Expect).
"""

from __future__ import annotations

import asyncio
import logging
import types
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope

from streamweir_gateway.connection.client_connection import ClientConnection, SwitchedProtocol
from streamweir_gateway.connection.flow_control import FlowControl
from streamweir_gateway.connection.request_parser import RequestHead
from streamweir_gateway.connection.response_encoder import ResponseEncoder, ResponseState, chunk
from streamweir_gateway.connection.sending_queue import reset, unsent_by_system

__all__ = ["HttpExchange", "ServerConnection"]

logger = logging.getLogger("streamweir.server")

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


@types.coroutine
def _over() -> Generator[None, None, None]:
    yield from ()


_NO_WAIT: Final[Awaitable[None]] = _over()
"""An awaitable that ends at once, however often it is awaited: its generator is over after the first time."""


class ServerConnection(Protocol):
    """The operations of the server's connection that an exchange needs."""

    transport: asyncio.Transport
    flow: FlowControl

    def date(self) -> bytes:
        """Return the Date header of a response, with its line end."""

    def on_response_end(self, exchange: HttpExchange) -> None:
        """Note that the response of `exchange` is complete."""

    def on_return(self, exchange: HttpExchange, *, is_answered: bool) -> None:
        """Note that the application has ended; `is_answered` is False if a response is still owed."""

    def hand_over(self, protocol: SwitchedProtocol) -> bytes:
        """Give the connection to another protocol; return the bytes that arrived after the handshake."""


class HttpExchange(ClientConnection):
    """One request that is being answered, or waits for its turn.

    The request and the response have separate states. Neither returns to an earlier state:

    request     flag                     set by
    ─────────   ──────────────────────   ─────────────────────────────────────────────────────────────
    arriving    none
    whole       `_is_whole`              `end_request`
    cut short   `refused` is not None    `refuse`: its reader answers with the refusal

    response    flag                     set by
    ─────────   ──────────────────────   ─────────────────────────────────────────────────────────────
    expected    `state`                  until `send` gets its start
    streaming   `_is_streaming`          its start, if the body is in chunks: `write` may add one
    complete    `state`                  `send` with the last piece: the connection's next exchange begins
    broken      `_is_broken_off`         `break_off`: the connection closes when the application returns
    switched    `_is_switched`           `switch`: another protocol has the connection
    lost        `is_lost`                `lose`: nothing is written any more

    `_has_news` wakes `receive`. It is set when a piece or the end of the request arrives, on a refusal, when
    the client is lost and when the response ends. It is cleared when `receive` returns a piece.
    `_expects_continue` is cleared by the first `receive` or by the start of the response, so that 100 is sent
    at most once.

    Attributes:
        keep_alive: whether another exchange may follow. False until the request is complete, because the
            start of the next request is unknown until then.
        is_lost: whether the client has left.
        task: the task that runs the application. The connection keeps it, and forgets it in `on_return`.
    """

    __slots__ = (
        "_body",
        "_expects_continue",
        "_has_news",
        "_head",
        "_is_broken_off",
        "_is_streaming",
        "_is_switched",
        "_is_whole",
        "_listener",
        "_news",
        "_response",
        "_server",
        "is_lost",
        "keep_alive",
        "refused",
        "task",
    )

    task: asyncio.Task[None]

    def __init__(self, server: ServerConnection, head: RequestHead) -> None:
        self.refused = None
        self.keep_alive = False
        self.is_lost = False
        self._server = server
        self._response = ResponseEncoder(head.method, head.version)
        self._expects_continue = head.expects_continue
        self._body: bytes | bytearray = b""
        self._is_whole = False
        self._is_broken_off = False
        self._is_switched = False
        self._is_streaming = False  # a piece of the body is a chunk, and may come at any time
        self._has_news = False
        self._news: asyncio.Event | None = None  # made when something waits: it takes 700 bytes
        self._head = b""
        """The head of the response, until it is sent together with the first piece of the body."""
        self._listener: Callable[[], None] | None = None

    @property
    def state(self) -> ResponseState:
        """The state of the response."""
        return self._response.state

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        """Run the application for this request, until it returns."""
        is_due = False
        try:
            await app(scope, self.receive, self.send)
            is_due = not self._is_broken_off
        except Exception:
            logger.exception("the application failed")
        finally:
            is_answered = self._response.state == "complete" or self.is_lost or self._is_switched
            if not is_answered:
                self._write(b"")  # a head without a piece
            if is_due and not is_answered:
                logger.error("the application ended before its response")
            self._server.on_return(self, is_answered=is_answered)

    # --- what the connection reports ----------------------------------------------------------------------

    def take(self, piece: bytes) -> int:
        """Take a piece of the request's body; return the number of bytes that wait for the application."""
        if not self._body:
            self._body = piece
        else:
            self._body = bytearray(self._body) if isinstance(self._body, bytes) else self._body
            self._body += piece
        self._notify()
        return len(self._body)

    def end_request(self, *, keep_alive: bool) -> None:
        """Note that the request is complete."""
        self._is_whole = True
        self.keep_alive = keep_alive and self.state == "expected"
        self._notify()

    def take_whole(self, body: bytes, *, keep_alive: bool) -> None:
        """Take the whole body of a request that has just begun."""
        self._body = body
        self._is_whole = self._has_news = True
        self.keep_alive = keep_alive

    def refuse(self, code: str) -> None:
        """Note that no more of the body will be read; its reader answers with the refusal `code`."""
        self.refused = code
        self._notify()
        if self._listener is not None and self._is_refused_handshake():
            self._listener()

    def lose(self) -> None:
        """Note that the client has left."""
        self.is_lost = True
        self._is_streaming = False
        self._notify()
        if self._listener is not None:
            self._listener()

    # --- what the application calls -----------------------------------------------------------------------

    async def receive(self) -> Message:
        """Return the next piece of the body, or the message that the exchange is over."""
        if self._expects_continue:
            self._expects_continue = False
            self._write(_CONTINUE)
        if not self._is_over():
            self._server.flow.resume_reading()
            while not self._has_news:
                await self._until_news()
        if self._is_over():
            return {"type": "http.disconnect"}
        self._has_news = False
        body, self._body = bytes(self._body), b""
        return {"type": "http.request", "body": body, "more_body": not self._is_whole}

    def send(self, message: Message) -> Awaitable[None]:
        """Send the head of the response or a piece of its body.

        This is no coroutine function: it seldom has to wait, and a coroutine costs as much as the rest of it.

        Raises:
            RuntimeError: the message is invalid, or not allowed at this point.
        """
        if self._server.flow.is_writing_paused:
            return self._send_later(message)
        if self.is_lost:
            return _NO_WAIT
        match message["type"]:
            case "http.response.body":
                self._write(
                    self._response.body(message.get("body", b""), more=message.get("more_body", False))
                )
                if self._response.state == "complete":
                    self._end()
            case "http.response.start":
                self._start(message)
            case other:
                raise RuntimeError(f"no message for a response: {other}")
        return _NO_WAIT

    # --- ClientConnection ---------------------------------------------------------------------------------

    def whole_body(self, receive: Receive) -> bytes | None:
        """Return the rest of the body, if all of it has arrived; see `ClientConnection`."""
        is_there = self._is_whole and self._has_news and self.refused is None and not self._is_over()
        if not is_there or self._expects_continue or receive != self.receive:
            return None
        self._server.flow.resume_reading()
        self._has_news = False
        body, self._body = bytes(self._body), b""
        return body

    def unsent(self) -> int:
        """Return the number of written bytes that the client has not taken."""
        transport = self._server.transport
        return transport.get_write_buffer_size() + unsent_by_system(transport)

    def abort(self) -> None:
        """Close the connection at once, so that the system stops sending to a client that does not read."""
        reset(self._server.transport)

    def switch(self, head: bytes, protocol: SwitchedProtocol) -> tuple[asyncio.Transport, bytes]:
        """Answer a handshake with a 101, and give the connection to another protocol."""
        transport = self._server.transport
        transport.write(head)
        self._is_switched = True
        return transport, self._server.hand_over(protocol)

    def break_off(self, *, resets: bool) -> bool:
        """Close when the application ends; at once if only a reset shows the client that it is incomplete."""
        self._is_broken_off = True
        if resets and self._response.framing == "until_close":
            self.abort()
        return True

    def write(self, data: bytes) -> bool:
        """Send a piece of the body; return False if sending would have to wait."""
        if not self._is_streaming or self._server.flow.is_writing_paused:
            return False
        self._write(chunk(data))
        return True

    def inform(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send an interim response, if the client supports it and the response has not begun."""
        if not self.is_lost and not self._server.flow.is_writing_paused:
            self._write(self._response.interim(status, headers))

    def watch(self, listener: Callable[[], None] | None) -> bool:
        """Register `listener` to be called when the client has left, which is noticed only during reading."""
        self._listener = listener
        if listener is not None:
            if self.is_lost or self._is_refused_handshake():
                listener()
            else:
                self._server.flow.resume_reading()
        return True

    # ------------------------------------------------------------------------------------------------------

    async def _send_later(self, message: Message) -> None:
        await self._server.flow.until_writable()
        await self.send(message)

    def _is_refused_handshake(self) -> bool:
        """Return whether too many bytes came after a whole request: only a handshake may have some."""
        return self._is_whole and self.refused is not None

    def _is_over(self) -> bool:
        return self.is_lost or self._response.state == "complete"

    def _notify(self) -> None:
        self._has_news = True
        if self._news is not None:
            self._news.set()
            self._news = None

    async def _until_news(self) -> None:
        if self._news is None:
            self._news = asyncio.Event()
        await self._news.wait()

    def _start(self, message: Message) -> None:
        self._expects_continue = False
        self._head = self._response.start(
            message["status"],
            message.get("headers", ()),
            date=self._server.date(),
            keep_alive=self.keep_alive,
        )
        self.keep_alive = self._response.keep_alive
        self._is_streaming = self._response.framing == "chunked"

    def _end(self) -> None:
        self._is_streaming = False
        self._notify()
        self._server.on_response_end(self)

    def _write(self, data: bytes) -> None:
        """Write bytes, after the head if that is still to be sent: each separate write would be a packet."""
        if self._head:
            data, self._head = self._head + data, b""
        if data:
            self._server.transport.write(data)
