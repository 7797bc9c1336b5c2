"""Finds the endpoint that serves a path. Only `scope["path"]` decides, not the Host header.

A literal path takes precedence over a path with `{names}`, and this over a path that ends in `/*`; the order
in the file does not matter. If a route does not accept the method, the next route that covers the path is
tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.http.path_template import PathTemplate
from streamweir.jsontext import write_json
from streamweir_gateway.config import OPEN_END, REST, EndpointConfig, GatewayConfig, is_open
from streamweir_gateway.model_list import model_lists
from streamweir_gateway.open_path import may_be_segment, raw_rest
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["Found", "Route", "RoutingTable", "methods_of", "raw_path_of", "routes_of"]

_CODED_SLASH: Final = re.compile("%2f", re.IGNORECASE)
_NO_SEPARATOR: Final = "\udc2f"
"""Replaces an encoded slash while a path is split at slashes. No decoded path has this lone surrogate."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A path that is served, and its application."""

    template: str
    methods: tuple[str, ...]
    app: ASGIApp
    endpoint: EndpointConfig | None
    """The endpoint of the route; None: a path of the gateway itself, which has no limits."""
    needs_key: bool = False
    """Whether the route shows the endpoints or their answers, and so needs a key if the endpoints do."""
    keeps_key: bool = False
    """Whether the application sees the key of a request, to send requests through the gateway with that key.
    """
    is_private: bool = False
    """Whether the answer depends on the caller, so that caches must not store it."""
    shows_open_runs: bool = False
    """Whether runs of open endpoints are read here too, without a key."""
    beside: tuple[EndpointConfig, ...] = ()
    """More endpoints that the route shows: a caller that may call one of them may call this route."""

    @property
    def endpoints(self) -> tuple[EndpointConfig, ...]:
        """The endpoints that the route belongs to; empty for a path of the gateway itself."""
        return () if self.endpoint is None else (self.endpoint, *self.beside)

    @property
    def needs_no_key(self) -> bool:
        """Whether all endpoints of the route are open (`auth: open`)."""
        return bool(self.endpoints) and all(endpoint.needs_no_key for endpoint in self.endpoints)

    @property
    def is_partly_open(self) -> bool:
        """Whether requests without a key are served too; they get the content of open endpoints."""
        return any(endpoint.needs_no_key for endpoint in self.endpoints)

    @property
    def relays_all(self) -> bool:
        """Whether a whole service is behind the route, which checks its requests itself."""
        return self.endpoint is not None and self.endpoint.relays_all

    def takes(self, method: str) -> bool:
        """Return whether the route accepts the method."""
        if method in self.methods:
            return True
        return (
            self.endpoint is not None
            and self.endpoint.takes_any_method
            and method.upper() not in _NOT_RELAYED
        )


_READ: Final = ("GET", "HEAD")

_NOT_RELAYED: Final = frozenset({"CONNECT", "TRACE"})
"""Methods about the connection: CONNECT opens a tunnel; TRACE echoes a request with its credentials."""


class Found(NamedTuple):
    """The route that serves a request."""

    route: Route
    path_params: dict[str, str]
    """The decoded values of the path. The value of `/*` is `rest`, in the client's encoding."""


