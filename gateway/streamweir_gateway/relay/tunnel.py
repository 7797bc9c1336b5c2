"""Relays a WebSocket: copies bytes between two connections in both directions.

    state     entered by                    bytes                          next state
    ───────   ───────────────────────────   ────────────────────────────   ─────────────────────────────
    open      the 101                       are copied                     ending, closing, closed
    ending    one side has ended (FIN)      of the other side are copied   closed: both have ended, or a
                                                                           second has no byte
    closing   a clock, `leave_upstream`     are dropped                    closed, within a second
    closed    both connections are lost     —                              —

Source: the WebSocket contract, section 1; RFC 6455, section 5.5.1.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from streamweir.errors import Reason
from streamweir.framing.websocket import close_frame
from streamweir.framing.websocket_boundaries import FrameBoundaries
from streamweir_gateway.connection.client_connection import SwitchedProtocol
from streamweir_gateway.connection.sending_queue import reset
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.run_supervisor import Stop

__all__ = ["Tunnel", "TunnelEnd", "TunnelTimeouts"]

ENDING_SECONDS: Final = 1.0
KEEP_ALIVE_SECONDS: Final = 60

_RESTART: Final = 1012
_GOING_AWAY: Final = 1001


class TunnelTimeouts:
    """The clocks of a tunnel, in seconds; None: off.

    Args:
        idle: the longest time without a byte in either direction.
        total: the time of the event loop at which the request has to be over.
        write: the longest time for which the client does not read while bytes wait for it.
    """

    __slots__ = ("idle", "total", "write")

    def __init__(self, idle: float | None, total: float | None, write: float | None) -> None:
        self.idle = idle
        self.total = total
        self.write = write


class TunnelEnd(SwitchedProtocol):
    """One of the two connections.

    Attributes:
        transport: the transport of the connection.
        boundaries: follows the frames that arrive on the connection.
        received: the number of bytes that have arrived.
        has_ended: whether the peer has ended its side.
        is_lost: whether the connection is lost.
    """

    __slots__ = ("_tunnel", "boundaries", "has_ended", "is_lost", "peer", "received", "transport")

    transport: asyncio.Transport
    peer: TunnelEnd

    def __init__(self, tunnel: Tunnel) -> None:
        self._tunnel = tunnel
        self.boundaries = FrameBoundaries()
        self.received = 0
        self.has_ended = False
        self.is_lost = False
        self.on_lost: Callable[[], None] = _nothing

    def attach(self, transport: asyncio.Transport) -> None:
        """Take over a connection whose reading is paused."""
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        connected: socket.socket | None = transport.get_extra_info("socket")
        if connected is not None:
            _keep_alive(connected)

    def data_received(self, data: bytes) -> None:
        """Copy bytes to the other side."""
        if self._tunnel.is_closing:
            return
        self.received += len(data)
        self.boundaries.feed(data)
        self._tunnel.note_bytes()
        self.peer.transport.write(data)

    def pause_writing(self) -> None:
        """Pause reading from the other side while bytes wait for this side."""
        if not self.peer.is_lost:
            self.peer.transport.pause_reading()
        self._tunnel.note_waiting(self)

    def resume_writing(self) -> None:
        """Resume reading from the other side, because the bytes have been sent."""
        if not self.peer.is_lost:
            self.peer.transport.resume_reading()
        self._tunnel.note_taken(self)

    def eof_received(self) -> bool:
        """Forward the end after all bytes. The connection stays open for the other direction."""
        self.has_ended = True
        return self._tunnel.pass_on_end(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is lost: it was closed or reset."""
        self.is_lost = True
        on_lost, self.on_lost = self.on_lost, _nothing
        on_lost()
        self._tunnel.lose(self, error)

    def release(self) -> None:
        """Drop the references that form cycles, because both connections are lost."""
        del self._tunnel, self.peer


