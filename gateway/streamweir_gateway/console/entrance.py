"""The listening address of the console, opened before any process starts, and the token for access."""

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
    """The address, token and file that the console needs in addition to the configuration.

    Attributes:
        listener: the listening socket.
        token: the token that every request to a path below `/api/` has to send.
        file: the configuration file; None: there is no file.
    """

    listener: socket.socket
    token: str
    file: Path | None

    @property
    def url(self) -> str:
        """The URL of the page. The token is in the fragment, which browsers do not send to servers."""
        return f"{Address(*self.listener.getsockname()[:2]).url}/#token={self.token}"


def open_entrance(console: ConsoleConfig, listener: socket.socket, file: Path | None) -> ConsoleEntrance:
    """Return the entrance of a console that listens on `listener`.

    Raises:
        OSError: the system has no Unix sockets, over which serving processes report to the console.
    """
    if sys.platform == "win32":
        raise OSError("the console needs Unix sockets, which this system does not have")
    return ConsoleEntrance(listener, console.token or secrets.token_urlsafe(_TOKEN_BYTES), file)
