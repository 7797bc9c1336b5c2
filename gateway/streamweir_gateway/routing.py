"""Which endpoint serves a path. Decided on `scope["path"]` alone: the Host header has no say.

The more literal path wins over the one with `{names}`, whatever their order in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.http.path_template import PathTemplate
from streamweir.jsontext import write_json
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.runs.streams import Streams

__all__ = ["Found", "Route", "RoutingTable", "methods_of", "path_of", "routes_of"]

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\\]|%00")
"""What no `{name}` stands for: who decodes once more or takes \\ for a slash reads another path."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A path that is served."""

    template: str
    methods: tuple[str, ...]
    app: ASGIApp
    endpoint: EndpointConfig | None
    """None: a path of the gateway's own, free of keys and limits."""


class Found(NamedTuple):
    """What serves a request."""

    route: Route
    path_params: dict[str, str]


class RoutingTable:
    """All routes; those without `{names}` are found at once, however many there are."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._literal: dict[str, list[Route]] = {}
        self._templated: list[tuple[PathTemplate, Route]] = []
        for route in routes:
            if "{" in route.template:
                self._templated.append((PathTemplate(route.template), route))
            else:
                self._literal.setdefault(route.template, []).append(route)

    def find(self, method: str, path: str) -> Found | None:
        """Return what serves a request, if anything does."""
        return next((found for found in self._at(path) if method in found.route.methods), None)

    def routes_at(self, path: str) -> list[Route]:
        """Return the routes of a path, whatever their methods."""
        return [found.route for found in self._at(path)]

    def _at(self, path: str) -> Iterator[Found]:
        for route in self._literal.get(path, ()):
            yield Found(route, {})
        for template, route in self._templated:
            values = template.match(path)
            if values is not None and not any(map(_UNSAFE.search, values.values())):
                yield Found(route, values)


def methods_of(routes: Iterable[Route]) -> tuple[str, ...]:
    """Return the methods of all these routes, each once."""
    return tuple(dict.fromkeys(method for route in routes for method in route.methods))


def path_of(scope: Scope) -> str:
    """Return the path within this application, which may be mounted below a prefix."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    if prefix and path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/"):
        return path[len(prefix) :]
    return path


def routes_of(
    config: GatewayConfig,
    *,
    serve: Callable[[EndpointConfig], ASGIApp],
    streams: Streams,
    metrics: ASGIApp,
) -> list[Route]:
    """Return the routes of a configuration; `serve` makes the application behind an endpoint."""
    server = config.server
    own = ((server.health, _health), (server.ready, _readiness(streams)), (server.metrics, metrics))
    return [
        *(Route(path, ("GET", "HEAD"), app, None) for path, app in own if path is not None),
        *_endpoint_routes(config.endpoints, serve),
    ]


def _endpoint_routes(
    endpoints: Iterable[EndpointConfig], serve: Callable[[EndpointConfig], ASGIApp]
) -> list[Route]:
    ordered = sorted(endpoints, key=lambda endpoint: _names_by_segment(endpoint.template))
    return [Route(endpoint.template, endpoint.methods, serve(endpoint), endpoint) for endpoint in ordered]


def _names_by_segment(template: str) -> tuple[bool, ...]:
    return tuple("{" in segment for segment in template.split("/"))


async def _health(scope: Scope, receive: Receive, send: Send) -> None:
    await _status("ok", 200)(scope, receive, send)


def _readiness(streams: Streams) -> ASGIApp:
    async def ready(scope: Scope, receive: Receive, send: Send) -> None:
        response = _status("draining", 503) if streams.draining else _status("ok", 200)
        await response(scope, receive, send)

    return ready


def _status(word: str, status: int) -> Response:
    return Response(
        write_json({"status": word}),
        status_code=status,
        headers={"Cache-Control": "no-store"},
        media_type="application/json",
    )
