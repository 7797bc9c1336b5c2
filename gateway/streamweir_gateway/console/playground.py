"""Sends a client's request to the gateway's own address, and relays the answer byte by byte.

Source: the console contract, section 1 (POST `playground`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from starlette.types import Receive, Send

from streamweir.codec.dialects import Dialects
from streamweir.http.refusals import Refusal
from streamweir.request_id import new_request_id
from streamweir_gateway.config import OPEN_END, REST, Address, EndpointConfig, is_open
from streamweir_gateway.console.answer_events import AnswerEvents, AnswerReader
from streamweir_gateway.console.viewer_presence import run_until_left
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.failures import UpstreamFailure
from streamweir_gateway.upstream.request import Origin, UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["PlaygroundRequest", "play"]

CONNECT_SECONDS: Final = 5.0
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
_ACCEPT: Final = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
}
_OURS: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"),
        *("keep-alive", "proxy-authorization", "proxy-connection", "accept-encoding"),
    }
)
"""Headers that a viewer's request cannot set, because they concern the connection."""
_PLACE: Final = re.compile(r"\{([^{}]+)\}")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class PlaygroundRequest(msgspec.Struct, kw_only=True):
    """The request to send.

    Attributes:
        endpoint: the path of the endpoint in the configuration.
        path: the values of the endpoint's `{names}`, and `rest` for `/*`.
        query: the query of the URL.
        protocol: the protocol that the client speaks; empty: the first protocol of the endpoint.
        framing: `sse`, `ndjson` or `json`; empty: the framing of the endpoint.
        headers: additional headers.
        body: any JSON value; a string is sent unquoted.
        key: the key of the caller; sent as a Bearer token.
    """

    endpoint: str
    path: dict[str, Any] = {}
    query: dict[str, Any] = {}
    protocol: str | None = None
    framing: str | None = None
    headers: dict[str, str] = {}
    body: Any = msgspec.UNSET
    key: str | None = None


async def play(
    asked: PlaygroundRequest,
    endpoints: Iterable[EndpointConfig],
    gateway: Address,
    receive: Receive,
    send: Send,
    *,
    events: AnswerEvents,
    dialects: Dialects,
) -> None:
    """Send a request to the gateway, and the gateway's answer to the viewer.

    Args:
        asked: the request.
        endpoints: the endpoints that may be called.
        gateway: the address of the gateway.
        receive: reports that the viewer has left.
        send: takes the answer.
        events: get the events of the answer if a viewer expects them.
        dialects: the dialects of the configuration.

    Raises:
        Refusal: the request cannot be sent.
    """
    endpoint = next((one for one in endpoints if one.template == asked.endpoint), None)
    if endpoint is None:
        raise Refusal("ENDPOINT_NOT_FOUND", "The file has no such endpoint.")
    try:
        request = _request(asked, endpoint, gateway)
    except RecursionError:
        raise Refusal("BAD_REQUEST", "The body is nested too deeply.") from None
    client = UpstreamClient()
    reader = events.reader(_request_id(request), dialects)
    try:
        await run_until_left(receive, _answer(client, request, send, reader))
    finally:
        if reader is not None:
            reader.close()
        await client.aclose()


async def _answer(
    client: UpstreamClient, request: UpstreamRequest, send: Send, reader: AnswerReader | None
) -> None:
    try:
        async with client.open(request, connect_timeout=CONNECT_SECONDS) as response:
            await _pass_on(response, send, reader)
    except UpstreamFailure as failure:
        raise Refusal("OVERLOADED", "The gateway does not answer.", status=502) from failure


async def _pass_on(response: UpstreamResponse, send: Send, reader: AnswerReader | None) -> None:
    """Send the answer piece by piece. If it breaks off, do not end it, so that the viewer sees the break."""
    kept = [pair for pair in response.headers if pair[0].lower() in (b"content-type", b"x-request-id")]
    headers = [*kept, (b"x-streamweir-answered", b"gateway"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    with suppress(UpstreamFailure):
        while data := await response.read():
            if reader is not None:
                reader.feed(data)
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    raise BrokenAnswer


class BrokenAnswer(Exception):
    """The gateway's answer broke off. The server then closes the connection within the body."""


def _request(asked: PlaygroundRequest, endpoint: EndpointConfig, gateway: Address) -> UpstreamRequest:
    methods = endpoint.listed_methods
    method = "POST" if "POST" in methods else methods[0]
    headers, body = _headers(asked), b""
    if method not in _WITHOUT_BODY and asked.body is not msgspec.UNSET:
        body = asked.body.encode() if isinstance(asked.body, str) else msgspec.json.encode(asked.body)
        headers.setdefault("Content-Type", "application/json")
    return UpstreamRequest(
        method,
        Origin("http", gateway.reachable_host, gateway.port),
        _target(asked, endpoint),
        [*headers.items()],
        body,
    )


def _headers(asked: PlaygroundRequest) -> dict[str, str]:
    headers = {"X-Request-Id": new_request_id(), "Accept-Encoding": "identity"}
    for name, value in asked.headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refusal("BAD_REQUEST", "A header cannot be written in HTTP.")
        if name.lower() not in _OURS:
            headers = {known: text for known, text in headers.items() if known.lower() != name.lower()}
            headers[name] = value
    if asked.protocol:
        headers["X-Streamweir-Protocol"] = _line(asked.protocol)
    if asked.framing:
        if asked.framing not in _ACCEPT:
            raise Refusal("BAD_REQUEST", "framing must be sse, ndjson or json.")
        headers["Accept"] = _ACCEPT[asked.framing]
    if asked.key:
        headers["Authorization"] = f"Bearer {_line(asked.key)}"
    return headers


def _request_id(request: UpstreamRequest) -> str | None:
    return next((text for name, text in request.headers if name.lower() == "x-request-id"), None)


def _line(text: str) -> str:
    if not _VALUE.fullmatch(text):
        raise Refusal("BAD_REQUEST", "A value cannot be written in a header.")
    return text


def _target(asked: PlaygroundRequest, endpoint: EndpointConfig) -> str:
    template, values = endpoint.template, _texts(asked.path)
    missing = [name for name in _PLACE.findall(template) if not values.get(name)]
    if missing:
        raise Refusal("BAD_REQUEST", f"path needs a value for {', '.join(missing)}.")
    path = _PLACE.sub(lambda place: quote(values[place[1]], safe=""), template)
    if is_open(template):
        path = path.removesuffix(OPEN_END) + "/" + quote(values.get(REST, "").lstrip("/"))
    query = urlencode(_texts(asked.query))
    return f"{path}?{query}" if query else path


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
