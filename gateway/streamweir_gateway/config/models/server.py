"""The process: how it listens, stops and reports its state."""

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
    """The process: how it listens, stops and reports its state."""

    workers: Annotated[int, WORKERS] = 1
    """The number of serving processes. Each process counts streams, requests and failures separately. `auto`:
    one for each processor.
    """
    drain: Duration = written("30s")
    """How long streams under way may take to finish when the gateway stops."""
    hang_time: DurationOrOff = written("30s")
    """The time after which a worker whose event loop has not run is replaced; `off`: never."""
    body_bytes: Size = written("256MiB")
    """The most bytes of all request bodies in one worker at a time. Requests beyond this are refused."""
    health: PathOrOff = "/healthz"
    """The path that answers while the process is alive; may be `off`."""
    ready: PathOrOff = "/readyz"
    """The path that answers 503 while the gateway drains; may be `off`."""
    metrics: PathOrOff = "/metrics"
    """The path with the metrics for Prometheus; may be `off`."""
    runs: PathOrOff = RUNS_PATH
    """The path at which runs of endpoints with `resume` are read, stopped and removed; `off`: only at the
    endpoints.
    """
    admin: Annotated[Address | None, or_off(LISTEN)] = written(OFF)
    """A separate HOST:PORT for `health`, `ready` and `metrics`; `off`: they are at the address of the
    endpoints.
    """
    hosts: Annotated[tuple[Annotated[str, HOST], ...], LISTED] = ()
    """Names under which browsers reach the gateway; loopback names need not be listed."""
    trusted_proxies: Annotated[tuple[Annotated[IPv4Network | IPv6Network, NETWORK], ...], LISTED] = ()
    """The addresses and networks whose X-Forwarded-For is trusted."""
    header_bytes: Annotated[int, size_from("1KiB")] = written("32KiB")
    """The most bytes of the request line and headers of one request."""
    header_time: Duration = written("10s")
    """The time that the request line and headers may take to arrive."""
    index: Annotated[bool | None, FLAG] = absent()
    """Whether `GET /` lists the endpoints, if no endpoint has this path; by default only on loopback."""
    log: Annotated[LogForm, choice("auto", "json", "text")] = "auto"
    """The form of log lines; `auto`: text on a terminal, JSON elsewhere."""
    log_level: Annotated[LogLevel, choice("debug", "info", "warning", "error")] = "info"
    """The lowest level that is logged."""
