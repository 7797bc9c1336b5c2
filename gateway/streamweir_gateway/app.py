"""The gateway as an ASGI application, made from a configuration.

Any ASGI server can run it. Features of the gateway's own server are in `connection/` (limits on headers) and
`processes/` (signals).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import Any

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.runs.store import RateStore
from streamweir.translation.taps import TapMaker, checked_makers
from streamweir_gateway.access.cors import CorsPolicy
from streamweir_gateway.access.edge_middleware import EdgeMiddleware
from streamweir_gateway.access.foreign_pages import ForeignPages
from streamweir_gateway.access.request_guard import RequestGuard
from streamweir_gateway.config import EndpointConfig, GatewayConfig, UpstreamConfig
from streamweir_gateway.connection.direct_exchange import Shortcut
from streamweir_gateway.demo_watchers import DemoWatchers
from streamweir_gateway.front_page import FrontPage, shows_index
from streamweir_gateway.observability.exposition import MetricsPage
from streamweir_gateway.observability.logs import LogSettings, request_log
from streamweir_gateway.observability.metrics import Metrics, make_metrics
from streamweir_gateway.observability.observer import Observer, RequestLog
from streamweir_gateway.observability.secrets import secrets_of
from streamweir_gateway.observability.watcher import RequestWatcher
from streamweir_gateway.relay.forwarded import Forwarding
from streamweir_gateway.relay.relay import Relay
from streamweir_gateway.relay.service import Service
from streamweir_gateway.relay.taskless_relays import TasklessRelays, may_relay_without_task
from streamweir_gateway.requests.conversations import Conversations, ConversationsOfWorker
from streamweir_gateway.requests.dropped_parameters import DROPPED_PARAMETERS
from streamweir_gateway.requests.kept_history import KeptHistory
from streamweir_gateway.requests.request_mapping import request_mapping
from streamweir_gateway.requests.socket_messages import websocket_settings
from streamweir_gateway.responses.front_door import front_door
from streamweir_gateway.resumption.response_routes import response_routes
from streamweir_gateway.resumption.resumable_proxy import ResumableProxy
from streamweir_gateway.resumption.resumption import Resumption
from streamweir_gateway.resumption.run_store import UpstreamRuns, open_runs, shared_store
from streamweir_gateway.routing import Route, RoutingTable, routes_of
from streamweir_gateway.runs.admission import Admissions
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.model_proxy import ModelProxy
from streamweir_gateway.runs.proxy import Proxy
from streamweir_gateway.runs.request_body import RequestBodies
from streamweir_gateway.turns.kept_turns import KeptTurns
from streamweir_gateway.upstream.client import UpstreamClients
from streamweir_gateway.upstream.via import Via

__all__ = ["GatewayApp", "build_app"]


def build_app(  # noqa: PLR0913 (one keyword for each thing that applications share)
    config: GatewayConfig,
    *,
    clients: UpstreamClients | None = None,
    streams: LiveStreams | None = None,
    bodies: RequestBodies | None = None,
    log: RequestLog | None = None,
    metrics: Metrics | None = None,
    conversations: ConversationsOfWorker | None = None,
    runs: UpstreamRuns | None = None,
    via: Via | None = None,
    taps: Iterable[TapMaker] = (),
    watcher: RequestWatcher | None = None,
) -> GatewayApp:
    """Return the application that serves `config`.

    Args:
        config: the complete configuration.
        clients: sends requests to upstreams.
        streams: keeps the streams under way; pass an object of your own to end or watch streams.
        bodies: bounds the memory of request bodies; shared with an application that is replaced.
        log: takes a line for each finished request; None: standard error.
        metrics: counts requests; shared with an application that is replaced.
        conversations: the conversations of clients with upstreams; shared with an application that is
            replaced.
        runs: the stored runs; shared with an application that is replaced.
        via: the mark of requests to upstreams; None: a new mark.
        taps: callables that take the scope of a request when its stream begins and return an `EventTap`,
            which follows the stream, or None.
        watcher: gets the record of each finished request.

    Raises:
        ConfigurationError: `taps` is not a list of callables.
    """
    via = Via() if via is None else via
    owns_runs = runs is None
    metrics = make_metrics() if metrics is None else metrics
    runs = open_runs(config, metrics) if runs is None else runs
    gateway = _Gateway(
        config,
        UpstreamClients() if clients is None else clients,
        LiveStreams() if streams is None else streams,
        RequestBodies(config.server.body_bytes) if bodies is None else bodies,
        Observer(
            request_log(settings=LogSettings.of(config.server)) if log is None else log,
            metrics,
            endpoints=[endpoint.template for endpoint in config.endpoints],
            secrets=secrets_of(config),
            watcher=watcher,
        ),
        ConversationsOfWorker(shared_store(config, runs)) if conversations is None else conversations,
        runs,
        via=via,
        owns_runs=owns_runs,
        taps=checked_makers(taps),
    )
    routes = routes_of(
        config,
        serve=gateway.serve,
        streams=gateway.streams,
        metrics=MetricsPage(lambda: gateway.observer.metrics.registry),
        index=gateway.front_page(lambda: requests, has_console=watcher is not None)
        if shows_index(config)
        else None,
        runs=gateway.runs_routes(),
        responses=gateway.responses_routes(),
    )
    own = [route for route in routes if route.endpoint is None and not route.needs_key]
    if config.server.admin is not None:
        routes = [route for route in routes if route not in own]
    cors = None if config.cors is None else CorsPolicy(config.cors)
    guard = RequestGuard(config, routes, cors, gateway.observer, via, gateway.rates)
    requests = EdgeMiddleware(guard, cors)
    admin = EdgeMiddleware(RequestGuard(config, own, None, gateway.observer, via), None)
    lifespan = Router(lifespan=gateway.lifespan)
    return GatewayApp(requests, admin, lifespan, gateway.taskless_relays(routes), gateway.admissions)


class GatewayApp:
    """The outermost application: passes requests to one inner application, and lifespan messages to another.

    Attributes:
        requests: serves HTTP.
        admin: serves only the gateway's own paths, for a separate address.
        admissions: the admissions of the upstreams.
        shortcut: takes requests that need no task; None: every request needs a task.
        until_idle: waits until no request is open.

    Args:
        requests: becomes the attribute.
        admin: becomes the attribute.
        others: starts and stops the gateway, and refuses WebSockets.
        taskless: takes the requests that are relayed without a task; None: every request needs a task.
        admissions: the admissions of the upstreams.
    """

    def __init__(
        self,
        requests: EdgeMiddleware,
        admin: ASGIApp,
        others: Router,
        taskless: TasklessRelays | None,
        admissions: Admissions,
    ) -> None:
        self.admissions = admissions
        self._taskless = taskless
        self.shortcut: Shortcut | None = taskless
        self.admin = admin
        self.until_idle = requests.until_idle
        self.requests = requests
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Servers take an application for ASGI 2 if this is no coroutine function."""
        await (self.requests if scope["type"] == "http" else self._others)(scope, receive, send)

    async def settle(self) -> None:
        """Stop relaying requests without a task; return when each open request has a task."""
        if self._taskless is not None:
            await self._taskless.settle()

    def lifespan(self) -> AbstractAsyncContextManager[object]:
        """Return a context manager within which the application can serve and demo backends run.

        It is for callers without a server that sends the messages of the lifespan protocol.
        """
        return self._others.lifespan_context(self)


