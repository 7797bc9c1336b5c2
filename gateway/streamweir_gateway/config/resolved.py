"""What the rest of the gateway sees: every value settled, nothing left to look up or to merge.

Durations are seconds, sizes bytes, `off` is None. No `repr` shows a header's value or a URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from typing import Literal
from urllib.parse import urlsplit

from streamweir_gateway.config.http import Address

__all__ = [
    "Auth",
    "Breaker",
    "Cors",
    "EndpointConfig",
    "GatewayConfig",
    "InjectedWarning",
    "Limits",
    "RateLimit",
    "Retries",
    "ServerConfig",
    "Timeouts",
    "Tls",
    "UpstreamConfig",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds; None never runs out."""

    connect: float | None
    first_event: float | None
    idle: float | None
    total: float | None
    write: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bytes, and the number of malformed events, that one stream or request may have."""

    event_bytes: int
    stream_bytes: int
    request_bytes: int
    malformed_events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedWarning:
    """A warning at the start of every stream of an endpoint."""

    message: str
    message_code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When a request that has not given an event yet is sent to the same upstream again."""

    attempts: int = 1
    """How often it is sent in all; 1: never again."""
    backoff: float = 0.2
    """Seconds before the second attempt."""
    on: frozenset[int | Literal["connect"]] = frozenset({"connect", 429, 503})
    """HTTP statuses, and `connect`: no connection came about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """When an upstream that fails again and again is not asked for a while."""

    failures: int = 5
    """So many in a row."""
    open_for: float = 30.0
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How the upstream's certificate is checked, and ours."""

    verify: bool = True
    ca: str | None = None
    """Path of the certificates to trust in place of the system's."""
    cert: str | None = None
    """Path of our own certificate; of its key too where `key` is None."""
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamConfig:
    """One place that an endpoint's requests go to. Exactly one of `url` and `demo` is given."""

    name: str | None
    """Its name in `upstreams`; None where the endpoint itself holds the URL."""
    url: str | None = field(repr=False)
    """The base URL, which may hold credentials."""
    demo: str | None
    """The dialect of an embedded backend, whose URL is known once it runs."""
    speaks: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    """Of the request to the upstream; each name once, whatever its capitals."""
    timeouts: Timeouts
    retries: Retries = Retries()
    breaker: Breaker | None = Breaker()
    """None: the upstream is always asked."""
    max_streams: int | None = 1000
    """At the same time, over all endpoints; None: any number."""
    tls: Tls = Tls()
    transport: Literal["auto", "httpcore"] = "auto"

    @property
    def label(self) -> str:
        """How logs and metrics call it: its name, `demo:<dialect>` or the URL's scheme, host and port."""
        if self.name or self.url is None:
            return self.name or f"demo:{self.demo}"
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """So many requests in so many seconds, per key or else per client address."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """One path of the gateway and all that the proxy needs to know about it."""

    template: str
    """The path that clients call, such as `/support/{agent_id}/chat`."""
    methods: tuple[str, ...]
    """In capital letters."""
    upstreams: tuple[UpstreamConfig, ...]
    """At least one; tried in order until one gives a first event."""
    path: str | None
    """Appended to the upstream's URL (`join_path`), `{names}` from `template`. None: the URL as it is."""
    answers: tuple[str, ...]
    framing: str
    heartbeat: float | None
    forward_headers: tuple[str, ...]
    forward_query: tuple[str, ...]
    forward_response_headers: tuple[str, ...]
    on_disconnect: float | None = 0.0
    """Seconds that a run goes on after its client has left; 0 cancels it, None lets it finish."""
    full_text: str
    stream_tool_arguments: bool
    protocol_options: Mapping[str, Mapping[str, str]]
    raw: bool
    limits: Limits
    warnings: tuple[InjectedWarning, ...]
    rate_limit: RateLimit | None = None
    """Of this endpoint alone, in place of the gateway's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """Who may call."""

    keys: Mapping[str, str] = field(repr=False)
    """By name; empty: whoever can reach the address (`auth: open`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cors:
    """Which pages of other origins may read the answers."""

    origins: tuple[str, ...]
    """As browsers send them, such as `https://app.example`; or the one word `*`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """The process: how it listens, stops and tells of itself. A path that is None is not served."""

    workers: int = 1
    drain: float = 30.0
    """Seconds that streams under way may take to finish when the gateway stops."""
    health: str | None = "/healthz"
    ready: str | None = "/readyz"
    metrics: str | None = "/metrics"
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Whose X-Forwarded-For is believed."""
    header_bytes: int = 32 << 10
    """Request line and headers of one request."""
    header_time: float = 10.0
    """Seconds that they may take to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """One configuration file, settled."""

    listen: Address
    endpoints: tuple[EndpointConfig, ...]
    """In the file's order."""
    auth: Auth | None = None
    """None: no key is asked for, and the address is a loopback one."""
    rate_limit: RateLimit | None = None
    """Over all endpoints that have none of their own."""
    cors: Cors | None = None
    """None: no CORS headers."""
    server: ServerConfig = ServerConfig()
    debug: bool
