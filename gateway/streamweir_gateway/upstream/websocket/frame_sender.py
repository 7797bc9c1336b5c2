"""Sends the frames of a client: messages, regular pings, and answers to the server's pings."""

from __future__ import annotations

import asyncio
from typing import Final

from streamweir.framing.websocket import BINARY, PING, PONG, TEXT, client_frame, close_frame

__all__ = ["FrameSender"]

_NO_DATA: Final = b""


class FrameSender:
    """Writes frames to one transport.

    Attributes:
        is_full: whether written bytes wait to be sent.

    Args:
        transport: the transport of the connection.
        ping: the seconds between pings; None: no pings are sent.
    """

    __slots__ = ("_ping", "_pong", "_timer", "_transport", "is_full")

    def __init__(self, transport: asyncio.Transport, ping: float | None) -> None:
        self.is_full = False
        self._transport = transport
        self._ping = ping
        self._pong: bytes | None = None
        """The data of the last ping that could not be answered yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._schedule_ping()

    def message(self, data: bytes) -> None:
        """Send a message: as text, or as binary if `data` is not UTF-8."""
        try:
            data.decode()
        except UnicodeDecodeError:
            self._transport.write(client_frame(BINARY, data))
        else:
            self._transport.write(client_frame(TEXT, data))

    def ping(self, data: bytes) -> None:
        """Send a ping."""
        self._transport.write(client_frame(PING, data))

    def close(self, code: int) -> None:
        """Send a Close frame, and no more pings."""
        self.stop()
        self._transport.write(close_frame(code))

    def answer(self, data: bytes) -> None:
        """Answer a ping. While the server does not read, only the last of several pings is answered."""
        if self.is_full:
            self._pong = data
        else:
            self._transport.write(client_frame(PONG, data))

    def pause(self) -> None:
        """Note that written bytes wait to be sent."""
        self.is_full = True

    def resume(self) -> None:
        """Note that all written bytes have been sent."""
        self.is_full = False
        pong, self._pong = self._pong, None
        if pong is not None:
            self.answer(pong)

    def stop(self) -> None:
        """Send no more pings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule_ping(self) -> None:
        if self._ping is not None:
            self._timer = asyncio.get_running_loop().call_later(self._ping, self._send_ping)

    def _send_ping(self) -> None:
        if not self.is_full:
            self.ping(_NO_DATA)
        self._schedule_ping()
