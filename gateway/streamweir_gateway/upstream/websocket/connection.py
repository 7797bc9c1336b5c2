"""A WebSocket connection to an upstream.

    state       entered by                               a message             next state
    ─────────   ──────────────────────────────────────   ───────────────────   ───────────────────────────
    opening     construction                             —                     open, refused, ended
    refused     an answer other than 101                 — (its body is kept)  ended
    open        a valid 101                              is read               closing, ended
    parked      `park`: no stream reads the connection   is dropped            open (`take`), closing, ended
    closing     a Close frame of either side             is dropped            ended, after a second at most
    ended       the connection is lost                   —                     —

Source: the WebSocket contract, section 2; RFC 6455.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable
from typing import Final, cast

from streamweir.framing.websocket import CLOSE, PING, PONG, PROTOCOL_ERROR, WebSocketFrame, WebSocketReader
from streamweir_gateway.upstream.failures import InvalidResponse, Unreachable, UpstreamFailure
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.websocket.failures import MessageTooBig, ProtocolBreach, SocketClosed
from streamweir_gateway.upstream.websocket.frame_sender import FrameSender
from streamweir_gateway.upstream.websocket.handshake import Handshake
from streamweir_gateway.upstream.websocket.message_body import MessageBody

__all__ = ["WebSocketConnection"]

READ_BUFFER: Final = 64 << 10
"""The bytes of messages that may wait to be read. If more wait, the socket is not read."""

CLOSE_SECONDS: Final = 1.0
"""The seconds that the upstream may take to end the connection after a Close frame."""

PONG_SECONDS: Final = 1.0
"""The seconds that the upstream may take to answer the ping on a parked connection."""

_NORMAL: Final = 1000
_CLEAN: Final = frozenset({_NORMAL, 1005})  # 1005: a Close frame without a code


class WebSocketConnection(asyncio.Protocol):
    """Carries one stream after the other. The docstring of this file lists its states.

    Attributes:
        refusal: the status and headers of a response other than 101, in the state `refused`.
        headers: the headers of the 101.
        is_usable: whether the connection is open, and neither side has begun to close it.
        conversation: the conversation that the connection belongs to; None: the connection is not kept.

    Args:
        handshake: sent by `open`.
        limit: the most bytes of a message; None: frames are not read, and the caller will call `detach`.
        ping: the seconds between pings of the gateway; None: it sends no pings.
        on_end: called once when no stream can be read from the connection any longer.
    """

    def __init__(
        self,
        handshake: Handshake,
        *,
        limit: int | None,
        ping: float | None,
        on_end: Callable[[WebSocketConnection], None],
    ) -> None:
        self.refusal: tuple[int, Headers] | None = None
        self.headers: Headers = []
        self.is_usable = False
        self.conversation: Hashable = None
        self._handshake: Handshake | None = handshake
        self._limit = limit
        self._rest = b""
        self._reader = WebSocketReader(limit or 0)
        self._ping = ping
        self._sender: FrameSender | None = None
        """Sends frames; set when the 101 has arrived."""
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._body: MessageBody | None = None  # of the stream that reads; None in the state `parked`
        self._on_close: Callable[[int], None] | None = None
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._failure: UpstreamFailure | None = None
        self._is_over = False
        """Whether no more messages will arrive."""
        self._awaited_pong: bytes | None = None
        self._take: Callable[[bytes], bool] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._close_timer: asyncio.TimerHandle | None = None

    # The opening

    async def open(self) -> None:
        """Send the handshake and wait for the response. The state is `open` or `refused` afterwards.

        The handshake is not sent before, so that no message arrives before a stream has begun to read.

        Raises:
            UpstreamFailure: no response to the handshake arrived.
        """
        if self._handshake is not None and self._transport is not None:
            self._transport.write(self._handshake.head)
        while self._handshake is not None and self.refusal is None:
            if self._failure is not None:
                raise self._failure
            if self._is_over:
                raise Unreachable("the connection ended before the handshake was answered")
            await self._news()

    def detach(self) -> tuple[asyncio.Transport, bytes]:
        """Give the transport away, in the state `open`; return it with the bytes that followed the 101.

        The caller sets another protocol on the transport.
        """
        assert self._transport is not None
        self._cancel_timers()
        self.is_usable = False
        transport, self._transport = self._transport, None
        return transport, self._rest

    def begin(self, body: MessageBody, on_close: Callable[[int], None] | None) -> None:
        """Let a stream read the messages that arrive from now on.

        Args:
            body: makes the body of the stream.
            on_close: called with the code of the upstream's Close frame.
        """
        self._body = body
        self._on_close = on_close

    # Sending

    def send_message(self, data: bytes) -> None:
        """Send a message. If the connection is closing, do nothing."""
        if self.is_usable and self._sender is not None:
            self._sender.message(data)

    # Reading

    @property
    def is_over(self) -> bool:
        """Whether the body has been read to its proper end."""
        return self._is_over and not self._pieces and self._failure is None

    @property
    def is_ready(self) -> bool:
        """Whether `read` would return at once."""
        return bool(self._pieces) or self._is_over

    async def first(self) -> None:
        """Wait for the first message.

        Raises:
            UpstreamFailure: the connection ended before the first message.
        """
        while not self._pieces:
            self._raise_failure()
            if self._is_over:
                raise SocketClosed(_NORMAL)
            await self._news()

    async def read(self) -> bytes:
        """Return the part of the body that has arrived, or wait for the next; empty at the end.

        Raises:
            UpstreamFailure: the body broke off.
        """
        while not self._pieces:
            self._raise_failure()
            if self._is_over:
                return b""
            await self._news()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._buffered = 0
        if self._transport is not None:
            self._transport.resume_reading()
        return data

    async def relay(self, take: Callable[[bytes], bool]) -> None:
        """Call `take` with each part of the body, until `take` returns False or the stream ends."""
        if self._pieces or self._is_over:
            return
        self._take = take
        try:
            await self._news()
        finally:
            self._take = None

    # The end

    def park(self) -> None:
        """Drop every message that arrives, until a stream reads the connection again."""
        self._body = None
        self._pieces.clear()
        self._buffered = 0
        if self._transport is not None:
            self._transport.resume_reading()

    async def answers_ping(self) -> bool:
        """Send a ping on a parked connection; return whether the upstream answers in time."""
        if not self.is_usable or self._sender is None or self._sender.is_full:
            return False
        self._awaited_pong = os.urandom(8)
        self._sender.ping(self._awaited_pong)
        try:
            async with asyncio.timeout(PONG_SECONDS):
                while self._awaited_pong is not None and not self._is_over:
                    await self._news()
        except TimeoutError:
            return False
        return not self._is_over

    def close(self, code: int) -> None:
        """Send a Close frame, unless one was sent. The connection ends within a second."""
        self._body = self._failure = None
        self._pieces.clear()
        if self._handshake is not None:
            self.abort()
            return
        self._send_close(code)
        if self._transport is not None:
            self._transport.resume_reading()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport, because the connection is established."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop has a class of its own

    def data_received(self, data: bytes) -> None:
        """Take bytes that have arrived."""
        if self._handshake is not None:
            self._read_handshake(self._handshake, data)
        else:
            self._read_frames(data)

    def pause_writing(self) -> None:
        """Note that written bytes wait to be sent."""
        if self._sender is not None:
            self._sender.pause()

    def resume_writing(self) -> None:
        """Note that all written bytes have been sent."""
        if self._sender is not None:
            self._sender.resume()

    def eof_received(self) -> None:
        """Note that the upstream sends no more. The transport closes itself."""
        self._end()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is lost."""
        self._end(error)
        self._transport = None
        self._cancel_timers()

    def _cancel_timers(self) -> None:
        if self._sender is not None:
            self._sender.stop()
        if self._close_timer is not None:
            self._close_timer.cancel()

    # Arrivals

    def _read_handshake(self, handshake: Handshake, data: bytes) -> None:
        try:
            body = handshake.feed(data)
        except InvalidResponse as failure:
            self._failure = failure
            self._end()
            self.abort()
            return
        if (refusal := handshake.refusal) is not None:
            self.refusal = refusal.status, refusal.headers
            self._keep(body)
            self._failure = refusal.failure
            self._is_over = refusal.is_complete or refusal.failure is not None
            self._wake()
        elif (switched := handshake.switched) is not None:
            self._handshake = None
            self.headers = switched.headers
            self.is_usable = True
            assert self._transport is not None
            self._sender = FrameSender(self._transport, self._ping)
            if self._limit is None:
                self._rest = switched.rest
                self._pause()
            else:
                self._read_frames(switched.rest)
            self._wake()

    def _read_frames(self, data: bytes) -> None:
        frames = self._reader.feed(data)
        if self._body is not None and not self._is_over and (body := self._body.of(frames)):
            self._hand_over(body)
        for frame in [found for found in frames if found.__class__ is WebSocketFrame]:
            self._take_control(frame)
        if self._reader.failure is not None and self._failure is None and not self._is_over:
            code, message = self._reader.failure
            breach = code == PROTOCOL_ERROR
            self._failure = ProtocolBreach(message) if breach else MessageTooBig(message)
            self._send_close(code)
            self._end()

    def _take_control(self, frame: WebSocketFrame) -> None:
        if frame.opcode == CLOSE:
            if self._on_close is not None and self._body is not None and frame.data:
                self._on_close(frame.close_code)
            if frame.close_code not in _CLEAN:
                self._failure = SocketClosed(frame.close_code)
            self._send_close(frame.close_code if frame.data else _NORMAL)
            self._end()
        elif frame.opcode == PING and self.is_usable and self._sender is not None:
            self._sender.answer(frame.data)
        elif frame.opcode == PONG and frame.data == self._awaited_pong:
            self._awaited_pong = None
            self._wake()

    def _hand_over(self, body: bytes) -> None:
        waiter, take = self._waiter, self._take
        if take is None or waiter is None or waiter.done():
            self._keep(body)
            self._wake()
            return
        try:
            if take(body):
                return
        except Exception as error:
            waiter.set_exception(error)
        self._take = None
        self._wake()

    def _keep(self, body: bytes) -> None:
        if not body:
            return
        self._pieces.append(body)
        self._buffered += len(body)
        if self._buffered >= READ_BUFFER:
            self._pause()

    def _pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    # The end

    def _send_close(self, code: int) -> None:
        if not self.is_usable or self._sender is None:
            return
        self.is_usable = False
        self._sender.close(code)
        self._close_timer = self._loop.call_later(CLOSE_SECONDS, self.abort)
        self._on_end(self)

    def _end(self, error: Exception | None = None) -> None:
        """End the messages, because a Close frame has arrived or the connection has ended."""
        if self._handshake is not None:
            if self._handshake.refusal is not None:
                self._handshake.refusal.end(error)
                self._failure = self._handshake.refusal.failure
        elif not (self._is_over or self._reader.is_closed):
            self._failure = SocketClosed(None)
            self._failure.__cause__ = error
        self._is_over = True
        if self.is_usable:
            self.is_usable = False
            self._on_end(self)
        self._wake()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # Waiting

    async def _news(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
