"""The configuration: one YAML file in, one immutable `GatewayConfig` out.

    text -> tree -> interpolation -> validation (models) -> rules -> merging -> GatewayConfig

Nothing here keeps state or starts anything; the dialects and the environment are passed in.
"""

from streamweir.options.durations import format_duration, parse_duration
from streamweir.options.sizes import format_size, parse_size
from streamweir_gateway.config.diagnostics import ConfigErrors, Problem
from streamweir_gateway.config.http import Address
from streamweir_gateway.config.loading import load_config, parse_config
from streamweir_gateway.config.resolved import (
    Auth,
    Breaker,
    Cors,
    EndpointConfig,
    GatewayConfig,
    InjectedWarning,
    Limits,
    RateLimit,
    Retries,
    ServerConfig,
    Timeouts,
    Tls,
    UpstreamConfig,
)
from streamweir_gateway.config.rules import DialectCatalogue
from streamweir_gateway.config.templates import join_path, placeholders

__all__ = [
    "Address",
    "Auth",
    "Breaker",
    "ConfigErrors",
    "Cors",
    "DialectCatalogue",
    "EndpointConfig",
    "GatewayConfig",
    "InjectedWarning",
    "Limits",
    "Problem",
    "RateLimit",
    "Retries",
    "ServerConfig",
    "Timeouts",
    "Tls",
    "UpstreamConfig",
    "format_duration",
    "format_size",
    "join_path",
    "load_config",
    "parse_config",
    "parse_duration",
    "parse_size",
    "placeholders",
]
