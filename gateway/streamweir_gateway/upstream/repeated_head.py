"""The head of a response that an upstream sends again, to the byte: read once.

Frequent requests have the same status and headers in their answers, and bodies of the same length. The head
is forgotten with its connection.
"""

from __future__ import annotations

from typing import Final

from .request import Headers

__all__ = ["RepeatedHead", "repeated_head"]

LONGEST: Final = 4096
"""Bytes of a head that is remembered."""

_END: Final = b"\r\n\r\n"


class RepeatedHead:
    """The head of a response that came whole in one read, on a connection that stays open.

    Attributes:
        status: the status of the response.
        headers: as they were written, in order.
        relayed: the head to send for it, and the key that it was written for.

    Args:
        head: status line and headers, with the empty line behind them.
        size: the size of the whole response.
    """

    __slots__ = ("_head", "_size", "headers", "relayed", "status")

    def __init__(self, head: bytes, size: int, status: int, headers: Headers) -> None:
        self.status = status
        self.headers = headers
        self.relayed: tuple[object, object] | None = None
        self._head = head
        self._size = size

    def body(self, data: bytes) -> bytes | None:
        """Return the body, where `data` is a whole response with this head."""
        if len(data) != self._size or not data.startswith(self._head):
            return None
        return data[len(self._head) :]


def repeated_head(data: bytes, status: int, headers: Headers, *, body_size: int) -> RepeatedHead | None:
    """Return the head of a response, so that it is known again; None where it is in more than one piece.

    Args:
        data: the read in which the whole response came, and nothing else.
        status: which the parser has found in it.
        headers: likewise.
        body_size: the bytes of the body in it; a body in chunks has more bytes around them, and is refused.
    """
    head_size, end = len(data) - body_size, data.find(_END)
    if head_size > LONGEST or not 0 < end == head_size - len(_END):
        return None
    return RepeatedHead(data[:head_size], len(data), status, headers)
