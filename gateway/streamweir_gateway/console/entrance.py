"""The address of the console, listened on before anything is started, and the token that opens it."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path
from typing import NamedTuple

from streamweir_gateway.config import Address, ConsoleConfig

__all__ = ["ConsoleEntrance", "open_entrance"]

_TOKEN_BYTES = 24


class ConsoleEntrance(NamedTuple):
    """The things that a console needs beside the configuration.

    Attributes:
        listener: the listening socket.
        token: that every path below `/api/` needs.
        file: the file of the configuration; None: there is none.
    """

    listener: socket.socket
    token: str
    file: Path | None

    @property
    def url(self) -> str:
        """The address of the page, with the token in its fragment, which browsers send nowhere."""
        return f"{Address(*self.listener.getsockname()[:2]).url}/#token={self.token}"


def open_entrance(console: ConsoleConfig, listener: socket.socket, file: Path | None) -> ConsoleEntrance:
    """Return the entrance of a console that listens on `listener`.

    Raises:
        OSError: the system lacks the sockets by which a console hears of the serving processes.
    """
    if sys.platform == "win32":
        raise OSError("the console needs Unix sockets, which this system does not have")
    return ConsoleEntrance(listener, console.token or secrets.token_urlsafe(_TOKEN_BYTES), file)
