"""A request to an upstream, and its origin."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from .websocket.request import WebSocketExchange

__all__ = [
    "WITHOUT_BODY",
    "HandshakeOffer",
    "Headers",
    "OnInterim",
    "Origin",
    "RequestStream",
    "UpstreamRequest",
    "WrittenHead",
    "authorization_in",
    "headers_to_send",
]

Headers: TypeAlias = list[tuple[bytes, bytes]]
"""Headers in the order and the spelling of the wire."""

OnInterim: TypeAlias = Callable[[int, Headers], None]
"""Gets the status and the headers of an interim response."""

_OF_WEBSOCKETS: Final = {"ws": "http", "wss": "https"}
_PORTS: Final = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """The origin of a URL, to which connections go. Source: RFC 6454."""

    scheme: str
    """`http` or `https`; for a WebSocket too."""
    host: str
    """The host in lower case, in ASCII, without brackets."""
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """Return the origin of an http, https, ws or wss URL, without its credentials and path.

        Raises:
            ValueError: the URL has no host, or an impossible one.
        """
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host:
            raise ValueError("a URL without a host")
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        scheme = _OF_WEBSOCKETS.get(parts.scheme, parts.scheme)
        return cls(scheme, host, parts.port or _PORTS[scheme])

    @property
    def netloc(self) -> str:
        """The host and port as in a URL and in the Host header, without the default port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def authorization_in(url: str) -> str | None:
    """Return the Authorization header for the credentials in `url`; None without credentials."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


class RequestStream(Protocol):
    """The rest of a request body that arrives while it is being sent.

    Attributes:
        length: the length of the whole body; None if unknown: it is sent in chunks.
        passed_on: the bytes of the body that have arrived so far, those before this rest included.
    """

    length: int | None

    @property
    def passed_on(self) -> int: ...

    async def read(self) -> bytes:
        """Return the next piece; empty at the end.

        Raises:
            Exception: the body broke off, so the request must not be completed.
        """


class HandshakeOffer(NamedTuple):
    """A client's handshake that is relayed.

    Attributes:
        key: the client's `Sec-WebSocket-Key`.
        host: the `Host` header that the upstream gets; None: the host of its URL.
    """

    key: bytes
    host: bytes | None


class WrittenHead(Protocol):
    """The head of a request that has been written before the request is sent."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The list of the headers: a request with another list has another head."""

    @property
    def media_types(self) -> Sequence[str]:
        """The values of the `Content-Type` headers."""

    def of(self, request: UpstreamRequest) -> bytes | None:
        """Return the head of a request with another body; None if the request differs in any other part."""


class UpstreamRequest(Struct, frozen=True):
    """A request to an upstream."""

    method: str
    origin: Origin
    target: str
    """The path and query, exactly as they are sent."""
    headers: list[tuple[str, str]]
    body: bytes
    stream: RequestStream | None = None
    """The rest of the body, after `body`."""
    relayed: Headers = []
    """More headers, sent exactly as they are. None of them frames the message."""
    on_interim: OnInterim | None = None
    """Called with each interim response (`103 Early Hints`), if the transport reports them."""
    handshake: HandshakeOffer | None = None
    """The handshake of a client, if this request relays the handshake of a WebSocket."""
    exchange: WebSocketExchange | None = None
    """The messages of the request, if the transport is a WebSocket."""
    prepared: WrittenHead | None = None
    """The head of this request, if it has been written already."""

    def with_body(self, body: bytes) -> UpstreamRequest:
        """Return this request with another body. `replace` would cost more."""
        return UpstreamRequest(
            self.method,
            self.origin,
            self.target,
            self.headers,
            body,
            self.stream,
            self.relayed,
            self.on_interim,
            self.handshake,
            self.exchange,
            self.prepared,
        )

    def wire_headers(self) -> Headers:
        """Return the headers to send. The gateway's own replace those that frame the message."""
        length = len(self.body) if self.stream is None else self.stream.length
        return headers_to_send(self.method, self.origin, self.headers, self.relayed, length)


_FRAMING: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"),
        *("te", "trailer", "upgrade", "expect", "http2-settings"),
    }
)
"""Headers that frame a message or concern its connection. Only the gateway writes them."""

WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})


def headers_to_send(
    method: str, origin: Origin, own: Iterable[tuple[str, str]], relayed: Headers, length: int | None
) -> Headers:
    """Return the headers of a request as they are sent.

    Args:
        method: the method of the request.
        origin: the origin that is asked.
        own: the headers that the gateway writes.
        relayed: see `UpstreamRequest`.
        length: the bytes of the body; None if the body is sent in chunks.
    """
    headers = [(b"Host", origin.netloc.encode("ascii"))]
    for name, value in own:
        if name.lower() not in _FRAMING:
            headers.append((name.encode("ascii"), _wire_text(value)))
    headers += relayed
    if length != 0 or method not in WITHOUT_BODY:
        headers.append(_framing_header(length))
    return headers


def _framing_header(length: int | None) -> tuple[bytes, bytes]:
    if length is None:
        return b"Transfer-Encoding", b"chunked"
    return b"Content-Length", b"%d" % length


def _wire_text(value: str) -> bytes:
    """Return the bytes of a text: Latin-1, as clients send it, or UTF-8 if a configured text needs it."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()
