"""Reuses the parsed headers of a request, if the client repeats the headers byte for byte in later requests.

Clients that keep a connection send the same headers with every request. The parsed headers, and the headers
to forward, are reused for these requests. They are dropped with the connection.

Source: RFC 9112, sections 2.1 and 3 (headers are independent of the request line, except for a method that
opens a tunnel and a target that names a host; such requests are not reused).
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

__all__ = ["LONGEST", "PLAIN_LINE", "RepeatedHeaders", "RepeatedRequest", "repeated_headers"]

LONGEST: Final = 4096
"""The most bytes of a request whose headers are kept for reuse."""

PLAIN_LINE: Final = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE|OPTIONS|HEAD) (/[0-9A-Za-z\-._~/?%:@!$&'()*+,;=]*+) HTTP/1\.1"
)
"""A request line that every parser reads in one and the same way."""

_MORE: Final = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade"})
"""Headers of requests that are not simple enough for reuse: with a body or an upgrade."""


RepeatedRequest: TypeAlias = tuple[str, bytes, list[tuple[bytes, bytes]], bytes]
"""A whole HTTP/1.1 request, read without the parser because its headers are known.

Its method, its target in origin form, its headers as a new list, and its body.
"""


class RepeatedHeaders:
    """The headers of a request without a body.

    Attributes:
        headers: the headers, names in lower case.
        fields: the headers by name; of several headers with one name, the last.
        keep_alive: whether another request may follow.
        forwarded: the forwarded headers, and the object that made them.

    Args:
        block: all bytes after the request line, including its line end.
    """

    __slots__ = ("_block", "fields", "forwarded", "headers", "keep_alive")

    def __init__(self, block: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool) -> None:
        self.headers = headers
        self.fields = dict(headers)
        self.keep_alive = keep_alive
        self.forwarded: tuple[object, bytes] | None = None
        self._block = block

    def request(self, data: bytes) -> RepeatedRequest | None:
        """Return the request if `data` is a whole request with these headers; else None."""
        if not data.endswith(self._block):
            return None
        found = PLAIN_LINE.fullmatch(data, 0, len(data) - len(self._block))
        return None if found is None else (found[1].decode("ascii"), found[2], [*self.headers], b"")


def repeated_headers(
    data: bytes, headers: list[tuple[bytes, bytes]], *, keep_alive: bool
) -> RepeatedHeaders | None:
    """Return the headers of a request for reuse; None if they cannot be reused.

    Args:
        data: the read with the beginning of the request.
        headers: the headers that the parser found in it.
        keep_alive: whether another request may follow.
    """
    line_end, end = data.find(b"\r\n"), data.find(b"\r\n\r\n")
    if len(data) > LONGEST or not 0 < line_end <= end == len(data) - 4:
        return None
    if PLAIN_LINE.fullmatch(data, 0, line_end) is None or any(name in _MORE for name, _ in headers):
        return None
    return RepeatedHeaders(data[line_end:], headers, keep_alive=keep_alive)
