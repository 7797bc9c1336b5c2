"""The process: how it listens, stops and shows how it is."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Literal, TypeAlias

from streamweir.options.durations import OFF
from streamweir.options.run_defaults import RUNS_PATH
from streamweir_gateway.config.models.field_types import Duration, DurationOrOff, Size
from streamweir_gateway.config.models.section import Section, absent, written
from streamweir_gateway.config.values.addresses import HOST, LISTEN, NETWORK, Address
from streamweir_gateway.config.values.path_templates import PATH_OR_OFF
from streamweir_gateway.config.values.scalars import FLAG, WORKERS, choice, or_off
from streamweir_gateway.config.values.units import size_from
from streamweir_gateway.config.values.written_as import LISTED

__all__ = ["LogForm", "LogLevel", "ServerConfig"]

LogForm: TypeAlias = Literal["auto", "json", "text"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
PathOrOff: TypeAlias = Annotated[str | None, PATH_OR_OFF]


class ServerConfig(Section):
    """The process: how it listens, stops and shows how it is."""

    workers: Annotated[int, WORKERS] = 1
    """Processes that serve; what counts streams, requests and failures counts in each. `auto`: one for each
    processor."""
    drain: Duration = written("30s")
    """How long streams under way may take to finish when the gateway stops."""
    hang_time: DurationOrOff = written("30s")
    """A worker whose event loop stood still for so long is replaced; `off`: none is."""
    body_bytes: Size = written("256MiB")
    """The most bytes that all request bodies of a worker hold at once; a request beyond it is refused."""
    health: PathOrOff = "/healthz"
    """Answers while the process is alive; may be `off`."""
    ready: PathOrOff = "/readyz"
    """Answers 503 while the gateway drains; may be `off`."""
    metrics: PathOrOff = "/metrics"
    """Numbers for Prometheus; may be `off`."""
    runs: PathOrOff = RUNS_PATH
    """Where runs are read, stopped and removed that `resume` keeps; `off`: only at the endpoints."""
    admin: Annotated[Address | None, or_off(LISTEN)] = written(OFF)
    """HOST:PORT of its own for `health`, `ready` and `metrics`; `off`: they are beside the endpoints."""
    hosts: Annotated[tuple[Annotated[str, HOST], ...], LISTED] = ()
    """Names under which browsers reach the gateway; loopback names need not be listed."""
    trusted_proxies: Annotated[tuple[Annotated[IPv4Network | IPv6Network, NETWORK], ...], LISTED] = ()
    """Addresses and networks whose X-Forwarded-For is believed."""
    header_bytes: Annotated[int, size_from("1KiB")] = written("32KiB")
    """Request line and headers of one request."""
    header_time: Duration = written("10s")
    """How long they may take to come."""
    index: Annotated[bool | None, FLAG] = absent()
    """Whether `GET /` lists the endpoints, if no endpoint is there; by default on loopback only."""
    log: Annotated[LogForm, choice("auto", "json", "text")] = "auto"
    """The form of log lines; `auto`: text on a terminal, JSON elsewhere."""
    log_level: Annotated[LogLevel, choice("debug", "info", "warning", "error")] = "info"
    """The least level that is logged."""