class Tunnel:
    """Copies bytes between a client and its service. The docstring of this file lists its states.

    Attributes:
        client: the connection of the client.
        service: the connection of the service.
        is_closing: whether the gateway has ended the tunnel.

    Args:
        record: the record of the request; completed at the end.
        timeouts: the clocks.
    """

    __slots__ = (
        "_callbacks",
        "_idle_timer",
        "_last_byte",
        "_loop",
        "_record",
        "_timeouts",
        "_timer",
        "_write_timer",
        "client",
        "is_closing",
        "service",
    )

    def __init__(self, record: RequestRecord, timeouts: TunnelTimeouts) -> None:
        self._loop = asyncio.get_running_loop()
        self.client = TunnelEnd(self)
        self.service = TunnelEnd(self)
        self.client.peer, self.service.peer = self.service, self.client
        self.is_closing = False
        self._callbacks: list[Callable[[], None]] | None = []
        """The callbacks for the end, called in order; None in the state `closed`."""
        self._record = record
        self._timeouts = timeouts
        self._last_byte = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None  # `total`; in `ending` and `closing` the last second
        self._idle_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def begin(self, early: bytes, rest: bytes) -> None:
        """Begin to copy, after both connections were attached.

        Args:
            early: the bytes that the client has sent already.
            rest: the bytes that the service has sent already.
        """
        timeouts = self._timeouts
        if timeouts.total is not None:
            self._timer = self._loop.call_at(timeouts.total, self._run_out, "total_timeout")
        if timeouts.idle is not None:
            self._idle_timer = self._loop.call_later(timeouts.idle, self._look_at_idle)
        for end, data in ((self.service, rest), (self.client, early)):
            if data:
                end.data_received(data)
        for end in (self.service, self.client):
            if not end.peer.transport.get_write_buffer_size() and not end.is_lost:
                end.transport.resume_reading()

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when both connections are lost and the record is complete, or at once if they are.

        No task waits for this, because it would take a third of the memory of an idle tunnel.
        """
        if self._callbacks is None:
            callback()
        else:
            self._callbacks.append(callback)

    def leave_upstream(self, stop: Stop) -> None:
        """End the tunnel, because the gateway drains."""
        del stop
        self._end("draining", _RESTART)

    # Called by the two ends

    def note_bytes(self) -> None:
        """Note that bytes have arrived."""
        self._last_byte = self._loop.time()

    def note_waiting(self, end: TunnelEnd) -> None:
        """Start the clock for a client that does not read."""
        if end is self.client and self._timeouts.write is not None and self._write_timer is None:
            self._write_timer = self._loop.call_later(self._timeouts.write, self._run_out, "slow_client")

    def note_taken(self, end: TunnelEnd) -> None:
        """Stop the clock, because the client has taken the bytes."""
        if end is self.client and self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def pass_on_end(self, end: TunnelEnd) -> bool:
        """Forward the end of one side; return whether its connection stays open for the other direction."""
        peer = end.peer
        if self.is_closing or peer.has_ended or peer.is_lost:
            self._close_both()
            return True
        if not peer.transport.can_write_eof():
            self._close_both()
            return True
        peer.transport.write_eof()
        self._close_later(ENDING_SECONDS)
        return True

    def lose(self, end: TunnelEnd, error: Exception | None) -> None:
        """Note that one connection is lost. Reset the other one if this one was reset, else close it."""
        if error is not None and self._record.reason is None and not self._has_closed:
            self._record.reason = "client_gone" if end is self.client else "truncated"
        if not end.peer.is_lost:
            if error is not None and not self.is_closing:
                reset(end.peer.transport)
            else:
                end.peer.transport.close()
                self._close_later(ENDING_SECONDS)
            return
        for timer in (self._timer, self._idle_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._close()

    def _close(self) -> None:
        callbacks, self._callbacks = self._callbacks, None
        record = self._record
        record.bytes_in, record.bytes_out = self.client.received, self.service.received
        record.close_code = self.service.boundaries.close_code
        record.reason = record.reason or "done"
        for callback in callbacks or ():
            callback()
        for end in (self.client, self.service):
            end.release()

    # The ends

    @property
    def _has_closed(self) -> bool:
        """Whether both sides have sent Close frames, so that the WebSocket has ended properly."""
        return self.client.boundaries.has_closed and self.service.boundaries.has_closed

    def _look_at_idle(self) -> None:
        assert self._timeouts.idle is not None
        due = self._last_byte + self._timeouts.idle
        if self._loop.time() >= due:
            self._run_out("idle_timeout")
        else:
            self._idle_timer = self._loop.call_at(due, self._look_at_idle)

    def _run_out(self, reason: Reason) -> None:
        self._end(reason, _GOING_AWAY)

    def _end(self, reason: Reason, code: int) -> None:
        """End the tunnel. Each side gets a Close frame if it is between two frames."""
        if self.is_closing:
            return
        if self._record.reason is None:
            self._record.reason = reason
        is_between_for_client = self.service.boundaries.is_at_boundary
        is_between_for_service = self.client.boundaries.is_at_boundary
        self.is_closing = True
        if not self.client.is_lost and is_between_for_client and reason != "slow_client":
            self.client.transport.write(b"\x88\x02" + code.to_bytes(2))
        if not self.service.is_lost and is_between_for_service:
            self.service.transport.write(close_frame(_GOING_AWAY))
        if reason == "slow_client":
            reset(self.client.transport)
        self._close_both()

    def _close_both(self) -> None:
        for end in (self.client, self.service):
            if not end.is_lost:
                end.transport.close()
        self._close_later(ENDING_SECONDS)

    def _close_later(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        """Close both connections when no byte has come for a second; abort them if already closing."""
        waited = self._loop.time() - self._last_byte
        if waited < ENDING_SECONDS and not self.is_closing:
            self._close_later(ENDING_SECONDS - waited)
            return
        for end in (self.client, self.service):
            if not end.is_lost:
                leave = end.transport.abort if end.transport.is_closing() else end.transport.close
                leave()
        if not (self.client.is_lost and self.service.is_lost):
            self._close_later(ENDING_SECONDS)


def _keep_alive(connected: socket.socket) -> None:
    """Let the system check every minute whether the peer still exists."""
    try:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL"):
            if (option := getattr(socket, name, None)) is not None:
                connected.setsockopt(socket.IPPROTO_TCP, option, KEEP_ALIVE_SECONDS)
    except OSError:  # it is closed, or no TCP
        pass


def _nothing() -> None:
    pass
