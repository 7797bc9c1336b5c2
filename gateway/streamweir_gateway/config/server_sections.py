"""The file under `auth`, `cors` and `server`: who may call, and how the process behaves."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, Field

from streamweir.options.durations import OFF
from streamweir_gateway.config.auth_values import CALLER_KEY, NETWORK, ORIGIN
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.http import CALLER_NAME
from streamweir_gateway.config.scalars import Scalar, text_schema, whole_number
from streamweir_gateway.config.sections import NAMED, NOT_EMPTY, Duration, Section, written
from streamweir_gateway.config.templates import read_endpoint_path
from streamweir_gateway.config.units import size_from

__all__ = ["OPEN", "AuthSection", "CorsSection", "ServerSection"]


def _read_path_or_off(value: Any) -> str | None:
    if value == OFF:
        return None
    path = read_endpoint_path(value)
    if "{" in path:
        raise InvalidValue("must be a path without names in braces")
    return path


PathOrOff: TypeAlias = Annotated[
    str | None, Scalar(_read_path_or_off, text_schema("^(/|off$)"), stand_in=None)
]


class AuthSection(Section):
    """Who may call."""

    keys: Annotated[
        Mapping[Annotated[str, CALLER_NAME], Annotated[str, CALLER_KEY]],
        NAMED,
        AfterValidator(MappingProxyType),
    ] = Field(repr=False)
    """By name; sent as `Authorization: Bearer ...` or `X-Api-Key: ...`."""


OPEN: Final = AuthSection.model_construct(keys=MappingProxyType({}))
"""Whoever can reach the address."""


class CorsSection(Section):
    """Which pages of other origins may read the answers."""

    origins: Annotated[tuple[Annotated[str, ORIGIN], ...], NOT_EMPTY]
    """As browsers send them, such as `https://app.example`; or `*` alone."""


class ServerSection(Section):
    """The process: how it listens, stops and tells of itself."""

    workers: Annotated[int, whole_number(1, 1024)] = 1
    """Processes that serve; what counts streams, requests and failures counts in each."""
    drain: Duration = written("30s")
    """How long streams under way may take to finish when the gateway stops."""
    health: PathOrOff = "/healthz"
    """Answers while the process is alive; may be `off`."""
    ready: PathOrOff = "/readyz"
    """Answers 503 while the gateway drains; may be `off`."""
    metrics: PathOrOff = "/metrics"
    """Numbers for Prometheus; may be `off`."""
    trusted_proxies: tuple[Annotated[IPv4Network | IPv6Network, NETWORK], ...] = ()
    """Addresses and networks whose X-Forwarded-For is believed."""
    header_bytes: Annotated[int, size_from("1KiB")] = written("32KiB")
    """Request line and headers of one request."""
    header_time: Duration = written("10s")
    """How long they may take to come."""
