"""Requests out of bytes: llhttp parses, what it has no rule for is checked here. No input, no output.

Source: RFC 9112, sections 2 to 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

import httptools

from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.repeated_headers import RepeatedHeaders, repeated_headers
from streamweir_gateway.connection.request_line import is_whole_line, origin_form, parsable
from streamweir_gateway.connection.request_state import TRANSITIONS, RequestEvent, RequestState
from streamweir_gateway.connection.request_validation import is_acceptable

__all__ = ["RequestHead", "RequestParser", "RequestReceiver", "RequestRefused"]

CHUNK_BYTES: Final = 20
"""What a chunk may have around its data: at most 16 digits and two line ends. All else is an extension."""

SMALLEST_PIECE: Final = 256
"""A body is not parsed in smaller pieces, however little of its headers' limit is left: each costs a call."""


class RequestHead(NamedTuple):
    """The request line and the headers."""

    method: str
    target: bytes
    version: str
    """Of HTTP: `1.0` or `1.1`."""
    headers: list[tuple[bytes, bytes]]
    """With names in small letters."""
    keep_alive: bool
    """Another request may follow."""
    repeated: RepeatedHeaders | None = None
    """The same headers, where the client may send them again."""

    @property
    def fields(self) -> Mapping[bytes, bytes]:
        """The headers by name, of several with one name the last."""
        return dict(self.headers) if self.repeated is None else self.repeated.fields

    @property
    def expects_continue(self) -> bool:
        """The client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1)."""
        return self.version != "1.0" and self.fields.get(b"expect", b"").lower() == b"100-continue"


