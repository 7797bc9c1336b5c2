"""What the gateway is measured against: Starlette apps that copy an upstream's bytes and do nothing else.

CLIENT=httpx or CLIENT=aiohttp chooses the HTTP client; UPSTREAM is the URL that every request goes to.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from functools import cache

import aiohttp
import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

UPSTREAM = os.environ["UPSTREAM"]
HEADERS = {"content-type": "application/json", "accept": "text/event-stream"}


@cache
def httpx_client() -> httpx.AsyncClient:
    """Return a client without a limit on connections; its own would let streams wait for each other."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(timeout=None, limits=limits, trust_env=False)


@cache
def aiohttp_client() -> aiohttp.ClientSession:
    """Return a client without a limit on connections."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
    )


async def by_httpx(body: bytes) -> AsyncIterator[bytes]:
    """Yield what httpx gives: one piece per HTTP chunk."""
    async with httpx_client().stream("POST", UPSTREAM, content=body, headers=HEADERS) as response:
        async for piece in response.aiter_raw():
            yield piece


async def by_aiohttp(body: bytes) -> AsyncIterator[bytes]:
    """Yield what aiohttp gives: one piece per read of the socket."""
    async with aiohttp_client().post(UPSTREAM, data=body, headers=HEADERS) as response:
        async for piece in response.content.iter_any():
            yield piece


COPY = {"httpx": by_httpx, "aiohttp": by_aiohttp}[os.environ["CLIENT"]]


async def chat(request: Request) -> StreamingResponse:
    """Copy the upstream's answer."""
    return StreamingResponse(COPY(await request.body()), media_type="text/event-stream")


app = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
