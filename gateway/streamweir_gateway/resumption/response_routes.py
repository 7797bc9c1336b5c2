"""The routes below the paths of endpoints whose responses are stored.

Source: the conversation contract, section 5.
"""

from __future__ import annotations

from streamweir_gateway.config import EndpointConfig, GatewayConfig, is_open
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.responses.background import NO_RUNS, BackgroundRuns
from streamweir_gateway.responses.front_door import responses_protocol, retention_of
from streamweir_gateway.responses.kept_responses import KeptResponses
from streamweir_gateway.responses.responses_app import METHODS, ResponsesApp
from streamweir_gateway.resumption.background_runs import RunsOfResponses
from streamweir_gateway.resumption.resumption import Resumption
from streamweir_gateway.routing import Route

__all__ = ["response_routes"]


def response_routes(config: GatewayConfig, resumption: Resumption, observer: Observer) -> list[Route]:
    """Return the routes at which the responses of endpoints are read, deleted and cancelled."""
    runs = RunsOfResponses(resumption)
    return [
        route
        for endpoint in config.endpoints
        if not is_open(endpoint.template)
        for route in _routes(endpoint, config, runs if endpoint.resume else NO_RUNS, resumption, observer)
    ]


def _routes(
    endpoint: EndpointConfig,
    config: GatewayConfig,
    runs: BackgroundRuns,
    resumption: Resumption,
    observer: Observer,
) -> list[Route]:
    protocol = responses_protocol(endpoint, config.known_dialects)
    if protocol is None:
        return []
    retention, store = retention_of(endpoint), resumption.service.store
    kept = None if retention is None else KeptResponses(store, endpoint.template, retention.keep)
    path = endpoint.template.rstrip("/")
    return [
        Route(
            path + template,
            methods,
            ResponsesApp(kept, runs, protocol, template, endpoint=endpoint.template, observer=observer),
            endpoint,
        )
        for template, methods in METHODS.items()
    ]
