"""HTTP/1.1 on bytes: writes a request, and parses a response as it arrives. It uses neither socket nor clock.

llhttp (httptools) parses. This module adds the limit of headers, the meaning of the end of a connection, and
the conditions for another request on the same connection. Source: RFC 9112.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import httptools

from .failures import InvalidResponse, NotSent, Truncated, Unreachable, UpstreamFailure
from .header_fields import HeaderFields, codings_of, has_explicit_end, header_fields
from .repeated_head import RepeatedHead, StreamHead, repeated_head, stream_head
from .request import Headers

__all__ = [
    "HEADER_BYTES",
    "LAST_CHUNK",
    "ResponseParser",
    "announced_length",
    "chunk",
    "coding_list",
    "request_head",
]

HEADER_BYTES: Final = 80 << 10
"""The most bytes of a response's headers, interim ones included, or of chunk framing without data."""

LAST_CHUNK: Final = b"0\r\n\r\n"

_BROKEN: Final = 500
"""From this status on a server may be about to close the connection without announcing it.

uvicorn does so after its answer to an application's exception.
"""

_REFUSED: Final = 400

_LENIENT: Final = {
    "lenient_headers": True,  # bytes that are none of a header's: they are not shown to anybody
    "lenient_optional_cr_before_lf": True,  # home-made servers end lines with a bare LF
    "lenient_spaces_after_chunk_size": True,
    "lenient_keep_alive": True,  # an interim response that says so; after the last we look ourselves
}
"""Faults in headers that llhttp accepts. None of these changes where a message ends."""


_NO_FIELDS: Final = HeaderFields()


class _Enough(Exception):
    """Raised within llhttp: the response is complete, and the bytes that follow are not part of it."""