class RoutingTable:
    """All routes. Routes without `{names}` are found in constant time."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._literal: dict[str, list[Route]] = {}
        self._templated: list[tuple[Callable[[str], dict[str, str] | None], Route]] = []
        for route in routes:
            if "{" in route.template or is_open(route.template):
                self._templated.append((_matching(route.template), route))
            else:
                self._literal.setdefault(route.template, []).append(route)

    def find(self, method: str, path: str, raw_path: str | None = None) -> Found | None:
        """Return the route that serves a request; None without such a route.

        Args:
            method: the method of the request.
            path: the decoded path.
            raw_path: the path before decoding; None if it is unknown.
        """
        for route in self._literal.get(path, ()):
            if route.takes(method):
                return Found(route, {})
        if not self._templated:
            return None
        return next((found for found in self._matched(path, raw_path) if found.route.takes(method)), None)

    def routes_at(self, path: str, raw_path: str | None = None) -> list[Route]:
        """Return the routes of a path, for all methods."""
        return [found.route for found in self._at(path, raw_path)]

    def _at(self, path: str, raw_path: str | None) -> Iterator[Found]:
        for route in self._literal.get(path, ()):
            yield Found(route, {})
        yield from self._matched(path, raw_path)

    def _matched(self, path: str, raw_path: str | None) -> Iterator[Found]:
        """Yield the routes with a template that matches a path."""
        whole = _with_coded_slashes(path, raw_path)
        for match, route in self._templated:
            values = match(whole)
            if values is None:
                continue
            if whole is not path:
                values = {name: value.replace(_NO_SEPARATOR, "/") for name, value in values.items()}
            rest = values.pop(REST, None) if is_open(route.template) else None
            if not all(map(may_be_segment, values.values())):
                continue
            if rest is not None:
                raw = quote(path) if raw_path is None else raw_path
                rest = raw_rest(route.template, raw, rest)
                if rest is None:
                    continue
                values[REST] = rest
            yield Found(route, values)


def _with_coded_slashes(path: str, raw_path: str | None) -> str:
    """Return a decoded path in which `%2F` does not separate segments."""
    if raw_path is None or "%" not in raw_path or not _CODED_SLASH.search(raw_path):
        return path
    whole = _NO_SEPARATOR.join(map(unquote, _CODED_SLASH.split(raw_path)))
    return whole if whole.replace(_NO_SEPARATOR, "/") == path else path


def _matching(template: str) -> Callable[[str], dict[str, str] | None]:
    """Return a function that matches a path and returns its values; None if the path does not match."""
    if not is_open(template) or "{" in template:
        return PathTemplate(template).match
    stem = template.removesuffix("*")
    return lambda path: {REST: path[len(stem) :]} if path.startswith(stem) else None


def methods_of(routes: Iterable[Route]) -> tuple[str, ...]:
    """Return the methods of all these routes, each method once."""
    return tuple(dict.fromkeys(method for route in routes for method in route.methods))


def raw_path_of(scope: Scope) -> str | None:
    """Return the path before decoding; None if it is unknown."""
    raw: bytes | None = scope.get("raw_path")
    return None if raw is None or scope.get("root_path") else raw.partition(b"?")[0].decode("latin-1")


def routes_of(
    config: GatewayConfig,
    *,
    serve: Callable[[EndpointConfig], ASGIApp],
    streams: LiveStreams,
    metrics: ASGIApp,
    index: ASGIApp | None = None,
    runs: Iterable[Route] = (),
    responses: Iterable[Route] = (),
) -> list[Route]:
    """Return the routes of a configuration.

    Args:
        config: the configuration of the gateway.
        serve: makes the application behind an endpoint.
        streams: the streams under way.
        metrics: the application that shows the metrics.
        index: answers at `/` if no endpoint has this path; None: there is no index.
        runs: the routes at which stored runs are read.
        responses: the routes at which stored responses are read, unless an endpoint has the path.
    """
    server = config.server
    own = (
        (server.health, _health),
        (server.ready, _readiness(streams, config.fingerprint)),
        (server.metrics, metrics),
    )
    routes = [
        *(Route(path, _READ, app, None) for path, app in own if path is not None),
        *runs,
        *_endpoint_routes(config.endpoints, serve),
        *responses,
        *_model_routes(config),
    ]
    if index is not None and RoutingTable(routes).find("GET", "/") is None:
        routes.append(Route("/", (*_READ, "POST"), index, None, needs_key=True, keeps_key=True))
    return routes


def _endpoint_routes(
    endpoints: Iterable[EndpointConfig], serve: Callable[[EndpointConfig], ASGIApp]
) -> list[Route]:
    ordered = sorted(endpoints, key=lambda endpoint: _exactness(endpoint.template))
    return [
        Route(endpoint.template, endpoint.listed_methods, serve(endpoint), endpoint) for endpoint in ordered
    ]


def _model_routes(config: GatewayConfig) -> Iterator[Route]:
    """Yield the routes of the lists of models, except at paths that an endpoint has."""
    taken = {endpoint.template for endpoint in config.endpoints}
    for path, models in model_lists(config.endpoints, config.known_dialects).items():
        first, *others = models.endpoints
        for template in (path, path + OPEN_END):
            if template not in taken:
                yield Route(template, ("GET", "HEAD"), models, first, beside=tuple(others))


def _exactness(template: str) -> tuple[bool, tuple[int, ...]]:
    """Return a sort key that puts the more exact template first. Of open ones the longer is more exact."""
    segments = template.split("/")
    return is_open(template), tuple(2 if segment == "*" else "{" in segment for segment in segments)


async def _health(scope: Scope, receive: Receive, send: Send) -> None:
    await _status("ok", 200)(scope, receive, send)


def _readiness(streams: LiveStreams, fingerprint: str) -> ASGIApp:
    async def ready(scope: Scope, receive: Receive, send: Send) -> None:
        word, status = ("draining", 503) if streams.draining else ("ok", 200)
        response = _status(word, status, config=fingerprint)
        await response(scope, receive, send)

    return ready


def _status(word: str, status: int, **facts: str) -> Response:
    return Response(
        write_json({"status": word, **facts}),
        status_code=status,
        headers={"Cache-Control": "no-store"},
        media_type="application/json",
    )
