"""Sends one request to the upstream of each endpoint, and reports the findings: `streamweir check --probe`.

The requests go through the gateway's own application, so that upstreams get what clients would cause: a
mapped body, the configured headers, the configured transport. No address is listened on.

Source: the configuration contract (`probe`).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from starlette.types import Message, Scope

from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.app import build_app
from streamweir_gateway.config import (
    REST,
    EndpointConfig,
    GatewayConfig,
    UpstreamConfig,
    is_open,
    placeholders,
)
from streamweir_gateway.sample_call import sample_of_model
from streamweir_gateway.upstream.client import UpstreamClient, UpstreamClients
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.transport import TransportResponse
from streamweir_gateway.upstream.websocket.request import WebSocketSettings

__all__ = ["Probe", "probe_all"]

SECONDS: Final = 60.0
"""The longest time, in seconds, that an answer may take, because the user of the command waits for it."""

AT_ONCE: Final = 8
_BODY: Final = {"message": "Hello"}
_WELL: Final = frozenset({"done", "interaction"})


class Probe(NamedTuple):
    """The finding about one endpoint's upstream."""

    endpoint: str
    left_out: str | None = None
    """The reason why no request was sent; None: a request was sent."""
    line: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """The log line of the request."""
    status: int | None = None
    """The status of the upstream's response; None without a response."""
    media_type: str = ""
    took_too_long: bool = False

    @property
    def is_well(self) -> bool:
        """Whether the upstream answered as the configuration says."""
        if self.left_out is not None:
            return True
        is_relayed = "speaks" not in self.line
        ends_well = self.line.get("reason") in _WELL and self.line.get("code") is None
        return ends_well and not self.took_too_long and not self.line.get("hint") and not is_relayed

    def lines(self) -> Iterator[str]:
        """Yield the lines to print."""
        if self.left_out is not None:
            yield f"{self.endpoint}: left out: {self.left_out}"
            return
        yield f"{self.endpoint}: {'good' if self.is_well else 'see below'}"
        for name, text in self.facts().items():
            yield f"  {name.replace('_', ' '):12} {text}"

    def facts(self) -> dict[str, str]:
        """Return the findings by their names."""
        if self.left_out is not None:
            return {"left_out": self.left_out}
        line, seen = self.line, self.status is not None
        facts = {"reachable": "yes" if seen else "no"}
        if seen:
            facts["status"] = str(self.status)
            facts["media_type"] = self.media_type or "none"
            facts["dialect"] = self._dialect
            first = line.get("first_event_ms")
            facts["first_event"] = "none came" if first is None else f"after {round(first)} ms"
            facts["end"] = "seen" if line.get("reason") in _WELL else f"not seen ({self._why})"
            facts["buffered"] = "yes" if "something between buffers" in str(line.get("hint")) else "no"
        if hint := line.get("hint"):
            facts["hint"] = str(hint)
        elif not seen and line.get("code") in REFUSALS:
            facts["refused"] = str(line["code"])  # by the gateway itself, which has asked no upstream
        return facts

    @property
    def _dialect(self) -> str:
        """The detected dialect, if it differs from the dialect of the configuration."""
        looks = re.search(r"looks like [^;]+; speaks is [^;]+", str(self.line.get("hint")))
        return looks[0] if looks else str(self.line.get("speaks", "no agent stream"))

    @property
    def _why(self) -> str:
        return f"nothing within {SECONDS:.0f} s" if self.took_too_long else str(self.line.get("reason"))


def probe_all(config: GatewayConfig, data: Any = None) -> list[Probe]:
    """Send one request to each endpoint's upstream; return the findings.

    Args:
        config: the configuration of the gateway, with all secrets.
        data: the JSON body that is sent to all endpoints in place of their own probe bodies.
    """
    return asyncio.run(_probe_all(config, data))


async def _probe_all(config: GatewayConfig, data: Any) -> list[Probe]:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(endpoint: EndpointConfig) -> Probe:
        async with room:
            return await _probe(config, endpoint, data)

    return await asyncio.gather(*map(one, config.endpoints))


async def _probe(config: GatewayConfig, endpoint: EndpointConfig, data: Any) -> Probe:
    path = _path(endpoint)
    if path is None:
        return Probe(endpoint.template, "its path has {names}: say what stands for them in `probe.path`")
    log, clients = _Lines(), _NotingClients()
    alone = config.model_copy(
        update={"auth": None, "rate_limit": None, "cors": None, "endpoints": (endpoint,)}
    )
    app = build_app(alone, clients=clients, log=log)
    took_too_long = False
    async with app.lifespan():
        try:
            async with asyncio.timeout(SECONDS):
                await app(_scope(endpoint, path), _receive(_body(config, endpoint, data)), _send)
        except TimeoutError:
            took_too_long = True
    return Probe(endpoint.template, None, log.line, clients.status, clients.media_type, took_too_long)


def _path(endpoint: EndpointConfig) -> str | None:
    """Return the path to call; None if a name in it has no value."""
    given = endpoint.probe.path if endpoint.probe is not None else {}
    template = endpoint.template
    names = placeholders(template)
    if is_open(template):
        names, template = (*names, REST), f"{template[:-1]}{{{REST}}}"
    if any(name not in given for name in names):
        return None
    for name in names:
        value = quote(given[name], safe="/" if name == REST else "")
        template = template.replace(f"{{{name}}}", value)
    return template


def _scope(endpoint: EndpointConfig, path: str) -> Scope:
    methods = endpoint.listed_methods
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST" if "POST" in methods else methods[0],
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"accept", b"text/event-stream"),
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
        ],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        "state": {},
        "extensions": {},
    }


def _body(config: GatewayConfig, endpoint: EndpointConfig, data: Any) -> Any:
    """Return the body to send. At an endpoint with `models` it names the first, unless it names one."""
    given = data if data is not None else endpoint.probe.body if endpoint.probe is not None else None
    if not endpoint.models:
        return _BODY if given is None else given
    sample = sample_of_model(endpoint, config.known_dialects)
    if given is None:
        return sample
    return {"model": sample["model"], **given} if isinstance(given, dict) else given


def _receive(body: Any) -> Callable[[], Any]:
    data = json.dumps(body).encode()
    messages = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return] # the client stays

    return receive


async def _send(_message: Message) -> None:
    """Drop a message of the answer: `_NotingClients` examines the response of the upstream."""


class _Lines:
    """Keeps the log line of a request."""

    def __init__(self) -> None:
        self.line: dict[str, Any] = {}

    def info(self, _event: str, /, **fields: Any) -> None:
        self.line = fields

    warning = info


class _NotingClients(UpstreamClients):
    """Clients that note the status and media type of the last response.

    Attributes:
        status: the status of the last response; None: there was no response.
        media_type: the media type of the last response.
    """

    def __init__(self) -> None:
        super().__init__()
        self.status: int | None = None
        self.media_type = ""

    def of(self, config: UpstreamConfig, settings: WebSocketSettings | None = None) -> UpstreamClient:
        return _NotingClient(super().of(config, settings), self)

    def note(self, response: UpstreamResponse | TransportResponse) -> None:
        """Note the status and the media type of a response."""
        self.status = response.status
        types = [value for name, value in response.headers if name.lower() == b"content-type"]
        self.media_type = b"".join(types[:1]).decode("latin-1")


class _NotingClient(UpstreamClient):
    def __init__(self, client: UpstreamClient, clients: _NotingClients) -> None:
        self._client = client
        self._clients = clients

    async def send(self, request: UpstreamRequest, **options: Any) -> TransportResponse:
        response = await self._client.send(request, **options)
        self._clients.note(response)
        return response
