"""Checks each request before it is served: foreign page, path, key and rate.

If keys are required, a request without a valid key gets the same 401 for every path except the gateway's own
paths, so that endpoints cannot be discovered by trying.

Source: the configuration contract (`auth`, `rate_limit`, `cors`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.codec.dialect import Dialect
from streamweir.http.headers import HeaderList
from streamweir.http.negotiation import expected_protocol
from streamweir.http.paths import path_within
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.sending import send_nothing
from streamweir.runs.store import RateStore
from streamweir_gateway.access.caller_limits import CallerLimits
from streamweir_gateway.access.client_address import client_address, client_network
from streamweir_gateway.access.cors import CorsPolicy, is_preflight
from streamweir_gateway.access.edge_middleware import PRIVATE, RELAYS_ALL
from streamweir_gateway.access.foreign_pages import ForeignPages
from streamweir_gateway.access.identification import Identification
from streamweir_gateway.access.keys import KEY_HEADERS, has_key, without_headers
from streamweir_gateway.access.relayed_preflight import serve_preflight
from streamweir_gateway.access.request_rates import RequestRates
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.handshakes import OFFERED, TUNNEL, HandedOver, OfferedKey, is_handshake, offered_key
from streamweir_gateway.observability.cookie_hint import cookie_hint, is_foreign_page, sends_cookies
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.remembered_headers import memo_of
from streamweir_gateway.routing import Found, Route, RoutingTable, methods_of, raw_path_of
from streamweir_gateway.upstream.via import Via

__all__ = ["RequestGuard"]

_NOT_LET_IN: Final = frozenset({"FORBIDDEN", "UNAUTHENTICATED"})


class _Place(Struct, frozen=True):
    """The facts that follow from the method, the path, the headers and the connection of a request.

    It is remembered, with the check of the sender, for requests with equal headers on one connection.
    """

    found: Found | None
    """The route that serves the request; None without such a route."""
    routes: Sequence[Route]
    """That route; without it, the routes of the path for other methods."""
    is_open: bool
    """Whether no key is required."""
    is_judged_there: bool
    """Whether a whole service is behind the route, which checks its requests itself."""
    state: Mapping[str, Any]
    """The values for other layers in the `state` of the request."""

    @property
    def has_values(self) -> bool:
        """Whether the path has values of its own, so that few requests repeat it."""
        return self.found is not None and bool(self.found.path_params)


_Admitted: TypeAlias = tuple[Route, Scope, CallerLimits | None]
"""The route of a request that passed all checks, its scope without keys of the gateway, and its key's limits.

