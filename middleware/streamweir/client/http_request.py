"""One HTTP request and its answer, over httpx."""

from __future__ import annotations

import contextlib
import functools
import re
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import anyio

from streamweir.classification import classify_exception
from streamweir.client.waits import Waits
from streamweir.errors import ConfigurationError, ErrorInfo, error_info
from streamweir.framing.content_coding import BodyDecoder, body_decoder
from streamweir.http_grammar import TOKEN
from streamweir.request_errors import (
    ConnectionFailed,
    RequestTimeout,
    StreamFailed,
    StreamRequestError,
    StreamTruncated,
)

try:
    import httpx
except ModuleNotFoundError as error:
    raise ImportError("streamweir.client needs httpx: pip install 'streamweir[client]'") from error

__all__ = [
    "AsyncClient",
    "Body",
    "HttpRequest",
    "LoopRequest",
    "RequestParts",
    "failed_body",
    "failed_connection",
    "on_same_server",
    "tls_context",
]

AsyncClient: TypeAlias = httpx.AsyncClient
Body: TypeAlias = str | bytes | AsyncIterable[bytes]

CLOSE_SECONDS: Final = 1.0
"""The longest wait for a close, whose result is not needed."""

REJECTION_BYTES: Final = 64 << 10
REJECTION_SECONDS: Final = 2.0
"""The longest wait for the body of a rejection, which only adds details to the status."""

_BUFFERED_CHUNKS: Final = 1000
"""An upper bound of the chunks in one read from the network."""

_VALUE: Final = re.compile(r"(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")
"""Matches a header value (RFC 9110, section 5): without line ends, which could smuggle another header in."""


class HttpRequest(ABC):
    """One request and its answer, for the asynchronous and the blocking client.

    Args:
        request: the request, ready to be sent.
        owns_client: the client was made for this request, and is closed with it.

    Raises:
        ConfigurationError: the request cannot be sent.
    """

    def __init__(self, request: httpx.Request, *, owns_client: bool) -> None:
        target = request.url
        if owns_client and not (target.scheme in ("http", "https") and target.host):
            raise ConfigurationError(f"not the URL of an HTTP server: {str(target)!r}")
        self._owns_client: Final = owns_client
        self._request: Final = request
        self._response: httpx.Response | None = None
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._is_closed = False

    async def send(self) -> httpx.Response:
        """Send the request and return the answer, its body unread."""
        self._response = response = await self._send()
        self._decoder = body_decoder(response.headers.get("content-encoding", ""))
        return response

    async def read(self) -> bytes:
        """Return the decoded bytes of one read; empty at the end of the body."""
        while True:
            piece = next(self._pieces, b"")
            if piece:
                return piece
            data = await self._next_chunk()
            if data is None:
                if self._decoder is not None:
                    self._decoder.finish()
                return b""
            self._pieces = iter((data,)) if self._decoder is None else self._decoder.feed(data)

    async def read_rejection(self, waits: Waits) -> bytes:
        """Return the part of a small body that arrives within a short time."""
        body = bytearray()
        deadline = waits.now() + REJECTION_SECONDS
        with contextlib.suppress(Exception):
            while len(body) < REJECTION_BYTES and (
                data := await waits.within(deadline, self.read, self.abort)
            ):
                body += data
        return bytes(body[:REJECTION_BYTES])

    async def aclose(self) -> None:
        """Close the connection, unless that has been done."""
        if not self._is_closed:
            self._is_closed = True
            await self._close()

    @abstractmethod
    def abort(self) -> None:
        """End a call that blocks another thread."""

    @abstractmethod
    async def _send(self) -> httpx.Response: ...

    @abstractmethod
    async def _next_chunk(self) -> bytes | None:
        """Return the bytes of one read; None at the end of the body."""

    @abstractmethod
    async def _close(self) -> None: ...


