"""Reuses the parsed head of a response, if an upstream sends that head again byte for byte.

Responses to frequent requests often have the same status, the same headers and bodies of the same length. The
heads of streams, whose bodies are in chunks, are the same even more often. The head is dropped with its
connection.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from .header_fields import HeaderFields
from .request import Headers

__all__ = ["RepeatedHead", "StreamHead", "repeated_head", "stream_head"]

LONGEST: Final = 4096
"""The most bytes of a head that is kept for reuse."""

MOST_SHARED: Final = 64
"""The most heads of streams that are shared. Many differ in the second of their `Date`."""

_END: Final = b"\r\n\r\n"
_FRAMING: Final = frozenset(
    {b"connection", b"proxy-connection", b"content-length", b"transfer-encoding", b"upgrade"}
)
"""Headers that the parser obeys."""


class RepeatedHead:
    """The head of a response that arrived completely in one read, on a connection that stays open.

    Attributes:
        status: the status of the response.
        headers: the headers in the order and spelling of the wire.
        fields: the same headers by name.
        relayed: the head to send to the client for this response, and the key for which it was written.

    Args:
        head: the status line and headers, with the empty line after them.
        size: the size of the whole response.
    """

    __slots__ = ("_head", "_size", "fields", "headers", "relayed", "status")

    def __init__(self, head: bytes, size: int, status: int, headers: Headers, fields: HeaderFields) -> None:
        self.status = status
        self.headers = headers
        self.fields = fields
        self.relayed: tuple[object, object] | None = None
        self._head = head
        self._size = size

    def body(self, data: bytes) -> bytes | None:
        """Return the body if `data` is a whole response with this head; else None."""
        if len(data) != self._size or not data.startswith(self._head):
            return None
        return data[len(self._head) :]


def repeated_head(
    data: bytes, status: int, headers: Headers, fields: HeaderFields, *, body_size: int
) -> RepeatedHead | None:
    """Return the head of a response for reuse; None if the response did not arrive in one piece.

    Args:
        data: the read that holds the whole response and no other bytes.
        status: the status that the parser has found in `data`.
        headers: the headers that the parser has found in `data`.
        fields: the same headers by name.
        body_size: the bytes of the body in `data`. A body in chunks has more bytes around it, and gives None.
    """
    head_size, end = len(data) - body_size, data.find(_END)
    if head_size > LONGEST or not 0 < end == head_size - len(_END):
        return None
    return RepeatedHead(data[:head_size], len(data), status, headers, fields)


class StreamHead(NamedTuple):
    """The head of a response with a body in chunks.

    Attributes:
        head: the status line and headers, with the empty line after them.
        status: the status of the response.
        headers: the headers in the order and spelling of the wire.
        fields: the same headers by name.
        framing: a short head that frames the same body and leaves the connection open or closed likewise.
    """

    head: bytes
    status: int
    headers: Headers
    fields: HeaderFields
    framing: bytes


_shared: dict[bytes, StreamHead] = {}


def stream_head(data: bytes, status: int, headers: Headers, fields: HeaderFields) -> StreamHead | None:
    """Return the head of a response in chunks for reuse; None if it cannot be told from what follows it.

    Open streams whose heads are equal share one object.

    Args:
        data: the read in which the parser has found the status and the headers.
        status: the status of the response.
        headers: the headers of the response.
        fields: the same headers by name.
    """
    head = data[: data.find(_END) + len(_END)]
    is_plain = head.count(b"\n") == head.count(b"\r\n") == len(headers) + 2  # each line is one header
    if not is_plain or len(head) > LONGEST or not head.startswith(b"HTTP/1.1 %d" % status):
        return None
    if (shared := _shared.get(head)) is None:
        if len(_shared) >= MOST_SHARED:
            _shared.clear()
        kept = [b"%b: %b\r\n" % header for header in headers if header[0].lower() in _FRAMING]
        framing = b"".join((head[: head.find(b"\r\n") + 2], *kept, b"\r\n"))
        shared = _shared[head] = StreamHead(head, status, headers, fields, framing)
    return shared
