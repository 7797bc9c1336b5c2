"""The configuration: reads one YAML file, and makes one immutable `GatewayConfig`.

    text -> tree -> interpolation -> merging -> validation (models) -> rules -> GatewayConfig

This package keeps no state and starts no process; the caller passes the dialects and the environment in.
"""

from streamweir.options.durations import format_duration, parse_duration
from streamweir.options.sizes import format_size, parse_size
from streamweir.yaml_files.report import ConfigErrors, Problem
from streamweir_gateway.config.loading import load_config, load_dialects, parse_config
from streamweir_gateway.config.models import (
    LEFT_SECONDS,
    Auth,
    Breaker,
    Caller,
    ConsoleConfig,
    Cors,
    EndpointConfig,
    GatewayConfig,
    InjectedWarning,
    Keep,
    Limits,
    LogForm,
    LogLevel,
    Resume,
    Retries,
    ServerConfig,
    StoreConfig,
    Timeouts,
    Tls,
    UpstreamConfig,
)
from streamweir_gateway.config.values.addresses import Address, ip_of, is_loopback, is_loopback_host
from streamweir_gateway.config.values.auth import ANY_ORIGIN, HASHED, MIN_KEY_CHARACTERS, key_digest
from streamweir_gateway.config.values.path_templates import OPEN_END, REST, is_open, join_path, placeholders
from streamweir_gateway.config.values.rates import RateLimit

__all__ = [
    "ANY_ORIGIN",
    "HASHED",
    "LEFT_SECONDS",
    "MIN_KEY_CHARACTERS",
    "OPEN_END",
    "REST",
    "Address",
    "Auth",
    "Breaker",
    "Caller",
    "ConfigErrors",
    "ConsoleConfig",
    "Cors",
    "EndpointConfig",
    "GatewayConfig",
    "InjectedWarning",
    "Keep",
    "Limits",
    "LogForm",
    "LogLevel",
    "Problem",
    "RateLimit",
    "Resume",
    "Retries",
    "ServerConfig",
    "StoreConfig",
    "Timeouts",
    "Tls",
    "UpstreamConfig",
    "format_duration",
    "format_size",
    "ip_of",
    "is_loopback",
    "is_loopback_host",
    "is_open",
    "join_path",
    "key_digest",
    "load_config",
    "load_dialects",
    "parse_config",
    "parse_duration",
    "parse_size",
    "placeholders",
]
