"""Requests to upstreams: httpx's request, response and transport interface over aiohttp.

The only module of the gateway that imports httpx. Its client is not used: it keeps cookies, reads proxy
variables and logs URLs, and a transport does none of that.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx

from .aiohttp_transport import AiohttpBody, AiohttpSession

__all__ = ["Origin", "UpstreamClient", "UpstreamRequest", "UpstreamResponse"]


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
        self._chunks = aiter(response.stream)

    async def read(self) -> bytes:
        """Return what one read gave, decoded; nothing at the end of the body.

        Raises:
            UpstreamFailure: the body is not whole, or cannot be decoded.
        """
        return await anext(self._chunks, b"")

    def values_of(self, name: str) -> list[bytes]:
        """Return every value of the header `name` (any case)."""
        wanted = name.lower().encode("ascii")
        return [value for key, value in self._raw if key.lower() == wanted]


class UpstreamClient:
    """Sends requests and hands out their responses."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport or AiohttpTransport()

    @asynccontextmanager
    async def open(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None = None,
    ) -> AsyncIterator[UpstreamResponse]:
        """Send `request`; the response's connection is closed when the block is left.

        Raises:
            UpstreamFailure: there is no response.
        """
        response = await self._transport.handle_async_request(
            httpx.Request(
                request.method,
                request.origin.url,
                headers=request.headers,
                content=request.body or None,
                extensions={
                    "target": request.target.encode("ascii"),
                    "timeout": {"connect": connect_timeout},
                    _CONNECTED: on_connected,
                },
            )
        )
        try:
            yield UpstreamResponse(response)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


_CONNECTED: Final = "streamweir_connected"


class AiohttpTransport(httpx.AsyncBaseTransport):
    """httpx's transport interface, as far as `UpstreamClient` needs it.

    Understands the request extensions `target` (as httpcore does) and `timeout` (its `connect`). Failures
    are `UpstreamFailure`s, not httpx's exceptions, which do not tell them apart.
    """

    def __init__(self) -> None:
        self._session = AiohttpSession()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` and return its response with an unread body."""
        target = request.extensions.get("target", request.url.raw_path)
        origin = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        body = await self._session.send(
            request.method,
            origin + target.decode("ascii"),
            headers=request.headers.raw,
            body=request.content,
            connect_timeout=request.extensions.get("timeout", {}).get("connect"),
            on_connected=request.extensions.get(_CONNECTED),
        )
        return httpx.Response(body.status, headers=body.headers, stream=_Chunks(body))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.aclose()


class _Chunks(httpx.AsyncByteStream):
    """The body as httpx wants it; no generator, because one step of it is the cost of every read."""

    def __init__(self, body: AiohttpBody) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = await self._body.read()
        if not data:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:
        self._body.close()
