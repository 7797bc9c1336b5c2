"""The models of a configuration file, which the gateway uses at run time too: frozen, with defaults.

Durations are in seconds, sizes in bytes, and `off` is None. No `repr` shows a key, a header's value or a URL.
"""

from streamweir_gateway.config.models.access import Auth, Caller, Cors
from streamweir_gateway.config.models.console import ConsoleConfig, Keep
from streamweir_gateway.config.models.endpoint import EndpointConfig, InjectedWarning, Limits, ModelConfig
from streamweir_gateway.config.models.gateway import GatewayConfig
from streamweir_gateway.config.models.resume import Resume, StoreConfig
from streamweir_gateway.config.models.server import LogForm, LogLevel, ServerConfig
from streamweir_gateway.config.models.upstream import (
    LEFT_SECONDS,
    Breaker,
    Retries,
    Timeouts,
    Tls,
    UpstreamConfig,
)

__all__ = [
    "LEFT_SECONDS",
    "Auth",
    "Breaker",
    "Caller",
    "ConsoleConfig",
    "Cors",
    "EndpointConfig",
    "GatewayConfig",
    "InjectedWarning",
    "Keep",
    "Limits",
    "LogForm",
    "LogLevel",
    "ModelConfig",
    "Resume",
    "Retries",
    "ServerConfig",
    "StoreConfig",
    "Timeouts",
    "Tls",
    "UpstreamConfig",
]
