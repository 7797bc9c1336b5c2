"""An upstream: a backend, how often and for how long it is asked, and over which connection."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from streamweir.options.durations import format_duration
from streamweir.options.timeouts import Timeouts as LibraryTimeouts
from streamweir.translation.clock import SETTLE_SECONDS
from streamweir_gateway.config.models.field_types import (
    NOT_EMPTY,
    AtLeastOne,
    Duration,
    DurationOrOff,
    FilePath,
    Headers,
    Text,
)
from streamweir_gateway.config.models.section import (
    DERIVED,
    Section,
    absent,
    derived,
    empty,
    made_by,
    written,
)
from streamweir_gateway.config.values.http import RETRY_CAUSE
from streamweir_gateway.config.values.messages import MESSAGE, SUBPROTOCOL
from streamweir_gateway.config.values.scalars import FLAG_ON, choice, or_off, whole_number
from streamweir_gateway.config.values.section_or_keyword import SectionOrKeyword
from streamweir_gateway.config.values.urls import UPSTREAM_URL, demo_dialect
from streamweir_gateway.config.values.written_as import LISTED

__all__ = [
    "LEFT_SECONDS",
    "Breaker",
    "Retries",
    "Timeouts",
    "Tls",
    "UpstreamConfig",
    "UpstreamOptions",
    "WebSocket",
]

_LIBRARY: Final = LibraryTimeouts()

LEFT_SECONDS: Final = 5.0
"""The seconds that a client may take for the rest of a run that was ended from outside, if `write` is off."""


class Timeouts(Section):
    """The time that each part of a stream may take; each may be `off`."""

    connect: DurationOrOff = written(format_duration(_LIBRARY.connect))
    """The time until the connection to the upstream is established."""
    first_event: DurationOrOff = written(format_duration(_LIBRARY.first_event))
    """The time from sending the request to the first decoded event."""
    idle: DurationOrOff = written(format_duration(_LIBRARY.idle))
    """The time between two bytes from the upstream, after the first event."""
    total: DurationOrOff = written(format_duration(_LIBRARY.total))
    """The time for all attempts together."""
    write: DurationOrOff = written("30s")
    """The time for which a client may fail to read."""
    waiting: DurationOrOff = written(format_duration(_LIBRARY.waiting))
    """The time for which an open connection may be silent while a person is asked."""

    @cached_property
    def shortest(self) -> float:
        """The seconds in which no clock of the upstream's side can run out."""
        clocks = (self.first_event, self.idle, self.total, self.waiting, SETTLE_SECONDS)
        return min(seconds for seconds in clocks if seconds is not None)

    @property
    def left(self) -> float:
        """The seconds that a client may take for the rest of its response after its run was ended from
        outside.
        """
        return LEFT_SECONDS if self.write is None else self.write


class WebSocket(Section):
    """The settings of an upstream that speaks over a WebSocket (`ws://`, `wss://`)."""

    subprotocols: Annotated[tuple[Annotated[str, SUBPROTOCOL], ...], LISTED] = ()
    """The subprotocols to offer in the handshake."""
    hello: Annotated[tuple[Annotated[Any, MESSAGE], ...], LISTED] = ()
    """The messages to send on a new connection before the request: trees like `request`."""
    cancel: Annotated[Any, MESSAGE] = absent()
    """The message to send before the connection is closed early: a tree like `request`."""
    ping: DurationOrOff = written("20s")
    """The time between two pings of the gateway."""
    framing: Annotated[Literal["auto", "sse", "ndjson"], choice("auto", "sse", "ndjson")] = "auto"
    """`auto`: each message is a frame, unless the first message begins like SSE. Otherwise all messages
    together are a body in this framing.
    """
    keep: DurationOrOff = written("off")
    """The time for which a connection stays open for the next request of its conversation; at most 1h."""


class UpstreamOptions(Section):
    """The keys of `defaults`, of an upstream and of an endpoint. The endpoint's value takes precedence."""

    speaks: Text = "auto"
    """The dialect of the upstream; `auto` detects it from the first bytes."""
    timeouts: Timeouts = made_by(Timeouts)
    headers: Headers = empty(hidden=True)
    """The headers of the request to the upstream. Each name may occur once, ignoring case."""
    websocket: WebSocket = made_by(WebSocket)
    """The settings for a ws:// or wss:// URL."""


class Retries(Section):
    """When a request that has not given an output yet is sent again."""

    attempts: AtLeastOne = 1
    """The number of times that the request is sent in all, the first time included."""
    backoff: Duration = written("200ms")
    """The time before the second attempt."""
    on: Annotated[tuple[Annotated[int | Literal["connect"], RETRY_CAUSE], ...], LISTED, NOT_EMPTY] = written(
        ["connect", 429, 503]
    )
    """The causes of another attempt: `connect` (there was no connection) and HTTP statuses; 429 and 503 also
    in an error event.
    """


class Breaker(Section):
    """When an upstream that fails repeatedly is not asked for a while."""

    failures: AtLeastOne = 5
    """The number of failures in a row that open the breaker."""
    open_for: Duration = written("30s")
    """The time until one request is let through as a trial."""


class Tls(Section):
    """How the upstream's certificate is checked, and the gateway's own certificate."""

    verify: Annotated[bool, FLAG_ON] = True
    """Whether the upstream's certificate is checked."""
    ca: FilePath = absent()
    """A file of certificates to trust in place of the system's."""
    cert: FilePath = absent()
    """A file with the gateway's own certificate, and with its key unless `key` names another file."""
    key: FilePath = absent()
    """A file with the key of `cert`."""


class UpstreamConfig(UpstreamOptions):
    """A backend: under `upstreams` it is shared by endpoints; at an endpoint it has the endpoint's options
    too.
    """

    name: Annotated[SkipJsonSchema[str | None], DERIVED] = derived()
    """The name of the upstream in `upstreams`, at an endpoint that names it."""
    url: Annotated[str, UPSTREAM_URL] = Field(repr=False)
    """The base URL of the backend, or `demo:<dialect>`."""
    retries: Retries = made_by(Retries)
    """When a request is sent again, which is possible only before the first output."""
    max_streams: Annotated[int | None, or_off(whole_number(1))] = 1000
    """The most streams at the same time; `off`: any number."""
    breaker: Annotated[Breaker | None, SectionOrKeyword(Breaker, {"off": None})] = made_by(Breaker)
    """When the upstream is not asked for a while; `off`: it is always asked."""
    tls: Tls = made_by(Tls)
    """The certificates for an https URL."""
    transport: Annotated[Literal["auto", "httpcore"], choice("auto", "httpcore")] = "auto"
    """How requests are sent: `httpcore` for HTTP/2 and proxies."""

    @property
    def demo(self) -> str | None:
        """The dialect of an embedded backend, whose URL is known when it runs; None for other upstreams."""
        return demo_dialect(self.url)

    @property
    def is_websocket(self) -> bool:
        """Whether the upstream speaks over a WebSocket."""
        return self.url.lower().startswith(("ws:", "wss:"))

    @property
    def label(self) -> str:
        """The upstream's name in logs and metrics: its name, `demo:<dialect>`, or scheme, host and port of
        the URL.
        """
        if self.name or self.demo is not None:
            return self.name or self.url
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
