"""Which requests come through to what serves them: a path that there is, a key, a rate.

Where keys are asked for, a stranger gets the same 401 for every path but the gateway's own, so that
the endpoints cannot be found out by trying.

Source: the configuration contract (`auth`, `rate_limit`, `cors`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.asgi.refusals import REFUSALS, Refusal, send_refusal
from streamweir_gateway.access.client_address import client_address, client_network
from streamweir_gateway.access.cors import CorsPolicy, Headers, is_preflight
from streamweir_gateway.access.keys import KEY_HEADERS, Credential, Keys, without_headers
from streamweir_gateway.access.rate_limit import RateLimiter
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.routing import Found, Route, RoutingTable, methods_of, path_of

__all__ = ["RequestGuard"]


class RequestGuard:
    """Refuses requests, or hands them to their route.

    Args:
        config: the settled configuration.
        routes: what there is to call.
        cors: answers preflights; None: they are requests as any other.
        observer: told of every refused request.
    """

    def __init__(
        self, config: GatewayConfig, routes: Sequence[Route], cors: CorsPolicy | None, observer: Observer
    ) -> None:
        self._table = RoutingTable(routes)
        self._keys = Keys(config.auth.keys) if config.auth is not None and config.auth.keys else None
        self._limiters = _limiters(config, routes)
        self._foreign = {route: _forwarded_key_headers(route) for route in routes}
        self._trusted = config.server.trusted_proxies
        self._cors = cors
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = path_of(scope)
        found = self._table.find(scope["method"], path)
        routes = [found.route] if found is not None else self._table.routes_at(path)
        try:
            if self._cors is not None and is_preflight(scope):
                headers = self._cors.preflight(scope["headers"], methods_of(self._table.routes_at(path)))
                await _send_no_content(send, headers)
                return
            app, scope = self._admitted(scope, found, routes)
        except Refusal as refusal:
            self._record_refusal(scope, routes, refusal)
            await send_refusal(send, refusal, request_id=scope["state"]["request_id"])
            return
        await app(scope, receive, send)

    def _admitted(self, scope: Scope, found: Found | None, routes: Sequence[Route]) -> tuple[ASGIApp, Scope]:
        """Return what serves a request, and the request as it is to see it.

        Raises:
            Refusal: it is not to be served.
        """
        is_free = bool(routes) and all(route.endpoint is None for route in routes)
        if self._keys is not None and not is_free:
            foreign = self._foreign[found.route] if found is not None else frozenset()
            scope = _identified(scope, self._keys.credential(scope["headers"], foreign=foreign))
        if found is None:
            raise _nothing_here(routes)
        self._count(scope, found.route)
        scope["path_params"] = found.path_params
        return found.route.app, scope

    def _count(self, scope: Scope, route: Route) -> None:
        limiter = self._limiters.get(route)
        if limiter is None:
            return
        wait = limiter.wait(self._client(scope))
        if wait > 0:
            raise Refusal("RATE_LIMITED", headers={"Retry-After": str(math.ceil(wait))})

    def _client(self, scope: Scope) -> str:
        """Return who a request counts for; all without key and address are one client."""
        if "key" in scope["state"]:
            return f"key {scope['state']['key']}"
        address = client_address(scope, self._trusted)
        return "" if address is None else client_network(address)

    def _record_refusal(self, scope: Scope, routes: Sequence[Route], refusal: Refusal) -> None:
        """Write the line of a refused request: an endpoint's, where there is one at this path."""
        templates = [route.template for route in routes if route.endpoint is not None]
        record = RequestRecord(
            scope["state"]["request_id"],
            scope["method"],
            templates[0] if templates else None,
            path=None if templates else scope["path"],
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        record.status, record.code = REFUSALS[refusal.code].status, refusal.code
        self._observer.ended(record)


def _identified(scope: Scope, credential: Credential) -> Scope:
    """Return the request without its key, so that nothing below can pass it on; who sent it is in `state`."""
    scope["state"]["key"] = credential.name
    return {**scope, "headers": without_headers(scope["headers"], credential.headers)}


def _nothing_here(routes: Sequence[Route]) -> Refusal:
    if not routes:
        return Refusal("ENDPOINT_NOT_FOUND")
    return Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(methods_of(routes))})


def _limiters(config: GatewayConfig, routes: Sequence[Route]) -> dict[Route, RateLimiter]:
    """Return the endpoints' own limiters, and the gateway's, which all the others share."""
    shared = None if config.rate_limit is None else RateLimiter(config.rate_limit)
    limiters = {}
    for route in routes:
        if route.endpoint is not None:
            own = route.endpoint.rate_limit
            limiter = shared if own is None else RateLimiter(own)
            if limiter is not None:
                limiters[route] = limiter
    return limiters


def _forwarded_key_headers(route: Route) -> frozenset[bytes]:
    """Return the headers that may hold a key for us and may as well hold one for the upstream."""
    names = () if route.endpoint is None else route.endpoint.forward_headers
    return KEY_HEADERS & {name.lower().encode("ascii") for name in names}


async def _send_no_content(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
