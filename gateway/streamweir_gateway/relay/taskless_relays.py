"""Decides which requests are relayed without a task, and keeps the requests that are under way.

A request qualifies only if no check has to wait or belongs to another layer: it needs no key, counts for no
rate, and has neither CORS nor a protocol that the client chooses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import takewhile
from typing import Final

from streamweir.http.headers import REQUEST_ID, request_id_of
from streamweir_gateway.access.foreign_pages import ForeignPages
from streamweir_gateway.config import EndpointConfig
from streamweir_gateway.connection.direct_exchange import DirectExchange
from streamweir_gateway.connection.scope import parted_target
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.trace_context import TraceContext, new_ids, trace_context_of
from streamweir_gateway.relay.service import Service
from streamweir_gateway.relay.taskless_relay import TasklessRelay
from streamweir_gateway.routing import Route, RoutingTable
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.upstream_target import NoSuchPath
from streamweir_gateway.upstream.transport import WholeResponse

__all__ = ["TasklessRelays", "may_relay_without_task"]

LONGEST_SECONDS: Final = 0.05
"""The seconds after which an unanswered request continues in a task, which has the clocks of an exchange."""

MOST_REMEMBERED: Final = 512
"""The most targets whose routes are cached."""

LONGEST_REMEMBERED: Final = 256
"""The most characters of a target that is cached."""

_UNUSUAL: Final = frozenset(
    {b"upgrade", b"sec-websocket-key", b"x-streamweir-protocol", b"max-forwards", b"via"}
)
"""Headers of requests that ask for more than plain relaying."""


class TasklessRelays:
    """The `Shortcut` of a gateway that asks clients for nothing, such as keys.

    Args:
        table: finds the route of a path.
        services: the services to which requests may be relayed without a task, by their routes.
        pages: recognises requests of foreign pages, which a task refuses.
        streams: keeps the requests under way.
        observer: gets a record of every request.
    """

    def __init__(
        self,
        table: RoutingTable,
        services: Mapping[Route, Service],
        *,
        pages: ForeignPages,
        streams: LiveStreams,
        observer: Observer,
    ) -> None:
        self._table = table
        self._pages = pages
        self._services = services
        self._streams = streams
        self._observer = observer
        self._lines: dict[tuple[str, bytes], tuple[Service, bytes]] = {}
        self._under_way: dict[TasklessRelay, None] = {}  # the oldest first
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    def __call__(self, exchange: DirectExchange) -> bool:
        """Relay a request without a task; return False if the request needs a task."""
        if self._is_closed or self._streams.draining or not exchange.may_write:
            return False
        head = exchange.head
        if head.method == "HEAD" or head.version != "1.1" or not _UNUSUAL.isdisjoint(exchange.fields):
            return False
        if self._may_be_foreign(exchange):
            return False
        line = self._request_line(head.method, head.target)
        return line is not None and self._begin(exchange, *line)

    def _may_be_foreign(self, exchange: DirectExchange) -> bool:
        """Return whether a foreign page may be the sender: no `Origin`, and not the gateway's `Host`."""
        fields = exchange.fields
        is_unnamed_page = b"sec-fetch-site" in fields and b"origin" not in fields
        return is_unnamed_page and not self._pages.has_own_host(exchange.head.headers, may_be_address=True)

    async def settle(self) -> None:
        """Let no more requests begin; return when each request under way has a task."""
        self._is_closed = True
        for relay in tuple(self._under_way):
            relay.go_on()
        await asyncio.sleep(0)  # tasks begin in the order in which they were made

    def _request_line(self, method: str, target: bytes) -> tuple[Service, bytes] | None:
        """Return the service to ask and the request line; None if the request needs a task."""
        found = self._lines.get((method, target))
        if found is None and (found := self._new_request_line(method, target)) is not None:
            if len(target) > LONGEST_REMEMBERED or b"?" in target:  # a query is mostly another one each time
                return found
            if len(self._lines) >= MOST_REMEMBERED:
                self._lines.clear()
            self._lines[method, target] = found
        return found

    def _new_request_line(self, method: str, target: bytes) -> tuple[Service, bytes] | None:
        path, raw_path, query = parted_target(target)
        found = self._table.find(method, path, raw_path.decode("latin-1"))
        service = None if found is None else self._services.get(found.route)
        if found is None or service is None:
            return None
        requests = service.requests
        try:
            return service, requests.request_line(method, requests.target(found.path_params, query))
        except (NoSuchPath, ValueError):  # which is answered elsewhere
            return None

    def _begin(self, exchange: DirectExchange, service: Service, line: bytes) -> bool:
        """Send a request; return False if sending would have to wait."""
        destination = service.destination
        if len(exchange.body) > service.endpoint.config.limits.request_bytes:
            return False
        permit = destination.admission.admit_if_healthy()
        if permit is None:
            return False
        request_id, trace = self._ids(exchange)
        try:
            head = service.requests.head(exchange, line, request_id, trace)
        except ValueError:
            sent = None
        else:
            sent = destination.client.begin(service.requests.origin, head, exchange.body)
        if sent is None:
            permit.release()
            return False
        relay = TasklessRelay(
            exchange, service, sent, permit=permit, request_id=request_id, trace=trace, on_over=self._over
        )
        self._under_way[relay] = None
        self._streams.add(relay)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONGEST_SECONDS, self._look)
        return True

    def _ids(self, exchange: DirectExchange) -> tuple[str, TraceContext]:
        """Return the id of a request, and its trace."""
        headers = exchange.head.headers
        request_id, trace = new_ids()
        if REQUEST_ID in exchange.fields:
            request_id = request_id_of(headers)
        if b"traceparent" in exchange.fields:
            trace = trace_context_of(headers)
        return request_id, trace

    def _over(self, relay: TasklessRelay, response: WholeResponse | None) -> None:
        del self._under_way[relay]
        self._streams.discard(relay)
        if response is None:
            return
        self._observer.relayed(
            relay.request_id,
            trace_id=relay.trace.trace_id,
            method=relay.method,
            endpoint=relay.service.endpoint.config.template,
            upstream=relay.service.destination.label,
            status=response.status,
            size=len(response.body),
            began=relay.began,
        )

    def _look(self) -> None:
        """Hand over requests that take long. One timer serves all: a timer for each would cost too much."""
        self._timer = None
        for relay in [*takewhile(lambda each: each.seconds >= LONGEST_SECONDS, self._under_way)]:
            relay.go_on()
        if self._under_way:
            self._timer = asyncio.get_running_loop().call_later(LONGEST_SECONDS, self._look)


def may_relay_without_task(endpoint: EndpointConfig) -> bool:
    """Return whether requests to an endpoint may be relayed without a task.

    They may if they are not counted and none of their clocks can run out within `LONGEST_SECONDS`.
    """
    clocks = [
        seconds
        for upstream in endpoint.upstreams
        for seconds in (upstream.timeouts.first_event, upstream.timeouts.total)
    ]
    is_counted = endpoint.rate_limit is not None
    return not is_counted and all(one is None or one > 2 * LONGEST_SECONDS for one in clocks)
