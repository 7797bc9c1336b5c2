"""Parses requests with llhttp, and checks rules that llhttp does not check. It does no I/O.

Source: RFC 9112, sections 2 to 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import httptools
from msgspec import Struct

from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.repeated_headers import RepeatedHeaders, repeated_headers
from streamweir_gateway.connection.repeated_lengths import RepeatedLengths
from streamweir_gateway.connection.request_line import is_whole_line, origin_form, parsable
from streamweir_gateway.connection.request_state import TRANSITIONS, RequestState
from streamweir_gateway.connection.request_validation import is_acceptable
from streamweir_gateway.remembered_headers import HeaderMemory, memo_of

__all__ = ["RequestHead", "RequestParser", "RequestReceiver", "RequestRefused"]

CHUNK_BYTES: Final = 20
"""The bytes around the data of a chunk: at most 16 digits and two line ends. More bytes are an extension."""

SMALLEST_PIECE: Final = 256
"""The least size of the pieces in which a body is parsed, because each piece costs a call."""

_COMMON_NAMES: Final[Mapping[bytes, bytes]] = {
    spelled: name
    for name in (
        *(b"accept", b"accept-encoding", b"accept-language", b"authorization", b"connection"),
        *(b"content-length", b"content-type", b"host", b"origin", b"referer", b"user-agent"),
        *(b"x-forwarded-for", b"x-request-id", b"traceparent"),
    )
    for spelled in (name, name.title())
}
"""Common names of headers in lower case, by their usual spellings: all requests share these objects."""


class RequestHead(Struct, frozen=True):
    """The request line and the headers of a request."""

    method: str
    target: bytes
    version: str
    """The HTTP version: `1.0` or `1.1`."""
    headers: list[tuple[bytes, bytes]]
    """The headers, names in lower case."""
    keep_alive: bool
    """Whether another request may follow."""
    is_handshake: bool = False
    """Whether this GET offers a WebSocket (`Upgrade: websocket`, HTTP/1.1). No request may follow."""
    repeated: RepeatedHeaders | None = None
    """These headers for reuse, if the client may repeat them; else None."""
    expects_continue: bool = False
    """Whether the client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1)."""

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """The headers by name; of several headers with one name, the last."""
        return dict(self.headers) if self.repeated is None else self.repeated.fields

    @property
    def is_unusual(self) -> bool:
        """Whether the client waits for an interim response, or offers a WebSocket."""
        return self.is_handshake or self.expects_continue


class RequestRefused(Exception):
    """The request cannot be served.

    Attributes:
        code: one of `REFUSALS`.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class RequestReceiver(Protocol):
    """Receives the requests of a connection from the parser."""

    def takes_another(self) -> bool:
        """Return whether another request may begin."""

    def on_request(self, head: RequestHead) -> None:
        """Note that a request has begun."""

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the request's body."""

    def on_request_end(self) -> None:
        """Note that the request is complete."""

    def on_whole_request(self, head: RequestHead, body: bytes) -> None:
        """Note a request that has arrived whole, and to which no other one is before."""

    def on_early_bytes(self, data: bytes) -> None:
        """Take bytes that followed a handshake; they belong to the WebSocket."""


