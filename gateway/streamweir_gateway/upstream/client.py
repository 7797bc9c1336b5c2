"""Requests to upstreams: httpx's request, response and transport interface.

httpx's client is not used: it keeps cookies, reads proxy variables and logs URLs, and a transport does none
of that. Only this module and the transports import httpx.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx

from streamweir.framing.content_coding import BodyDecoder, CodedBodyError, CutOffBodyError, body_decoder
from streamweir_gateway.config import Tls, UpstreamConfig

from .failures import InvalidResponse, Truncated
from .http1 import coding_list
from .http1_transport import CONNECTED, Http1Body, Http1Transport, RequestBody
from .httpcore_transport import HttpcoreTransport
from .tls import tls_context

__all__ = ["TRANSPORTS", "Origin", "UpstreamClient", "UpstreamClients", "UpstreamRequest", "UpstreamResponse"]


class Origin:
    """Scheme, host and port of a URL, and the credentials that stood in it."""

    __slots__ = ("_url", "authorization")

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url = httpx.URL(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
        self.authorization: str | None = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"

    @property
    def url(self) -> httpx.URL:
        """Without path and credentials."""
        return self._url


class UpstreamRequest(NamedTuple):
    """What is sent to an upstream."""

    method: str
    origin: Origin
    target: str
    """Path and query, as they go on the wire."""
    headers: list[tuple[str, str]]
    body: bytes


class UpstreamResponse:
    """The status and headers of a response, and its body read by read."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._raw = response.headers.raw
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._stream = response.stream
        self._chunks = aiter(response.stream)
        self._is_begun = False
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())

    async def read(self) -> bytes:
        """Return what one read gave, decoded; nothing at the end of the body.

        Raises:
            UpstreamFailure: the body is not whole, or cannot be decoded.
        """
        if not self._is_begun:
            self._is_begun = True
            if codings := self._codings():
                with _own_failures():
                    self._decoder = body_decoder(", ".join(codings))
        if self._decoder is not None:
            with _own_failures():
                return await self._read_decoded(self._decoder)
        return await anext(self._chunks, b"")

    @property
    def is_over(self) -> bool:
        """The body has been read to its proper end, as far as that is known before the next read."""
        return self._decoder is None and isinstance(self._stream, Http1Body) and self._stream.is_over

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Let `take` have each read that comes, without waking the task, until it returns False.

        What `take` was not given is for `read`. None where the transport or a coding needs the task for each
        read. No coroutine of its own, which every stream would have to keep.
        """
        if self._is_begun and self._decoder is None and isinstance(self._stream, Http1Body):
            return self._stream.relay(take)
        return None

    def let_end(self) -> None:
        """The stream in the body has said that it is over: nothing more is read.

        Leaving then gives the upstream a moment to end its response. Cut off at once, it would take its
        client for gone, and might not finish what it does after its last event.
        """
        if isinstance(self._stream, Http1Body):
            self._stream.may_linger = True

    def values_of(self, name: str) -> list[bytes]:
        """Return every value of the header `name` (any case)."""
        wanted = name.lower().encode("ascii")
        return [value for key, value in self._raw if key.lower() == wanted]

    def _codings(self) -> list[str]:
        transfer = (coding for coding in coding_list(self._raw, b"transfer-encoding") if coding != "chunked")
        return [*coding_list(self._raw, b"content-encoding"), *transfer]

    async def aclose(self) -> None:
        """Give the connection back, or close it where the response has not come to its end."""
        await self._stream.aclose()

    async def _read_decoded(self, decoder: BodyDecoder) -> bytes:
        while True:
            for piece in self._pieces:
                return piece
            data = await anext(self._chunks, b"")
            if not data:
                decoder.finish()
                return b""
            self._pieces = decoder.feed(data)


class _Opening:
    """A request on its way, and its response while the block lasts; a generator would cost more."""

    __slots__ = ("_request", "_response", "_transport")

    def __init__(self, transport: httpx.AsyncBaseTransport, request: httpx.Request) -> None:
        self._transport = transport
        self._request = request
        self._response: UpstreamResponse | None = None

    async def __aenter__(self) -> UpstreamResponse:
        self._response = UpstreamResponse(await self._transport.handle_async_request(self._request))
        return self._response

    async def __aexit__(self, *_: object) -> None:
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()


@contextmanager
def _own_failures() -> Iterator[None]:
    try:
        yield
    except CutOffBodyError as error:
        raise Truncated("the compressed body ended early") from error
    except CodedBodyError as error:
        raise InvalidResponse("the compressed body cannot be decoded") from error


class UpstreamClient:
    """Sends requests and hands out their responses.

    Args:
        transport: what carries them; HTTP/1.1 that trusts the system's certificates where it is None.
    """

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = Http1Transport() if transport is None else transport

    @classmethod
    def for_upstream(cls, config: UpstreamConfig) -> UpstreamClient:
        """Return a client with the transport and the certificates of an upstream.

        Raises:
            TlsFileError: a file of `config.tls` cannot be used.
        """
        context = tls_context(config.tls) if _is_secure(config) else None
        return cls(TRANSPORTS[config.transport](context))

    def open(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None = None,
    ) -> AbstractAsyncContextManager[UpstreamResponse]:
        """Send `request`; the response's connection is closed when the block is left.

        Args:
            request: what is sent.
            connect_timeout: seconds until the connection must stand, TLS included; None waits for ever.
            on_connected: called when it does and the request goes out.

        Raises:
            UpstreamFailure: there is no response.
            ValueError: the request cannot be written as HTTP.
        """
        return _Opening(
            self._transport,
            httpx.Request(
                request.method,
                request.origin.url,
                headers=_wire_headers(request),
                stream=RequestBody(request.body),
                extensions={
                    "target": request.target.encode("ascii"),
                    "timeout": {"connect": connect_timeout},
                    CONNECTED: on_connected,
                },
            ),
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


class UpstreamClients:
    """The clients of a configuration: upstreams that are reached in the same way share one."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, Tls, bool], UpstreamClient] = {}

    def of(self, config: UpstreamConfig) -> UpstreamClient:
        """Return the client of an upstream.

        Raises:
            TlsFileError: a file of `config.tls` cannot be used.
        """
        key = config.transport, config.tls, _is_secure(config)
        if key not in self._clients:
            self._clients[key] = UpstreamClient.for_upstream(config)
        return self._clients[key]

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()


TRANSPORTS: Final[dict[str, Callable[[ssl.SSLContext | None], httpx.AsyncBaseTransport]]] = {
    "auto": Http1Transport,
    "httpcore": HttpcoreTransport,
}
"""By the name in the configuration."""

_FRAMING: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"),
        *("te", "trailer", "upgrade", "expect", "http2-settings"),
    }
)
"""Headers that say where a message ends or what becomes of its connection: ours alone to write."""


def _is_secure(config: UpstreamConfig) -> bool:
    return (config.url or "").lower().startswith("https:")


def _wire_headers(request: UpstreamRequest) -> list[tuple[bytes, bytes]]:
    headers = [(b"Host", request.origin.url.netloc)]
    for name, value in request.headers:
        if name.lower() not in _FRAMING:
            headers.append((name.encode("ascii"), _wire_text(value)))
    if request.body or request.method not in _WITHOUT_BODY:
        headers.append((b"Content-Length", b"%d" % len(request.body)))
    return headers


_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", "TRACE"})


def _wire_text(value: str) -> bytes:
    """Clients' bytes reach us as Latin-1, which gives them back; what a file holds beyond it is UTF-8."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()
