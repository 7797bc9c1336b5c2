"""Sends a request of the front page through the gateway, and reports the frames of both sides as they arrive.

POST `/` with `{endpoint, protocol?, query?, body?}` is answered with NDJSON, a line for each read and write:

| line | when |
|---|---|
| `{t, client: {status, type}}` | the response begins |
| `{t, upstream: TEXT}` | a demo backend sends bytes |
| `{t, client: TEXT}` | the gateway sends bytes to its client |
| `{t, end: whole or broken}` | the response is over |

`t` are the milliseconds since the request began. The bytes of other upstreams are not reported, because they
may contain texts of failures, addresses and secrets that the gateway removes.

The request goes through all checks of the gateway with the headers of the page's request, so that a foreign
page is refused here and at the endpoint alike.
"""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamweir.http.headers import header_value
from streamweir.http.refusals import Refusal
from streamweir.request_id import new_request_id
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.demo_watchers import DemoWatchers
from streamweir_gateway.json_body import read_json_body
from streamweir_gateway.sample_call import WITHOUT_BODY, sample_method, sample_path

__all__ = ["Trials"]

_MAX_BODY: Final = 64 << 10
_REPLACED: Final = frozenset(
    {
        *(b"accept", b"accept-encoding", b"content-length", b"content-type", b"expect", b"last-event-id"),
        *(b"transfer-encoding", b"x-request-id", b"x-streamweir-protocol"),
    }
)
"""Headers of the page's request that a trial's request omits, or has with another value."""
_HEAD: Final = [
    (b"content-type", b"application/x-ndjson"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class _Asked(msgspec.Struct):
    endpoint: str
    protocol: str = ""
    query: dict[str, str] = {}
    body: Any = msgspec.UNSET


class Trials:
    """Serves POST `/`.

    Args:
        config: the configuration of the gateway.
        gateway: returns the application that serves the requests of trials.
        watchers: the watchers of the demo backends.
    """

    def __init__(self, config: GatewayConfig, gateway: Callable[[], ASGIApp], watchers: DemoWatchers) -> None:
        self._endpoints = {endpoint.template: endpoint for endpoint in config.endpoints}
        self._gateway = gateway
        self._watchers = watchers

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a trial.

        Raises:
            Refusal: the request is not a trial of an endpoint.
        """
        asked = await _read(scope, receive)
        endpoint = self._endpoints.get(asked.endpoint)
        if endpoint is None:
            raise Refusal("ENDPOINT_NOT_FOUND", "The file has no such endpoint.")
        request_id = new_request_id()
        report = _Report(send)
        with self._watchers.watching(request_id, report.upstream):
            await send({"type": "http.response.start", "status": 200, "headers": _HEAD})
            await report.follow(
                self._gateway(), _trial_scope(scope, asked, endpoint, request_id), _Body(asked, receive)
            )


class _Report:
    """The lines that report one trial.

    Lines are sent with the gateway's next write, which waits until the page has taken them. If a demo sends
    bytes and the gateway writes none, the pump sends the line. The number of waiting lines is bounded,
    because a demo sends less than a hundred kilobytes in one response.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._began = time.monotonic()
        self._waiting = bytearray()
        self._has_lines = asyncio.Event()
        self._sending = asyncio.Lock()
        self._from_upstream = codecs.getincrementaldecoder("utf-8")("replace")
        self._to_client = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_whole = False

    async def follow(self, gateway: ASGIApp, scope: Scope, body: _Body) -> None:
        """Let the gateway serve the trial, and report the end of the trial."""
        pump = asyncio.create_task(self._pump())
        try:
            with suppress(Exception):  # the gateway raises to break off a response that has begun
                await gateway(scope, body.receive, self._write)
        finally:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
        self._line(end="whole" if self._is_whole else "broken")
        await self._flush(more_body=False)

    def upstream(self, data: bytes) -> None:
        """Report bytes that a demo has sent."""
        self._line(upstream=self._from_upstream.decode(data))
        self._has_lines.set()

    async def _write(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = header_value(message.get("headers", ()), b"content-type")
            self._line(client={"status": message["status"], "type": kind})
        elif message["type"] == "http.response.body":
            if text := self._to_client.decode(message.get("body", b"")):
                self._line(client=text)
            self._is_whole = not message.get("more_body", False)
        await self._flush()

    async def _pump(self) -> None:
        while True:
            await self._has_lines.wait()
            self._has_lines.clear()
            await self._flush()

    def _line(self, **facts: Any) -> None:
        elapsed = round((time.monotonic() - self._began) * 1000, 1)
        self._waiting += msgspec.json.encode({"t": elapsed, **facts}) + b"\n"

    async def _flush(self, *, more_body: bool = True) -> None:
        async with self._sending:
            lines, self._waiting = bytes(self._waiting), bytearray()
            if lines:
                await self._send({"type": "http.response.body", "body": lines, "more_body": more_body})


class _Body:
    """The body of a trial, followed by the messages of the page's connection, such as its end."""

    def __init__(self, asked: _Asked, receive: Receive) -> None:
        self._body: bytes | None = b"" if asked.body is msgspec.UNSET else msgspec.json.encode(asked.body)
        self._receive = receive

    async def receive(self) -> Message:
        """Return the next ASGI message."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _trial_scope(scope: Scope, asked: _Asked, endpoint: EndpointConfig, request_id: str) -> Scope:
    method, path = sample_method(endpoint), sample_path(endpoint)
    kept = [pair for pair in scope["headers"] if pair[0].lower() not in _REPLACED]
    return {
        **scope,
        "method": method,
        "path": path,
        "raw_path": quote(path).encode("ascii"),
        "query_string": urlencode(asked.query).encode("ascii"),
        "headers": [*kept, *_own_headers(asked, method, request_id)],
        "state": {},
        "extensions": {},
    }


def _own_headers(asked: _Asked, method: str, request_id: str) -> list[tuple[bytes, bytes]]:
    headers = [(b"accept", b"*/*"), (b"x-request-id", request_id.encode("ascii"))]
    if asked.protocol:
        headers.append((b"x-streamweir-protocol", asked.protocol.encode("ascii", "replace")))
    if method not in WITHOUT_BODY:
        size = len(b"" if asked.body is msgspec.UNSET else msgspec.json.encode(asked.body))
        headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % size)]
    return headers


async def _read(scope: Scope, receive: Receive) -> _Asked:
    """Read the body of a trial: JSON, which no page can send to another origin without a preflight."""
    kind = header_value(scope["headers"], b"content-type").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("UNSUPPORTED_MEDIA_TYPE")
    return await read_json_body(scope, receive, _Asked, _MAX_BODY)
