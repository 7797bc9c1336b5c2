"""Makes the `Date` header of responses.

Source: RFC 9110, section 6.6.1.
"""

from __future__ import annotations

import time
from email.utils import formatdate

__all__ = ["DateHeader"]


class DateHeader:
    """Makes the `Date` header once per second, for all responses."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        self._second = 0
        self._line = b""

    def line(self) -> bytes:
        """Return the header line, with its line end."""
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = b"date: %s\r\n" % formatdate(second, usegmt=True).encode("ascii")
        return self._line