class RequestRefused(Exception):
    """The request cannot be served.

    Attributes:
        code: one of `REFUSALS`.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class RequestReceiver(Protocol):
    """Who takes the requests of a connection."""

    def takes_another(self) -> bool:
        """May a further request begin?"""

    def on_request(self, head: RequestHead) -> None:
        """A request has begun."""

    def on_body(self, piece: bytes) -> None:
        """A piece of its body has come."""

    def on_request_end(self) -> None:
        """It is whole."""


class RequestParser:
    """Reads the requests of one connection, one behind the other.

    Attributes:
        state: how far the request has come.
        body_bytes: how much of its body has come.
    """

    __slots__ = (
        "_begun",
        "_first",
        "_headers",
        "_limits",
        "_method",
        "_overhead",
        "_parser",
        "_receiver",
        "_repeated",
        "_target",
        "body_bytes",
        "state",
    )

    def __init__(self, receiver: RequestReceiver, limits: RequestLimits) -> None:
        self.state = RequestState.IDLE
        self.body_bytes = 0
        self._receiver = receiver
        self._limits = limits
        self._overhead = 0  # what came and is no body
        self._begun: bytes | None = None  # of a request line that has not come whole
        self._method: bytes | None = None  # which the parser does not know
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._first = b""  # read of a request
        self._repeated: RepeatedHeaders | None = None
        self._parser = self._new_parser()

    def feed(self, data: bytes) -> None:
        """Take what came, piece by piece, so that no piece can go far beyond the limits.

        Raises:
            RequestRefused: it is no HTTP, or too much of it.
        """
        if self.state is RequestState.IDLE:
            if self._takes_repeated(data):
                return
            self.state = TRANSITIONS[self.state][RequestEvent.BEGIN]
            self._begun = b""
            self._first = data
        rest: bytes | memoryview = data if self._begun is None else self._beginning(self._begun + data)
        while rest and self.state is not RequestState.STOPPED:
            size = self._next_size()
            if len(rest) <= size:
                self._parse(rest)
                return
            rest = memoryview(rest)  # whose slices are no copies
            self._parse(rest[:size])
            rest = rest[size:]

    def _takes_repeated(self, data: bytes) -> bool:
        """Take a request that has the headers of one before it; False: it has to be parsed."""
        repeated = self._repeated
        if repeated is None or len(data) > self._limits.header_bytes or not self._receiver.takes_another():
            return False
        line = repeated.request_line(data)
        if line is None:
            return False
        self.state = RequestState.BODY  # which it has none of
        self.body_bytes = 0
        headers = [*repeated.headers]
        self._receiver.on_request(
            RequestHead(line.method, line.target, "1.1", headers, repeated.keep_alive, repeated)
        )
        self.on_message_complete()
        return True

    def answered(self) -> None:
        """All requests that came whole have been answered."""
        self.state = TRANSITIONS[self.state][RequestEvent.ANSWERED]

    def stop(self) -> None:
        """Take nothing any longer."""
        self.state = TRANSITIONS[self.state][RequestEvent.STOP]

    def close(self) -> None:
        """Let go of who took the requests, and of the parser, which would keep this object."""
        self.stop()
        del self._parser, self._receiver

    def _beginning(self, data: bytes) -> bytes:
        """Return what the parser takes of the beginning of a request: nothing before its line is whole."""
        if not is_whole_line(data) and len(data) <= self._limits.header_bytes:
            self._begun = data
            return b""
        self._begun = None
        data, self._method = parsable(data)
        return data

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # Else nothing might follow a request with `Connection: close`; here it is left unread.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _next_size(self) -> int:
        size = self._limits.header_bytes - self._overhead
        if self.state is RequestState.BODY:
            return max(size, SMALLEST_PIECE)
        if size <= 0:
            raise RequestRefused("REQUEST_TOO_LARGE")
        return size

    def _parse(self, piece: bytes | memoryview) -> None:
        self._overhead += len(piece)  # less what turns out to be body
        upgrade_at = self._run(piece)
        if upgrade_at is not None:
            self._decline(bytes(piece[upgrade_at:]))
            return
        self._overhead = max(0, self._overhead)
        if self._overhead > self._limits.header_bytes:
            raise RequestRefused("REQUEST_TOO_LARGE")

    def _run(self, piece: bytes | memoryview) -> int | None:
        """Run the parser; return where in `piece` the other protocol would begin that the client offers."""
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as offered:
            return int(offered.args[0])
        except httptools.HttpParserError as error:
            match error.__context__:  # what a callback raised, which can stop the parser in no other way
                case _NothingMore():
                    self.stop()
                case None | RequestRefused():
                    raise RequestRefused("BAD_REQUEST") from None
                case _:  # a fault of ours
                    raise
        return None

    def _decline(self, rest: bytes) -> None:
        """Read a request that offers to go over to another protocol as if it did not.

        The parser takes what follows its headers for that protocol, and would lose the body.
        """
        lines = [b"%s: %s\r\n" % header for header in self._headers if header[0] != b"upgrade"]
        version = self._parser.get_http_version().encode("ascii")
        request_line = b"%s %s HTTP/%s\r\n" % (self._parser.get_method(), self._target, version)
        self._parser = self._new_parser()
        self._overhead = 0
        self._parse(b"".join((request_line, *lines, b"\r\n", rest)))

    # --- what the parser calls ----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Another request begins, if it may."""
        if not self._receiver.takes_another():
            raise _NothingMore
        if self.state in (RequestState.WHOLE, RequestState.IDLE):
            self.state = TRANSITIONS[self.state][RequestEvent.BEGIN]
        self._target = b""
        self._headers = []

    def on_url(self, piece: bytes) -> None:
        """Take a piece of the request target."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """Begin the request, unless it has to be read once more."""
        parser = self._parser
        first, self._first = self._first, b""
        method, version = self._method or parser.get_method(), parser.get_http_version()
        host = self._take_origin_form()
        if not is_acceptable(method, self._target, version, self._headers):
            raise RequestRefused("BAD_REQUEST")
        if host is not None:
            self._headers = [(b"host", host), *(header for header in self._headers if header[0] != b"host")]
        if parser.should_upgrade():
            return
        self.state = TRANSITIONS[self.state][RequestEvent.HEAD_END]
        self.body_bytes = 0
        keeps = version != "1.0" and parser.should_keep_alive()
        repeated = repeated_headers(first, self._headers, keep_alive=keeps)
        head = RequestHead(method.decode("ascii"), self._target, version, self._headers, keeps, repeated)
        self._method = None
        self._repeated = repeated or self._repeated
        self._headers = []  # what comes behind the body is no header, whatever it is called
        self._receiver.on_request(head)

    def _take_origin_form(self) -> bytes | None:
        """Take an absolute target for the path in it; return the host that it names."""
        if self._target.startswith(b"/") or (found := origin_form(self._target)) is None:
            return None
        host, self._target = found
        return host

    def on_chunk_header(self) -> None:
        """What is around a chunk belongs to the body."""
        self._overhead -= CHUNK_BYTES

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self.body_bytes += len(piece)
        self._overhead -= len(piece)
        self._receiver.on_body(piece)
        if self.state is RequestState.STOPPED:
            raise _NothingMore

    def on_message_complete(self) -> None:
        """The next byte belongs to another request."""
        if self.state is RequestState.BODY:  # and not read once more
            self.state = TRANSITIONS[self.state][RequestEvent.BODY_END]
            self._overhead = 0
            self._receiver.on_request_end()


class _NothingMore(Exception):
    """What follows is not taken."""
