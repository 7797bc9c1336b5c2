"""What the operating system still holds of what was sent on a connection: megabytes, if nobody reads.

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
    """Return how many bytes the other side has not acknowledged; 0 where the system does not report it."""
    connected: socket.socket | None = transport.get_extra_info("socket")
    if connected is None or sys.platform != "linux":
        return 0
    try:
        answer: bytes = fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, bytes(_INT.size))
    except (OSError, ValueError):  # it is closed
        return 0
    return int(_INT.unpack(answer)[0])


def reset(transport: WriteTransport) -> None:
    """Close at once: throw away what was not sent, and let the other side see it.

    After a plain close the system would go on offering a client what it does not read.
    """
    connected: socket.socket | None = transport.get_extra_info("socket")
    if connected is not None:
        with suppress(OSError):  # it is closed
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
