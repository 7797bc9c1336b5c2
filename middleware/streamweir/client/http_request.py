"""One HTTP request and its answer. The only module of the library that imports httpx."""

from __future__ import annotations

import contextlib
import functools
import re
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from typing import Any, Final, TypeAlias

import anyio

from streamweir.classification import classify_exception
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

__all__ = ["AsyncClient", "Body", "HttpRequest", "failed_body", "failed_connection", "on_same_server"]

AsyncClient: TypeAlias = httpx.AsyncClient
Body: TypeAlias = str | bytes | AsyncIterable[bytes]

CLOSE_SECONDS: Final = 1.0
"""Closing says nothing to anybody, so nobody waits long for it."""

REJECTION_BYTES: Final = 64 << 10
REJECTION_SECONDS: Final = 2.0
"""The body of a rejection is read for its cause, but the status alone says enough."""

_BUFFERED_CHUNKS: Final = 1000
"""More chunks than one read from the network holds in practice."""

_VALUE: Final = re.compile(r"(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")
"""RFC 9110, section 5: a header can hold no line end, with which another could be smuggled in."""


class HttpRequest:
    """One request and its answer.

    Args:
        client: to send it with, left open; one of our own if None.
        connect: how long the connection may take; the other clocks are the caller's.

    Raises:
        ConfigurationError: such a request cannot be sent.
    """

    def __init__(
        self,
        client: AsyncClient | None,
        method: str,
        url: str,
        *,
        body: Body | None,
        headers: Mapping[str, str],
        params: Mapping[str, Any] | None,
        connect: float | None,
    ) -> None:
        self._owns_client = client is None
        self._client = client or httpx.AsyncClient(verify=_tls(), trust_env=False)
        _check_headers(headers)
        try:
            self._request = self._client.build_request(
                method,
                url,
                content=body,
                headers=dict(headers),
                params=params,
                timeout=httpx.Timeout(None, connect=connect),
            )
        except (httpx.InvalidURL, TypeError, ValueError) as error:
            raise ConfigurationError(f"not a request that can be sent: {error}") from error
        target = self._request.url
        if self._owns_client and not (target.scheme in ("http", "https") and target.host):
            raise ConfigurationError(f"not the URL of an HTTP server: {url!r}")
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._decoder: BodyDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._is_closed = False

    async def send(self) -> httpx.Response:
        """Send the request and return the answer, its body unread."""
        self._response = await self._client.send(self._request, stream=True, follow_redirects=False)
        self._decoder = body_decoder(self._response.headers.get("content-encoding", ""))
        self._chunks = self._response.aiter_raw()
        return self._response

    async def read(self) -> bytes:
        """Return what one read gave, decoded; nothing at the end of the body."""
        assert self._chunks is not None
        while True:
            piece = next(self._pieces, b"")
            if piece:
                return piece
            data = await anext(self._chunks, None)
            if data is None:
                if self._decoder is not None:
                    self._decoder.finish()
                return b""
            self._pieces = iter((data,)) if self._decoder is None else self._decoder.feed(data)

    async def read_rejection(self) -> bytes:
        """Return the body of a small answer, as much of it as is there soon."""
        body = bytearray()
        with anyio.move_on_after(REJECTION_SECONDS), contextlib.suppress(Exception):
            while len(body) < REJECTION_BYTES and (data := await self.read()):
                body += data
        return bytes(body[:REJECTION_BYTES])

    async def aclose(self) -> None:
        """Close the connection, unless that has been done."""
        if self._is_closed:
            return
        self._is_closed = True
        with anyio.move_on_after(CLOSE_SECONDS, shield=True), contextlib.suppress(Exception):
            if self._chunks is not None:
                await _finish(self._chunks)
            if self._response is not None:
                await self._response.aclose()
            if self._owns_client:
                await self._client.aclose()


def on_same_server(url: str, location: str, *, otherwise: str) -> str:
    """Return the URL that a server names at itself, or else the path `otherwise` there.

    Args:
        url: that was asked.
        location: what its answer names, relative or whole.
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
    """End a body that nobody reads on.

    httpx nests generators that only an exception from within ends: left to the garbage collector, they would
    close the connection late, and trio would complain. So one more read is begun, and cancelled.
    """
    with anyio.CancelScope() as read:
        read.cancel()
        with contextlib.suppress(Exception):
            for _ in range(_BUFFERED_CHUNKS):
                await anext(chunks)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Loading the certificates takes long: once is enough."""
    return httpx.create_ssl_context(trust_env=False)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not isinstance(value, str) or not TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ConfigurationError(f"the header {name!r} cannot have that value")


def failed_connection(error: Exception) -> tuple[type[StreamRequestError], ErrorInfo]:
    """Return what it means that there is no response: the exception to raise and its failure."""
    if isinstance(error, httpx.ConnectTimeout):
        return RequestTimeout, error_info("UPSTREAM_TIMEOUT", reason="connect_timeout")
    if isinstance(error, httpx.RemoteProtocolError) and _is_no_http(error):
        return ConnectionFailed, error_info("UPSTREAM_INVALID_RESPONSE")
    info = classify_exception(error)
    return (StreamFailed if info.code == "UPSTREAM_INVALID_RESPONSE" else ConnectionFailed), info


def _is_no_http(error: httpx.RemoteProtocolError) -> bool:
    """What came is not HTTP: behind it stands the parser's complaint; otherwise there was just no answer."""
    return error.__cause__ is not None and error.__cause__.__context__ is not None


def failed_body(error: Exception) -> tuple[type[StreamRequestError], ErrorInfo]:
    """Return what it means that the body broke off: the exception to raise and its failure."""
    info = classify_exception(error)
    if info.code in ("UPSTREAM_UNREACHABLE", "UPSTREAM_TRUNCATED"):
        return StreamTruncated, error_info("UPSTREAM_TRUNCATED")
    return (RequestTimeout if info.code == "UPSTREAM_TIMEOUT" else StreamFailed), info