class _Gateway:
    """The objects that the endpoints share."""

    def __init__(  # noqa: PLR0913 (what the endpoints share)
        self,
        config: GatewayConfig,
        clients: UpstreamClients,
        streams: LiveStreams,
        bodies: RequestBodies,
        observer: Observer,
        conversations: ConversationsOfWorker,
        runs: UpstreamRuns,
        *,
        via: Via,
        owns_runs: bool,
        taps: Sequence[TapMaker],
    ) -> None:
        self._resumption = Resumption(runs, config.server.runs, streams, observer)
        self._owns_runs = owns_runs
        self._via = via
        self._taps = taps
        self._conversations = conversations
        self.streams = streams
        self._bodies = bodies
        self._config = config
        self._clients = clients
        self.observer = observer
        self.admissions = Admissions(observer.breaker_changed)
        self._demos: Mapping[str, str] = {}
        self._demo_watchers = DemoWatchers()
        self._late: list[_MadeLater] = []

    @asynccontextmanager
    async def lifespan(self, _app: object) -> AsyncIterator[None]:
        """Run the demo backends that endpoints need; close every connection at the end."""
        async with AsyncExitStack() as stack:
            if names := self._demo_names():
                from streamweir_gateway.demo import serve_demos  # noqa: PLC0415 - few gateways have any

                dialects = [self._config.known_dialects.to_write(name) for name in names]
                self._demos = await stack.enter_async_context(
                    serve_demos(dialects, watchers=self._demo_watchers)
                )
            for late in self._late:
                _ = late.app
            stack.push_async_callback(self._clients.aclose)
            if self._owns_runs:
                stack.push_async_callback(self._resumption.service.aclose)
            stack.push_async_callback(self._resumption.until_done)
            yield

    def front_page(self, gateway: Callable[[], ASGIApp], *, has_console: bool) -> FrontPage:
        """Return the page at `/`. Its trials send their requests through `gateway`."""
        return FrontPage(self._config, gateway, self._demo_watchers, has_console=has_console)

    def serve(self, config: EndpointConfig) -> ASGIApp:
        """Return the application behind an endpoint."""
        if all(target.demo is None for target in config.upstreams):
            return self._proxy(config)
        late = _MadeLater(lambda: self._proxy(config))  # a demo's address is known once it runs
        self._late.append(late)
        return late

    def _demo_names(self) -> list[str]:
        targets = (target for endpoint in self._config.endpoints for target in endpoint.upstreams)
        return sorted({target.demo for target in targets if target.demo is not None})

    def _proxy(self, config: EndpointConfig) -> ASGIApp:
        if config.relays_all:
            return self._relay(config)
        shared: Any = {"streams": self.streams, "bodies": self._bodies, "observer": self.observer}
        if config.models:
            own = {
                name: self._endpoint(config.for_model(name))
                for name, model in config.models.items()
                if model.alias is None
            }
            endpoints = {name: own[config.resolved_model(name)] for name in config.models}
            return ModelProxy(endpoints, **shared)
        endpoint = self._endpoint(config)
        if config.resume is not None:
            return ResumableProxy(endpoint, self._resumption, **shared)
        return Proxy(endpoint, **shared)

    def _endpoint(self, config: EndpointConfig) -> Endpoint:
        destinations = [self._destination(config, upstream) for upstream in config.upstreams]
        dialects = self._config.known_dialects
        mapping = request_mapping(
            config,
            dialects,
            self._conversations_of(config),
            dropped=DROPPED_PARAMETERS,
            turns=self._turns_of(config),
            history=self._history_of(config),
        )
        return Endpoint(
            config,
            destinations,
            dialects=dialects,
            debug=self._config.debug,
            allows_cookies=self._config.cors is not None and self._config.cors.credentials,
            mapping=mapping,
            front_door=front_door(config, mapping, dialects, self._resumption.service.store),
            taps=self._taps,
        )

    @property
    def rates(self) -> RateStore | None:
        """The store that counts requests for all workers and replicas; None: each process counts its own."""
        store = self._resumption.service.store
        return store if isinstance(store, RateStore) else None

    def runs_routes(self) -> list[Route]:
        """Return the routes at which runs are read; empty if no endpoint stores runs."""
        kept = [endpoint for endpoint in self._config.endpoints if endpoint.resume is not None]
        if not kept:
            return []
        return self._resumption.routes(are_open=any(endpoint.needs_no_key for endpoint in kept))

    def responses_routes(self) -> list[Route]:
        """Return the routes at which the responses of endpoints are read, deleted and cancelled."""
        return response_routes(self._config, self._resumption, self.observer)

    def _relay(self, config: EndpointConfig) -> Relay:
        forwarding = Forwarding(self._config.server.trusted_proxies, self._via)
        services = [self._service(config, upstream, forwarding) for upstream in config.upstreams]
        return Relay(services, streams=self.streams, observer=self.observer)

    def taskless_relays(self, routes: Sequence[Route]) -> TasklessRelays | None:
        """Return the relays of requests without a task; None if every request needs a check."""
        config = self._config
        if config.auth or config.cors or config.rate_limit or self.rates is not None:
            return None
        services = {
            route: route.app.first
            for route in routes
            if isinstance(route.app, Relay)
            and route.endpoint is not None
            and may_relay_without_task(route.endpoint)
        }
        if not services:
            return None
        return TasklessRelays(
            RoutingTable(routes),
            services,
            pages=ForeignPages(self._config),
            streams=self.streams,
            observer=self.observer,
        )

    def _service(self, config: EndpointConfig, upstream: UpstreamConfig, forwarding: Forwarding) -> Service:
        endpoint = Endpoint(
            config,
            [self._destination(config, upstream)],
            dialects=self._config.known_dialects,
            debug=self._config.debug,
            taps=self._taps,
        )
        return Service(endpoint, upstream, self._url(upstream), forwarding)

    def _url(self, upstream: UpstreamConfig) -> str:
        return upstream.url if upstream.demo is None else self._demos[upstream.demo]

    def _conversations_of(self, config: EndpointConfig) -> Conversations | None:
        if config.threads is None:
            return None
        return self._conversations.of(config.template, config.threads.keep, config.threads.max)

    def _turns_of(self, config: EndpointConfig) -> KeptTurns | None:
        turns = config.turns
        if turns is None:
            return None
        store = self._resumption.service.store
        return KeptTurns(store, keep=turns.keep, max_bytes=turns.max_bytes)

    def _history_of(self, config: EndpointConfig) -> KeptHistory | None:
        if config.history != "kept" or config.turns is None:
            return None
        return KeptHistory(self._resumption.service.store, config.template, config.turns.keep)

    def _destination(self, endpoint: EndpointConfig, upstream: UpstreamConfig) -> Destination:
        return Destination(
            endpoint,
            upstream,
            self._url(upstream),
            client=self._clients.of(upstream, websocket_settings(endpoint, upstream)),
            admission=self.admissions.of(upstream),
            dialects=self._config.known_dialects,
            via=self._via,
            debug=self._config.debug,
        )


class _MadeLater:
    """Makes an application at the first request to it, after the gateway has started."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)

    @cached_property
    def app(self) -> ASGIApp:
        """Return the application. It is made at the first call."""
        return self._make()
