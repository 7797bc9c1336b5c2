"""Encodes a response as HTTP/1.1 bytes. It does no I/O.

Source: RFC 9112, sections 4, 6 and 7; RFC 9110, section 5 (the characters of a header); ASGI, HTTP 2.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from itertools import chain
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from streamweir_gateway.connection.stream_headers import StreamHeaders

__all__ = ["BodyFraming", "ResponseEncoder", "ResponseState", "are_header_lines", "status_line"]


ResponseState: TypeAlias = Literal["expected", "started", "complete"]
"""The part of the response that has to be sent next.

    expected   the headers
    started    a piece of the body
    complete   nothing: the response has been sent
"""

BodyFraming: TypeAlias = Literal["chunked", "length", "until_close", "empty"]
"""The way in which the end of the body is marked.

    chunked       by an empty chunk
    length        by the length in the `Content-Length` header
    until_close   by the end of the connection, because HTTP/1.0 has no chunks
    empty         the response has no body: HEAD, 204, 304
"""

_STATUS_LINES: Final = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode("ascii")) for status in HTTPStatus
}
_HEADER_LINES: Final = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++: [\t\x20-\x7e\x80-\xff]*+\r\n)*+")
_LAST_CHUNK: Final = b"0\r\n\r\n"


def status_line(status: int) -> bytes:
    """Return the first line of a response."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


class ResponseEncoder(Struct, eq=False):
    """Writes one response.

    Attributes:
        method: the method of the request.
        version: the HTTP version of the request.
        state: the part of the response that has to be sent next.
        framing: how the end of the body is marked; set by `start`.
        keep_alive: whether the connection may be used again; set by `start`.
    """

    method: str
    version: str
    state: ResponseState = "expected"
    framing: BodyFraming = "empty"
    keep_alive: bool = False
    _left: int = 0
    """The bytes left of `Content-Length`."""

    def start(
        self, status: int, headers: Iterable[tuple[bytes, bytes]], *, date: bytes, keep_alive: bool
    ) -> bytes:
        """Return the head of the response.

        Args:
            date: the `Date` line, used unless `headers` have one.
            keep_alive: False closes the connection after the response; `headers` may also demand a close.

        Raises:
            RuntimeError: the head was sent already, or a header is invalid.
        """
        if self.state != "expected":
            raise RuntimeError("the response has started")
        if type(headers) is StreamHeaders:  # none of them concerns the message or the connection
            first = _STATUS_LINES.get(status) or status_line(status)
            lines, length, closes = [first, date, headers.lines], None, False
        else:
            pairs = [*headers]
            fields = dict(pairs)
            if not b"".join(fields).islower():  # few applications spell names otherwise
                pairs = [(name.lower(), value) for name, value in pairs]
                fields = dict(pairs)
            if b"transfer-encoding" in fields:  # these headers are set here
                pairs = [pair for pair in pairs if pair[0] != b"transfer-encoding"]
            closes = b"connection" in fields and b"close" in _tokens(fields[b"connection"])
            lines = [status_line(status), b"" if b"date" in fields else date, _header_lines(pairs)]
            length = fields.get(b"content-length")
        self._settle_framing(status, length)
        self.state = "started"
        self.keep_alive = keep_alive and not closes
        if not keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        if self.framing == "chunked":
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    def interim(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return an interim response; empty for HTTP/1.0, which does not have them (RFC 9110, section 15.2).

        Raises:
            RuntimeError: a header is invalid.
        """
        if self.state != "expected" or self.version == "1.0":
            return b""
        return b"".join((status_line(status), _header_lines(list(headers)), b"\r\n"))

    def body(self, data: bytes, *, more: bool) -> bytes:
        """Return the bytes on the connection for a piece of the body.

        Raises:
            RuntimeError: no body is allowed here, or the body does not match `Content-Length`.
        """
        if self.state != "started":
            raise RuntimeError("the response has not started, or it is complete")
        if self.framing == "length":
            self._count(len(data), more=more)
        if not more:
            self.state = "complete"
        if self.framing == "chunked":
            return chunk(data) if more else chunk(data) + _LAST_CHUNK
        return b"" if self.framing == "empty" else data

    def _settle_framing(self, status: int, length: bytes | None) -> None:
        if self.method == "HEAD" or status in (204, 304):
            self.framing = "empty"
        elif length is not None:
            self.framing, self._left = "length", int(length)
        else:
            self.framing = "until_close" if self.version == "1.0" else "chunked"

    def _count(self, size: int, *, more: bool) -> None:
        self._left -= size
        if self._left < 0:
            raise RuntimeError("the body is longer than Content-Length")
        if self._left and not more:
            raise RuntimeError("the body is shorter than Content-Length")


def chunk(data: bytes) -> bytes:
    """Return a piece of a body as a chunk. An empty piece gives no bytes: an empty chunk ends the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def are_header_lines(block: bytes, count: int) -> bool:
    """Return whether `block` consists of exactly `count` headers, each with its line end."""
    return block.count(b"\r\n") == count and _HEADER_LINES.fullmatch(block) is not None


def _header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    block = b"%b: %b\r\n" * len(headers) % (*chain.from_iterable(headers),)
    if not are_header_lines(block, len(headers)):
        raise RuntimeError("a response header cannot be written: its name or its value is none")
    return block


def _tokens(value: bytes) -> list[bytes]:
    """Return the comma-separated parts of a header's value, in lower case."""
    return [token.strip().lower() for token in value.split(b",")]
