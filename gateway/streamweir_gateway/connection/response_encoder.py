"""Encodes a response as HTTP/1.1 bytes. It does no I/O.

Source: RFC 9112, sections 4, 6 and 7; RFC 9110, section 5 (what a header may hold); ASGI, HTTP 2.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from http import HTTPStatus
from typing import Final

__all__ = ["BodyFraming", "ResponseEncoder", "ResponseState", "are_header_lines", "status_line"]


class ResponseState(Enum):
    """The part of the response that is to be sent next."""

    EXPECTED = auto()
    """The headers."""
    STARTED = auto()
    """A piece of the body."""
    COMPLETE = auto()
    """Nothing."""


class BodyFraming(Enum):
    """How the end of the body is marked."""

    CHUNKED = auto()
    LENGTH = auto()
    """`Content-Length`."""
    UNTIL_CLOSE = auto()
    """By the end of the connection, since HTTP/1.0 has no chunks."""
    NONE = auto()
    """There is no body: HEAD, 204, 304."""


_STATUS_LINES: Final = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode("ascii")) for status in HTTPStatus
}
_HEADER_LINES: Final = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++: [\t\x20-\x7e\x80-\xff]*+\r\n)*+")
_LAST_CHUNK: Final = b"0\r\n\r\n"


def status_line(status: int) -> bytes:
    """Return the first line of a response."""
    return _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


class ResponseEncoder:
    """Writes one response.

    Attributes:
        state: the next part of the response.
        framing: how the end of the body is marked; set by `start`.
        keep_alive: the connection may be used again; set by `start`.

    Args:
        method: the method of the request.
        version: the HTTP version of the request.
    """

    __slots__ = ("_is_head", "_is_modern", "_left", "framing", "keep_alive", "state")

    def __init__(self, method: str, version: str) -> None:
        self.state = ResponseState.EXPECTED
        self.framing = BodyFraming.NONE
        self.keep_alive = True
        self._is_head = method == "HEAD"
        self._is_modern = version != "1.0"
        self._left = 0  # bytes left of `Content-Length`

    def start(
        self,
        status: int,
        headers: Iterable[tuple[bytes, bytes]],
        *,
        date: bytes,
        keep_alive: bool,
    ) -> bytes:
        """Return the head of the response.

        Args:
            date: the `Date` line, used unless `headers` have one.
            keep_alive: if False, the connection is closed afterwards; `headers` may also demand that.

        Raises:
            RuntimeError: the head was sent already, or a header is invalid.
        """
        if self.state is not ResponseState.EXPECTED:
            raise RuntimeError("the response has started")
        pairs = [(name.lower(), value) for name, value in headers]
        fields = dict(pairs)
        if b"transfer-encoding" in fields:  # these headers are set here
            pairs = [pair for pair in pairs if pair[0] != b"transfer-encoding"]
        closes = b"close" in _tokens(fields.get(b"connection", b""))
        lines = [status_line(status), b"" if b"date" in fields else date, _header_lines(pairs)]
        self._settle_framing(status, fields.get(b"content-length"))
        self.state = ResponseState.STARTED
        self.keep_alive = keep_alive and not closes
        if not keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        if self.framing is BodyFraming.CHUNKED:
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        return b"".join(lines)

    def interim(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return an interim response; empty for HTTP/1.0, which has none. Source: RFC 9110, section 15.2.

        Raises:
            RuntimeError: a header is invalid.
        """
        if self.state is not ResponseState.EXPECTED or not self._is_modern:
            return b""
        return b"".join((status_line(status), _header_lines(list(headers)), b"\r\n"))

    def body(self, data: bytes, *, more: bool) -> bytes:
        """Return the bytes on the connection for a piece of the body.

        Raises:
            RuntimeError: no body is allowed here, or it does not match `Content-Length`.
        """
        if self.state is not ResponseState.STARTED:
            raise RuntimeError("the response has not started, or it is complete")
        if self.framing is BodyFraming.LENGTH:
            self._count(len(data), more=more)
        if not more:
            self.state = ResponseState.COMPLETE
        if self.framing is BodyFraming.CHUNKED:
            return chunk(data) if more else chunk(data) + _LAST_CHUNK
        return b"" if self.framing is BodyFraming.NONE else data

    def _settle_framing(self, status: int, length: bytes | None) -> None:
        if self._is_head or status in (204, 304):
            self.framing = BodyFraming.NONE
        elif length is not None:
            self.framing, self._left = BodyFraming.LENGTH, int(length)
        else:
            self.framing = BodyFraming.CHUNKED if self._is_modern else BodyFraming.UNTIL_CLOSE

    def _count(self, size: int, *, more: bool) -> None:
        self._left -= size
        if self._left < 0:
            raise RuntimeError("the body is longer than Content-Length")
        if self._left and not more:
            raise RuntimeError("the body is shorter than Content-Length")


def chunk(data: bytes) -> bytes:
    """Return a piece of a body as a chunk; empty for an empty piece, since an empty chunk ends the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def are_header_lines(block: bytes, count: int) -> bool:
    """Whether a text is so many headers, each with its line end, and nothing else."""
    return block.count(b"\r\n") == count and _HEADER_LINES.fullmatch(block) is not None


def _header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    lines: list[bytes] = []
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    block = b"".join(lines)
    if not are_header_lines(block, len(headers)):
        raise RuntimeError("a response header cannot be written: its name or its value is none")
    return block


def _tokens(value: bytes) -> list[bytes]:
    """Return the comma-separated parts of a header's value, in lower case."""
    return [token.strip().lower() for token in value.split(b",")]