class ResponseParser:
    """Parses one response, and after `reset` another one of the same connection.

    state         entered when                                                    `status`
    ───────────   ─────────────────────────────────────────────────────────────   ────────
    headers       the object is made; interim responses (1xx) leave it here       0
    body          the last headers are whole                                      its own
    trailers      the last chunk has begun (`_is_in_trailers`)                    its own
    complete      the message ended, or needs no body, or the connection ended    its own
                  properly and nothing else frames the body
                  (`_ends_with_connection`)
    failed        `failure` is set: bytes are not HTTP, headers without an end,   any
                  or the connection broke

    The states complete and failed are final. `may_be_reused` can be True in the state complete only; any byte
    after the response clears it. A fault in the trailers completes the response, as its body is whole then.

    Attributes:
        is_head: whether the request was a HEAD, whose response has no body even if its headers announce one.
        status: 0 until the headers are complete.
        on_interim: called with the status and the headers of each interim response; None: these are skipped.
        headers: the headers in the order and spelling of the wire, without trailers.
        fields: the same headers by name; see `header_fields`.
        is_complete: whether the response ended properly.
        may_be_reused: whether the connection may carry another request.
        refuses_rest: whether the response is an error that closes the connection, so that the rest of the
            request is not sent.
        failure: the reason why the response will never be complete.
        repeated: the head of the response, if the next response may repeat it with a body of this length.
        stream_head: the head of the response, if its body is in chunks and the next response may repeat it.

    Args:
        expected: the head of an earlier response on this connection. Each response that may be repeated
            takes its place.
    """

    __slots__ = (
        "_bare_bytes",
        "_ends_with_connection",
        "_expected",
        "_is_begun",
        "_is_in_trailers",
        "_parser",
        "_pieces",
        "failure",
        "fields",
        "headers",
        "is_complete",
        "is_head",
        "may_be_reused",
        "on_body",
        "on_chunk_header",
        "on_interim",
        "refuses_rest",
        "repeated",
        "status",
        "stream_head",
    )

    on_body: Callable[[bytes], None]
    on_chunk_header: Callable[[], None]
    """Marks the beginning of a chunk. A chunk without data is the last, and trailers follow it."""

    def __init__(self, expected: RepeatedHead | StreamHead | None = None) -> None:
        self._expected = expected
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append
        self.on_chunk_header = partial(self._pieces.append, b"")
        self._parser: httptools.HttpResponseParser | None = None  # None after an end of the connection
        self.repeated: RepeatedHead | None = None
        self.stream_head: StreamHead | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the response, and begin another one."""
        self._expected = self.stream_head or self.repeated or self._expected
        self.stream_head = self.repeated = None
        self.status = 0
        self.headers: Headers = []
        self.fields = _NO_FIELDS
        self.is_complete = False
        self.may_be_reused = False
        self.failure: UpstreamFailure | None = None
        self.is_head = False
        self.refuses_rest = False
        self.on_interim: Callable[[int, Headers], None] | None = None
        self._ends_with_connection = False
        self._bare_bytes = 0  # since the beginning, or since the last byte of the body
        self._is_in_trailers = False
        self._is_begun = False

    def feed(self, data: bytes) -> bytes:
        """Parse the bytes of one read; return the bytes of the body in them.

        Bytes of the body before a fault are returned, and `failure` is set.
        """
        if self.is_complete or self.failure is not None:
            self.may_be_reused = False  # the upstream sends bytes that were not asked for
            return b""
        is_first, self._is_begun = not self._is_begun, True
        if is_first:
            if isinstance(self._expected, StreamHead):
                data = self._begin(self._expected, data)
            elif self._expected is not None and (whole := self._take(self._expected, data)) is not None:
                return whole
        if self._parser is None:
            self._parser = httptools.HttpResponseParser(self)
            self._parser.set_dangerous_leniencies(**_LENIENT)
        try:
            self._parse(self._parser, data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._stop(error)
        body = b"".join(self._pieces)
        if not self.is_complete:
            self._note_chunk()
        self._pieces.clear()
        if is_first and self.stream_head is None:
            self._remember(data, len(body))
        if body:
            self._bare_bytes = 0
        if not self.may_be_reused and self._is_over():
            self._parser = None
        return body

    def _is_over(self) -> bool:
        return self.is_complete or self.failure is not None

    def _take(self, expected: RepeatedHead, data: bytes) -> bytes | None:
        """Return the body if `data` is a whole response with the expected head; else None."""
        body = None if self.is_head else expected.body(data)
        if body is not None:
            self.status, self.headers, self.repeated = expected.status, [*expected.headers], expected
            self.fields = expected.fields
            self.is_complete = self.may_be_reused = True
        return body

    def _begin(self, expected: StreamHead, data: bytes) -> bytes:
        """Take the expected head, if `data` begins with it; return what llhttp reads to find the chunks."""
        head, status, headers, fields, framing = expected
        rest = data.removeprefix(head)
        if self.is_head or len(rest) == len(data):
            return data
        self.stream_head, self.status, self.headers, self.fields = expected, status, [*headers], fields
        return framing + rest

    def _remember(self, data: bytes, body_size: int) -> None:
        """Remember the head in the first read for the next response."""
        if self.is_head:
            return
        transfer = self.fields.get(b"transfer-encoding")
        if transfer == b"chunked" and not self.refuses_rest:
            self.stream_head = known = stream_head(data, self.status, self.headers, self.fields)
            if known is not None:
                self.headers, self.fields = [*known.headers], known.fields
        elif transfer is None and self.may_be_reused:
            self.repeated = repeated_head(data, self.status, self.headers, self.fields, body_size=body_size)

    def end(self, error: Exception | None, *, was_sent: bool = True) -> None:
        """Note that the connection has ended: closed by the upstream, or broken with `error`.

        Args:
            error: the error that broke the connection; None if the upstream closed it.
            was_sent: whether the request had been written completely.
        """
        self._parser = None  # it refers to this object
        if self._is_over():
            return
        if not was_sent and not self._bare_bytes:
            self._fail(NotSent("the connection ended before the request was written whole"), error)
        elif not self.status:
            self._fail(Unreachable("the connection ended before the headers were complete"), error)
        elif self._ends_with_connection and error is None:
            self.is_complete = True
        else:
            self._fail(Truncated("the body broke off"), error)

    def _parse(self, parser: httptools.HttpResponseParser, data: bytes) -> None:
        room = HEADER_BYTES - self._bare_bytes
        self._bare_bytes += len(data)
        if self.status:
            parser.feed_data(data)
            is_too_much = self._bare_bytes > HEADER_BYTES and not any(self._pieces)
        else:
            parser.feed_data(data[:room])
            is_too_much = len(data) > room and not self.status
            if len(data) > room and not is_too_much:
                parser.feed_data(data[room:])
        if is_too_much and not self.is_complete:
            self._fail(InvalidResponse("headers or framing without an end"), None)

    def _note_chunk(self) -> None:
        """Note whether the latest chunk has got no data yet."""
        if self._pieces:
            self._is_in_trailers = not self._pieces[-1]

    def _stop(self, error: Exception) -> None:
        self._note_chunk()
        if self._is_in_trailers:  # the body is whole: a forbidden trailer costs the connection alone
            self.is_complete = True
        if self.is_complete:
            self.may_be_reused = False
        else:
            what = "the body's framing" if self.status else "the answer"
            self._fail(InvalidResponse(f"{what} is not HTTP"), error)

    def _fail(self, failure: UpstreamFailure, cause: Exception | None) -> None:
        failure.__cause__ = cause
        self.failure = failure

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Begin a response, to a request of the gateway or without a request."""
        if self.is_complete:
            raise _Enough

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a complete header or trailer."""
        if not self.status:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Note that the headers are complete, either of an interim response or of the final one."""
        if self.status:  # the head was expected
            return
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 100:
            raise ValueError(status)
        if status < 200 and status != 101:
            headers, self.headers = self.headers, []
            if self.on_interim is not None:
                self.on_interim(status, headers)
            return
        self.status = status
        self.refuses_rest = status >= _REFUSED and not self._parser.should_keep_alive()
        self.fields = fields = header_fields(self.headers)
        self._ends_with_connection = not has_explicit_end(fields)
        if self.is_head or status == 101:
            self.is_complete = True
            raise _Enough

    def on_message_complete(self) -> None:
        """Note that the response has ended."""
        if self.status:
            assert self._parser is not None
            self.is_complete = True
            self.may_be_reused = self.status < _BROKEN and self._parser.should_keep_alive()


def chunk(data: bytes) -> bytes:
    """Return a piece of a body as a chunk. An empty piece gives no chunk, which would be the last one."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def coding_list(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    """Return the codings in the header `name` (lower case), in the order in which they were applied."""
    return codings_of(b",".join([value for key, value in headers if key.lower() == name]))


def announced_length(headers: Headers) -> int | None:
    """Return the `Content-Length` of a response that the parser has accepted; None without that header."""
    for name, value in headers:
        if len(name) == 14 and name.lower() == b"content-length":
            return int(value)
    return None


def request_head(method: str, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the request line and the headers.

    Raises:
        ValueError: a character in the request would end a line or the whole request early.
    """
    lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), target)]
    lines.extend([b"%b: %b" % header for header in headers])
    head = b"\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count(b"\r") != breaks or head.count(b"\n") != breaks or b"\0" in head:
        raise ValueError("a line break or NUL in a request's headers")
    if len(lines[0].split()) != 3:
        raise ValueError("white space in a request's method or target")
    return head + b"\r\n\r\n"