The limits are None without a key.
"""


class RequestGuard:
    """Refuses requests, or passes them to their route.

    Args:
        config: the configuration of the gateway.
        routes: the routes.
        cors: answers preflights; None if they are ordinary requests.
        observer: gets a record of every refused request.
        via: recognises requests that this gateway has sent itself.
        rates: counts requests of all workers and replicas; None if each process counts for itself.
    """

    def __init__(
        self,
        config: GatewayConfig,
        routes: Sequence[Route],
        cors: CorsPolicy | None,
        observer: Observer,
        via: Via,
        rates: RateStore | None = None,
    ) -> None:
        callers = config.auth.keys if config.auth is not None else {}
        self._table = RoutingTable(routes)
        self._identification = Identification(callers) if callers else None
        self._foreign_pages = ForeignPages(config)
        self._callers = {name: CallerLimits(name, caller) for name, caller in callers.items()}
        self._rates = RequestRates(config.rate_limit, routes, rates)
        self._foreign = {route: _forwarded_key_headers(route) for route in routes}
        self._trusted = config.server.trusted_proxies
        self._runs = config.server.runs if any(route.is_private for route in routes) else None
        self._cors = cors
        self._observer = observer
        self._via = via
        self._dialects = config.known_dialects
        self._allows_cookies = config.cors is not None and config.cors.credentials
        self._serves_at_once = (
            cors is None
            and self._identification is None
            and not (self._rates.is_shared or self._rates.has_limits)
        )
        """Whether nothing is left to check in a request that repeats one which was let in."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request.

        This is not a coroutine function, because every stream would keep a coroutine more.
        """
        memo = memo_of(scope["headers"])
        key = self, scope["method"], scope["path"], scope.get("raw_path"), scope.get("root_path")
        known: _Place | None = None if memo is None else memo.get(key)
        place = known or self._place(scope)
        found, routes = place.found, place.routes
        scope["state"].update(place.state)
        if known is not None and found is not None and self._serves_at_once:
            scope["path_params"] = found.path_params
            return found.route.app(scope, receive, send)
        try:
            offer = None if known is not None else self._checked_sender(scope, place)
            if known is None and memo is not None and offer is None and not place.has_values:
                memo.put(key, place)
            if self._cors is not None and is_preflight(scope):
                methods = methods_of(self._table.routes_at(path_within(scope), raw_path_of(scope)))
                preflight = partial(self._cors.preflight, scope["headers"], methods)
                if found is None or not (place.is_judged_there and place.is_open):
                    return send_nothing(send, preflight())
                scope["path_params"] = found.path_params
                return serve_preflight(found.route.app, scope, receive, send, preflight)
            admitted = self._admitted(scope, found, routes, offer)
        except Refusal as refusal:
            return self._refuse(scope, routes, refusal, send)
        if self._rates.is_shared:
            return self._count_and_serve(admitted, receive, send)
        return _serve(admitted, receive, send)

    async def _count_and_serve(self, admitted: _Admitted, receive: Receive, send: Send) -> None:
        """Count a request in the store of rates, then serve it or refuse it."""
        route, scope, caller = admitted
        try:
            rate = None if caller is None else caller.rate
            await self._rates.count_shared(_client(scope), route, rate, scope["method"])
        except Refusal as refusal:
            await self._refuse(scope, [route], refusal, send)
        else:
            await _serve(admitted, receive, send)

    def _place(self, scope: Scope) -> _Place:
        path, raw_path = path_within(scope), raw_path_of(scope)
        found = self._table.find(scope["method"], path, raw_path)
        routes = [found.route] if found is not None else self._table.routes_at(path, raw_path)
        is_judged_there = found is not None and found.route.relays_all
        state = {
            "client": client_address(scope, self._trusted),
            PRIVATE: self._is_private(path),
            RELAYS_ALL: is_judged_there,
        }
        return _Place(found, routes, self._is_open(routes), is_judged_there, state)

    def _checked_sender(self, scope: Scope, place: _Place) -> OfferedKey | None:
        """Check the program or page that sends a request; return the offer of a handshake, else None.

        Raises:
            Refusal: the gateway has sent the request itself, or a foreign page has.
        """
        self._via.check(scope["headers"])
        offer = None
        if is_handshake(scope):
            offer = offered_key(scope["headers"])
            scope["headers"], scope["state"][OFFERED] = [*offer.headers], offer.has_offer
        if place.is_open:
            self._foreign_pages.check(scope, is_judged_there=place.is_judged_there)
        return offer

    def _is_open(self, routes: Sequence[Route]) -> bool:
        """Return whether no key is required: there are no keys, or every endpoint at the path is open."""
        if self._identification is None:
            return True
        return bool(routes) and all(route.needs_no_key for route in routes)

    def _is_private(self, path: str) -> bool:
        """Return whether the response depends on the caller. For the paths of runs, even a 404 does."""
        runs = self._runs
        return runs is not None and (path == runs or path.startswith(f"{runs}/"))

    def _admitted(
        self, scope: Scope, found: Found | None, routes: Sequence[Route], offer: OfferedKey | None
    ) -> _Admitted:
        """Run all checks for a request. Only a handshake has an `offer`, its subprotocols.

        Raises:
            Refusal: a check failed.
        """
        caller = None
        if self._identification is not None:
            offered = None if offer is None else offer.key
            scope, caller = self._identified(self._identification, scope, found, routes, offered)
        if offer is not None and any(route.endpoint and not route.relays_all for route in routes):
            raise Refusal("WEBSOCKET_UNSUPPORTED", headers={"Connection": "close"})
        if found is None:
            raise _nothing_here(routes)
        if caller is not None:
            caller.check_room()
        rate = None if caller is None else caller.rate
        if not self._rates.is_shared and (rate is not None or self._rates.has_limits):
            self._rates.count(_client(scope), found.route, rate, scope["method"])
        scope["path_params"] = found.path_params
        return found.route, scope, caller

    def _identified(
        self,
        identification: Identification,
        scope: Scope,
        found: Found | None,
        routes: Sequence[Route],
        offered: bytes | None,
    ) -> tuple[Scope, CallerLimits | None]:
        """Return the scope without the key, and the limits of the key; None if no key is required.

        Raises:
            Refusal: a key is required, and is missing, wrong, or not allowed here.
        """
        endpoints = [endpoint for route in routes for endpoint in route.endpoints]
        if routes and not endpoints and not any(route.needs_key for route in routes):
            return scope, None
        if self._is_open(routes):
            return {**scope, "headers": identification.without_keys(scope["headers"])}, None
        if found is not None and _needs_no_key(found.route, identification, scope["headers"]):
            self._foreign_pages.check(scope)
            scope["state"]["endpoints"] = [endpoint for endpoint in endpoints if endpoint.needs_no_key]
            return scope, None
        foreign = self._foreign[found.route] if found is not None else frozenset()
        credential = identification.credential(
            scope["headers"], address=_network(scope), foreign=foreign, offered=offered
        )
        caller = self._callers[credential.name]
        scope["state"].update(
            key=credential.name,
            models=caller.models,
            endpoints=[endpoint for endpoint in endpoints if caller.may_call(endpoint)],
        )
        if endpoints:
            caller.check_access(endpoints)
        if found is not None and found.route.keeps_key:
            return scope, caller
        return {**scope, "headers": without_headers(scope["headers"], credential.headers)}, caller

    def _expected_protocol(self, scope: Scope, routes: Sequence[Route]) -> Dialect | None:
        """Return the protocol of a refusal. Without a valid key, it depends on the request only."""
        is_known = self._is_open(routes) or "key" in scope["state"]
        endpoints = [route.endpoint for route in routes if route.endpoint is not None]
        answers = endpoints[0].answers if endpoints and is_known else ()
        return expected_protocol(
            scope["headers"], scope["query_string"], scope["path"], answers, self._dialects
        )

    async def _refuse(self, scope: Scope, routes: Sequence[Route], refusal: Refusal, send: Send) -> None:
        """Answer a refused request, and write its log line."""
        record = self._record_of(scope, routes, refusal)
        try:
            sent = await send_refusal(
                send,
                refusal,
                request_id=record.request_id,
                protocol=self._expected_protocol(scope, routes),
            )
            record.bytes_out = 0 if scope["method"] == "HEAD" else sent
        finally:
            self._observer.ended(record)

    def _record_of(self, scope: Scope, routes: Sequence[Route], refusal: Refusal) -> RequestRecord:
        """Return the record of a refused request, with the endpoint if the path has an endpoint."""
        templates = [route.template for route in routes if route.endpoint is not None]
        record = RequestRecord(
            scope["state"]["request_id"],
            scope["method"],
            templates[0] if templates else None,
            path=None if templates else scope["path"],
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        record.refused(refusal.code, scope["state"]["client"])
        if refusal.code in _NOT_LET_IN:
            record.hint = self._cookie_hint(scope["headers"], routes)
        return record

    def _cookie_hint(self, headers: HeaderList, routes: Sequence[Route]) -> str | None:
        """Return the hint about cookies for a refused foreign page; None for any other request."""
        endpoints = [route.endpoint for route in routes if route.endpoint is not None]
        if not endpoints or any(_passes_cookies(endpoint) for endpoint in endpoints):
            return None
        if not (sends_cookies(headers) and is_foreign_page(headers)):
            return None
        return cookie_hint(headers, allows_cookies=self._allows_cookies)


def _serve(admitted: _Admitted, receive: Receive, send: Send) -> Awaitable[None]:
    """Return the awaitable that serves the request: one more would take memory as long as the stream."""
    route, scope, caller = admitted
    if caller is None:
        return route.app(scope, receive, send)
    return _serve_counted(route.app, scope, caller, receive, send)


async def _serve_counted(
    app: ASGIApp, scope: Scope, caller: CallerLimits, receive: Receive, send: Send
) -> None:
    """Serve a request while it counts among the open streams of its caller."""
    caller.open_streams += 1
    try:
        await app(scope, receive, send)
    finally:
        handed_over: HandedOver | None = scope["state"].get(TUNNEL)
        if handed_over is None:
            caller.close_stream()
        else:
            handed_over.on_closed(caller.close_stream)


def _needs_no_key(route: Route, identification: Identification, headers: HeaderList) -> bool:
    """Return whether a request needs no key, at a path that also serves requests with keys.

    A request for a run of an open endpoint may have headers for the service, which are not keys of the
    gateway.
    """
    if route.shows_open_runs:
        return identification.known(headers) is None
    return route.is_partly_open and not has_key(headers)


def _passes_cookies(endpoint: EndpointConfig) -> bool:
    return endpoint.relays_all or "cookie" in map(str.lower, endpoint.forward_headers)


def _client(scope: Scope) -> str:
    """Return the client for which a request is counted. Requests without key and address share one."""
    key = scope["state"].get("key")
    return _network(scope) if key is None else f"key {key}"


def _network(scope: Scope) -> str:
    address = scope["state"]["client"]
    return "" if address is None else client_network(address)


def _nothing_here(routes: Sequence[Route]) -> Refusal:
    if not routes:
        return Refusal("ENDPOINT_NOT_FOUND")
    return Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(methods_of(routes))})


def _forwarded_key_headers(route: Route) -> frozenset[bytes]:
    """Return the names of headers that may contain either a key for the gateway or a key for the upstream."""
    if route.relays_all:
        return KEY_HEADERS
    names = () if route.endpoint is None else route.endpoint.forward_headers
    return KEY_HEADERS & {name.lower().encode("ascii") for name in names}
