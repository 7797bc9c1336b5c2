"""Which endpoint serves a path. Decided on `scope["path"]` alone: the Host header has no say.

The more literal path wins over the one with `{names}`, whatever their order in the file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from streamweir.jsontext import write_json
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.supervision import Streams

__all__ = ["routes_of"]


def routes_of(
    config: GatewayConfig, *, serve: Callable[[EndpointConfig], ASGIApp], streams: Streams
) -> list[BaseRoute]:
    """Return the routes of a configuration; `serve` makes the application behind an endpoint."""
    own = [
        Route(path, answer, methods=["GET"])
        for path, answer in ((config.server.health, _health), (config.server.ready, _readiness(streams)))
        if path is not None
    ]
    return [*own, *_endpoint_routes(config.endpoints, serve)]


def _endpoint_routes(
    endpoints: Iterable[EndpointConfig], serve: Callable[[EndpointConfig], ASGIApp]
) -> list[BaseRoute]:
    ordered = sorted(endpoints, key=lambda endpoint: _names_by_segment(endpoint.template))
    return [Route(endpoint.template, serve(endpoint), methods=list(endpoint.methods)) for endpoint in ordered]


def _names_by_segment(template: str) -> tuple[bool, ...]:
    return tuple("{" in segment for segment in template.split("/"))


async def _health(_request: Request) -> Response:
    return _status("ok", 200)


def _readiness(streams: Streams) -> Callable[[Request], Awaitable[Response]]:
    async def ready(_request: Request) -> Response:
        return _status("draining", 503) if streams.draining else _status("ok", 200)

    return ready


def _status(word: str, status: int) -> Response:
    return Response(
        write_json({"status": word}),
        status_code=status,
        headers={"Cache-Control": "no-store"},
        media_type="application/json",
    )
