"""Headers that every response has.

Source: RFC 9110, section 6.6.1 (Date).
"""

from __future__ import annotations

import time
from email.utils import formatdate

__all__ = ["DefaultHeaders"]


class DefaultHeaders:
    """The same for all responses of a second."""

    __slots__ = ("_lines", "_second")

    def __init__(self) -> None:
        self._second = 0
        self._lines = b""

    def lines(self) -> bytes:
        """Return them, each with its line end."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._lines = b"date: %s\r\n" % formatdate(second, usegmt=True).encode("ascii")
        return self._lines
