"""The configuration: one YAML file in, one immutable `GatewayConfig` out.

    text -> tree -> interpolation -> validation (models) -> rules -> merging -> GatewayConfig

Nothing here keeps state or starts anything; the dialects and the environment are passed in.
"""

from .http import Address
from .loading import load_config, parse_config
from .problems import ConfigErrors, Problem
from .resolved import (
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
from .rules import DialectCatalogue
from .templates import join_path, placeholders
from .units import format_duration, format_size, parse_duration, parse_size

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
