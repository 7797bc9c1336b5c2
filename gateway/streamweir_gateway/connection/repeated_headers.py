"""The headers that a client sends again with its next request, to the byte: read once.

Clients that keep a connection send the same headers behind one request line after the other. What was read of
them, and what was made of them, holds for all these requests. Nothing of it outlives the connection.

Source: RFC 9112, sections 2.1 and 3 (a request line and its headers have nothing to do with each other, but
for a method that makes a tunnel and a target that names a host; neither is taken here).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["RepeatedHeaders", "RequestLine", "repeated_headers"]

LONGEST: Final = 4096
"""Bytes of a request whose headers are remembered."""

_LINE: Final = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE|OPTIONS|HEAD) (/[0-9A-Za-z\-._~/?%:@!$&'()*+,;=]*+) HTTP/1\.1"
)
"""With nothing in it that a parser could take in two ways."""

_MORE: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade"})
"""What follows such headers is no other request, or may be none."""


class RequestLine(NamedTuple):
    """Of a request in HTTP/1.1, its target in origin form."""

    method: str
    target: bytes


class RepeatedHeaders:
    """The headers of a request without a body.

    Attributes:
        headers: with names in small letters.
        fields: the same by name, of several with one name the last.
        keep_alive: another request may follow.
        forwarded: what goes on in their place, and who has written it.

    Args:
        block: all that stands behind the request line, its line end included.
    """

    __slots__ = ("_block", "fields", "forwarded", "headers", "keep_alive")

    def __init__(self, block: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
        self.headers = headers
        self.fields = dict(headers)
        self.keep_alive = keep_alive
        self.forwarded: tuple[object, bytes] | None = None
        self._block = block

    def request_line(self, data: bytes) -> RequestLine | None:
        """Return the request line, where `data` is a whole request with these headers."""
        if not data.endswith(self._block):
            return None
        found = _LINE.fullmatch(data, 0, len(data) - len(self._block))
        return None if found is None else RequestLine(found[1].decode("ascii"), found[2])


def repeated_headers(
    data: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool
) -> RepeatedHeaders | None:
    """Return the headers of a request, so that they are known again; None where it is more than these.

    Args:
        data: the read that the request has begun with.
        headers: which the parser has found in it.
        keep_alive: another request may follow.
    """
    line_end, end = data.find(b"\r\n"), data.find(b"\r\n\r\n")
    if len(data) > LONGEST or not 0 < line_end <= end == len(data) - 4:
        return None
    if _LINE.fullmatch(data, 0, line_end) is None or any(name in _MORE for name, _ in headers):
        return None
    return RepeatedHeaders(data[line_end:], headers, keep_alive=keep_alive)
