"""What the rest of the gateway sees: every value settled, nothing left to look up or to merge.

Durations are seconds, sizes bytes, `off` is None. No `repr` shows a header's value or a URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .http import Address

__all__ = ["EndpointConfig", "GatewayConfig", "InjectedWarning", "Limits", "Timeouts", "UpstreamTarget"]


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
class UpstreamTarget:
    """Where an endpoint's requests go. Exactly one of `url` and `demo` is given."""

    name: str | None
    """Its name in `upstreams`; None where the endpoint itself holds the URL."""
    url: str | None = field(repr=False)
    """The base URL, which may hold credentials."""
    demo: str | None
    """The dialect of an embedded backend, whose URL is known once it runs."""

    @property
    def label(self) -> str:
        """How logs and metrics call it: its name, `demo:<dialect>` or the URL's scheme, host and port."""
        if self.name or self.url is None:
            return self.name or f"demo:{self.demo}"
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """One path of the gateway and all that the proxy needs to know about it."""

    template: str
    """The path that clients call, such as `/support/{agent_id}/chat`."""
    methods: tuple[str, ...]
    """In capital letters."""
    upstream: UpstreamTarget
    path: str | None
    """Appended to the upstream's URL (`join_path`), `{names}` from `template`. None: the URL as it is."""
    speaks: str
    answers: tuple[str, ...]
    framing: str
    timeouts: Timeouts
    heartbeat: float | None
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    """Of the request to the upstream; each name once, whatever its capitals."""
    forward_headers: tuple[str, ...]
    forward_query: tuple[str, ...]
    forward_response_headers: tuple[str, ...]
    full_text: str
    stream_tool_arguments: bool
    protocol_options: Mapping[str, Mapping[str, str]]
    raw: bool
    limits: Limits
    warnings: tuple[InjectedWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """One configuration file, settled."""

    listen: Address
    endpoints: tuple[EndpointConfig, ...]
    """In the file's order."""
    health: str | None
    """The path of the liveness check; None: there is none."""
    ready: str | None
    """The path of the readiness check; None: there is none."""
    debug: bool