class LoopRequest(HttpRequest):
    """A request on an event loop.

    Args:
        client: the httpx client to use, which is left open; None: a new one.
        parts: the parts of the request.
    """

    def __init__(self, client: AsyncClient | None, parts: RequestParts) -> None:
        self._client = client or httpx.AsyncClient(verify=tls_context(), trust_env=False)
        self._chunks: AsyncIterator[bytes] | None = None
        super().__init__(parts.built_by(self._client.build_request), owns_client=client is None)

    async def _send(self) -> httpx.Response:
        response = await self._client.send(self._request, stream=True, follow_redirects=False)
        self._chunks = response.aiter_raw()
        return response

    async def _next_chunk(self) -> bytes | None:
        assert self._chunks is not None
        return await anext(self._chunks, None)

    def abort(self) -> None:
        """Do nothing: no call blocks a thread, and a wait on an event loop is cancelled."""

    async def _close(self) -> None:
        with anyio.move_on_after(CLOSE_SECONDS, shield=True), contextlib.suppress(Exception):
            if self._chunks is not None:
                await _finish(self._chunks)
            if self._response is not None:
                await self._response.aclose()
            if self._owns_client:
                await self._client.aclose()


@dataclass(frozen=True, slots=True)
class RequestParts:
    """The parts of a request.

    Attributes:
        method: the HTTP method.
        url: the URL that the caller gave.
        body: the body; None without one.
        headers: all headers.
        params: the query.
        connect: the most seconds for connecting; None: no limit. The caller handles the other timeouts.
    """

    method: str
    url: str
    body: Any
    headers: Mapping[str, str]
    params: Mapping[str, Any] | None
    connect: float | None

    def built_by(self, build: Callable[..., httpx.Request]) -> httpx.Request:
        """Return the request, built by `build` of a client.

        Raises:
            ConfigurationError: the request cannot be sent.
        """
        _check_headers(self.headers)
        try:
            return build(
                self.method,
                self.url,
                content=self.body,
                headers=dict(self.headers),
                params=self.params,
                timeout=httpx.Timeout(None, connect=self.connect),
            )
        except (httpx.InvalidURL, TypeError, ValueError) as error:
            raise ConfigurationError(f"not a request that can be sent: {error}") from error


def on_same_server(url: str, location: str, *, otherwise: str) -> str:
    """Return the URL `location` if it is on the server of `url`; else the URL of the path `otherwise` there.

    Args:
        url: the URL of the request.
        location: the URL in the answer, relative or absolute.
        otherwise: a path.
    """
    asked = httpx.URL(url)
    try:
        named = asked.join(location) if location else None
    except httpx.InvalidURL:
        named = None
    if named is None or (named.scheme, named.netloc) != (asked.scheme, asked.netloc):
        named = asked.join(otherwise)
    return str(named)


async def _finish(chunks: AsyncIterator[bytes]) -> None:
    """Close the generators of a body that is not read to its end.

    httpx nests generators that only an exception from within ends: left to the garbage collector, they would
    close the connection late, and trio would complain. Therefore one more read is begun and cancelled.
    """
    with anyio.CancelScope() as read:
        read.cancel()
        with contextlib.suppress(Exception):
            for _ in range(_BUFFERED_CHUNKS):
                await anext(chunks)


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context, made once because loading the certificates takes long."""
    return httpx.create_ssl_context(trust_env=False)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not isinstance(value, str) or not TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ConfigurationError(f"the header {name!r} cannot have that value")


def failed_connection(error: Exception) -> tuple[type[StreamRequestError], ErrorInfo]:
    """Return the exception type to raise if there is no response, and the classified failure."""
    if isinstance(error, httpx.ConnectTimeout):
        return RequestTimeout, error_info("UPSTREAM_TIMEOUT", reason="connect_timeout")
    if isinstance(error, httpx.RemoteProtocolError) and _is_no_http(error):
        return ConnectionFailed, error_info("UPSTREAM_INVALID_RESPONSE")
    info = classify_exception(error)
    return (StreamFailed if info.code == "UPSTREAM_INVALID_RESPONSE" else ConnectionFailed), info


def _is_no_http(error: httpx.RemoteProtocolError) -> bool:
    """Return whether the peer did not speak HTTP; the cause is then an error of the parser."""
    return error.__cause__ is not None and error.__cause__.__context__ is not None


def failed_body(error: Exception) -> tuple[type[StreamRequestError], ErrorInfo]:
    """Return the exception type to raise if the body broke off, and the classified failure."""
    info = classify_exception(error)
    if info.code in ("UPSTREAM_UNREACHABLE", "UPSTREAM_TRUNCATED"):
        return StreamTruncated, error_info("UPSTREAM_TRUNCATED")
    return (RequestTimeout if info.code == "UPSTREAM_TIMEOUT" else StreamFailed), info