class RequestParser:
    """Parses the requests of one connection.

    The states of a request are those of `request_state`. Other attributes that change:

    attribute         set by                                          cleared by
    ───────────────   ─────────────────────────────────────────────   ──────────────────────────────────────
    `_begun`          the first bytes of a request (HEAD)             the end of its request line
    `_method`         a request line whose method llhttp lacks        the end of the headers
    `_first`          the first read of a request                     the end of the headers
    `_repeated`       headers that the client may send again          never; later ones replace it
    `has_handshake`   a handshake                                     never: later bytes are not parsed

    Attributes:
        state: the state of the request; see `request_state`.
        body_bytes: the number of bytes of the body that have arrived; 0 when all have.
        has_handshake: whether a handshake has arrived; the bytes after it are not parsed.
    """

    __slots__ = (
        "_begun",
        "_first",
        "_headers",
        "_limits",
        "_memory",
        "_method",
        "_overhead",
        "_parser",
        "_receiver",
        "_repeated",
        "_target",
        "body_bytes",
        "has_handshake",
        "state",
    )

    def __init__(self, receiver: RequestReceiver, limits: RequestLimits) -> None:
        self.state: RequestState = "idle"
        self.body_bytes = 0
        self.has_handshake = False
        self._receiver = receiver
        self._limits = limits
        self._overhead = 0  # bytes other than the body
        self._begun: bytes | None = None  # an incomplete request line
        self._method: bytes | None = None  # a method that llhttp does not know
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._first = b""  # bytes read of a request
        self._repeated: RepeatedHeaders | RepeatedLengths | None = None
        self._memory = HeaderMemory()
        self._parser: httptools.HttpRequestParser | None = None  # while a request is being parsed

    def feed(self, data: bytes) -> None:
        """Parse a read, in pieces, so that no piece exceeds the limits by much.

        Raises:
            RequestRefused: the bytes are not HTTP, or exceed a limit.
        """
        if self.has_handshake:
            self._receiver.on_early_bytes(data)
            return
        if self.state == "idle":
            if self._takes_repeated(data):
                return
            self.state = TRANSITIONS[self.state]["begin"]
            self._begun = b""
            self._first = data
        self._parse_pieces(data if self._begun is None else self._beginning(self._begun + data))

    def _parse_pieces(self, data: bytes) -> None:
        rest: bytes | memoryview = data
        while rest and self.state != "stopped":
            if self.has_handshake:
                self._receiver.on_early_bytes(bytes(rest))
                return
            size = self._next_size()
            if len(rest) <= size:
                self._parse(rest)
                return
            rest = memoryview(rest)  # its slices are not copies
            self._parse(rest[:size])
            rest = rest[size:]

    def _takes_repeated(self, data: bytes) -> bool:
        """Take a request with the headers of an earlier one; return False if `data` has to be parsed."""
        repeated = self._repeated
        if repeated is None or len(data) > self._limits.header_bytes:
            return False
        if (found := repeated.request(data)) is None:
            return False
        method, target, headers, body = found
        same = repeated if isinstance(repeated, RepeatedHeaders) else None
        self.state = "whole"
        head = RequestHead(method, target, "1.1", headers, repeated.keep_alive, repeated=same)
        self._receiver.on_whole_request(head, body)
        return True

    def answered(self) -> None:
        """Note that all complete requests have been answered."""
        self.state = TRANSITIONS[self.state]["answered"]

    def stop(self) -> None:
        """Stop parsing: all later bytes are ignored."""
        self.state = TRANSITIONS[self.state]["stop"]

    def close(self) -> None:
        """Drop the references to the receiver and to llhttp's parser, which form a cycle with this object."""
        self.stop()
        self._parser = None
        del self._receiver

    def _beginning(self, data: bytes) -> bytes:
        """Return the beginning of a request as llhttp gets it; empty until the request line is complete."""
        if not is_whole_line(data) and len(data) <= self._limits.header_bytes:
            self._begun = data
            return b""
        self._begun = None
        data, self._method = parsable(data)
        return data

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # llhttp would refuse bytes behind a request with `Connection: close`; they are left unread here.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _next_size(self) -> int:
        size = self._limits.header_bytes - self._overhead
        if self.state == "body":
            return max(size, SMALLEST_PIECE)
        if size <= 0:
            raise RequestRefused("REQUEST_TOO_LARGE")
        return size

    def _parse(self, piece: bytes | memoryview) -> None:
        self._overhead += len(piece)  # bytes of the body are subtracted later
        upgrade_at = self._run(piece)
        if upgrade_at is not None:
            rest = bytes(piece[upgrade_at:])
            if self._is_handshake():
                self._take_handshake(rest)
            else:
                self._decline(rest)
            return
        self._overhead = max(0, self._overhead)
        if self._overhead > self._limits.header_bytes:
            raise RequestRefused("REQUEST_TOO_LARGE")

    def _run(self, piece: bytes | memoryview) -> int | None:
        """Run llhttp on a piece; return the position in `piece` at which an offered upgrade would begin."""
        parser = self._parser = self._parser or self._new_parser()
        try:
            parser.feed_data(piece)
        except httptools.HttpParserUpgrade as offered:
            return int(offered.args[0])
        except httptools.HttpParserError as error:
            match error.__context__:  # a callback raised, which is its only way to stop llhttp
                case _NothingMore():
                    self.stop()
                case None | RequestRefused():
                    raise RequestRefused("BAD_REQUEST") from None
                case _:  # a fault of the gateway
                    raise
        if self.state not in ("head", "body"):
            self._parser = None  # it would take memory as long as the stream of the answer
        return None

    def _is_handshake(self) -> bool:
        parser = self._parser
        assert parser is not None
        offered = [value.lower() for name, value in self._headers if name == b"upgrade"]
        is_get = self._method is None and parser.get_method() == b"GET"
        return is_get and parser.get_http_version() == "1.1" and offered == [b"websocket"]

    def _take_handshake(self, rest: bytes) -> None:
        """Begin and end a request that is a handshake; `rest` and all later bytes are not parsed."""
        self.has_handshake = True
        self.state = TRANSITIONS[self.state]["head_end"]
        self.body_bytes = 0
        self._receiver.on_request(
            RequestHead("GET", self._target, "1.1", self._headers, keep_alive=False, is_handshake=True)
        )
        self._headers = []
        self.on_message_complete()
        if rest:
            self._receiver.on_early_bytes(rest)

    def _decline(self, rest: bytes) -> None:
        """Parse a request with an upgrade as an ordinary request.

        llhttp would take the bytes after the headers for the other protocol, and lose the body.
        """
        parser = self._parser
        assert parser is not None
        lines = [b"%s: %s\r\n" % header for header in self._headers if header[0] != b"upgrade"]
        version = parser.get_http_version().encode("ascii")
        request_line = b"%s %s HTTP/%s\r\n" % (parser.get_method(), self._target, version)
        self._parser = None
        self._overhead = 0
        self._parse(b"".join((request_line, *lines, b"\r\n", rest)))

    # --- what the parser calls ----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin another request, if another one is allowed."""
        if not self._receiver.takes_another():
            raise _NothingMore
        if self.state in ("whole", "idle"):
            self.state = TRANSITIONS[self.state]["begin"]
        self._target = b""
        self._headers = []

    def on_url(self, piece: bytes) -> None:
        """Take a piece of the request target."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._headers.append((_COMMON_NAMES.get(name) or name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """Report the request to the receiver, unless it has to be parsed again."""
        parser = self._parser
        assert parser is not None
        first, self._first = self._first, b""
        method, version = self._method or parser.get_method(), parser.get_http_version()
        host = self._take_origin_form()
        if not is_acceptable(method, self._target, version, self._headers):
            raise RequestRefused("BAD_REQUEST")
        if host is not None:
            self._headers = [(b"host", host), *(header for header in self._headers if header[0] != b"host")]
        if parser.should_upgrade():
            return
        self.state = TRANSITIONS[self.state]["head_end"]
        self.body_bytes = 0
        keeps = version != "1.0" and parser.should_keep_alive()
        repeated = repeated_headers(first, self._headers, keep_alive=keeps)
        headers = self._memory.recalled(self._headers) if repeated is None else self._headers
        expects = repeated is None and version != "1.0" and _expects_continue(headers)
        head = RequestHead(
            method.decode("ascii"),
            self._target,
            version,
            headers,
            keeps,
            repeated=repeated,
            expects_continue=expects,
        )
        self._method = None
        may_repeat = repeated is None and memo_of(headers) is not None
        lengths = RepeatedLengths.of(first, headers, keep_alive=keeps) if may_repeat else None
        self._repeated = repeated or lengths or self._repeated
        self._headers = []  # trailers are not headers
        self._receiver.on_request(head)

    def _take_origin_form(self) -> bytes | None:
        """Replace an absolute target by its path; return the host of that target."""
        if self._target.startswith(b"/") or (found := origin_form(self._target)) is None:
            return None
        host, self._target = found
        return host

    def on_chunk_header(self) -> None:
        """Count the bytes around a chunk."""
        self._overhead -= CHUNK_BYTES

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self.body_bytes += len(piece)
        self._overhead -= len(piece)
        self._receiver.on_body(piece)
        if self.state == "stopped":
            raise _NothingMore

    def on_message_complete(self) -> None:
        """End the request: the next byte belongs to another request."""
        if self.state == "body":  # and it is not parsed again
            self.state = TRANSITIONS[self.state]["body_end"]
            self._overhead = self.body_bytes = 0
            self._receiver.on_request_end()


def _expects_continue(headers: list[tuple[bytes, bytes]]) -> bool:
    expected = [value for name, value in headers if name == b"expect"]
    return bool(expected) and expected[-1].lower() == b"100-continue"


class _NothingMore(Exception):
    """Raised within llhttp to stop it before the bytes that follow."""
