"""Looks at the sending queue of the operating system, which may hold megabytes if the client does not read.

Source: Linux, tcp(7) (SIOCOUTQ, of which TIOCOUTQ is another name) and socket(7) (SO_LINGER).
"""

from __future__ import annotations

import socket
import struct
import sys
from asyncio import BaseTransport, WriteTransport
from contextlib import suppress
from typing import Final

if sys.platform != "win32":
    import fcntl
    import termios

__all__ = ["reset", "unsent_by_system"]

_INT: Final = struct.Struct("i")
_AT_ONCE: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


def unsent_by_system(transport: BaseTransport) -> int:
    """Return the number of bytes that the peer has not acknowledged; 0 if the system does not report them."""
    connected: socket.socket | None = transport.get_extra_info("socket")
    if connected is None or sys.platform != "linux":
        return 0
    try:
        answer: bytes = fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, bytes(_INT.size))
    except (OSError, ValueError):  # it is closed
        return 0
    return int(_INT.unpack(answer)[0])


def reset(transport: WriteTransport) -> None:
    """Close a connection with a reset, which drops unsent bytes and which the peer notices.

    After a plain close the system would keep offering the bytes to a client that does not read.
    """
    connected: socket.socket | None = transport.get_extra_info("socket")
    if connected is not None:
        with suppress(OSError):  # it is closed
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
