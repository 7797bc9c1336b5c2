"""Counts a request for its limits: the limits of its endpoint, of its key and of the gateway.

Source: the configuration contract (`rate_limit`, `auth.keys`); the contract of resumable streams, section 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from streamweir.runs.store import RateStore, StoreUnavailable
from streamweir_gateway.access.rate_limit import RateLimiter, rate_limited
from streamweir_gateway.config import RateLimit
from streamweir_gateway.routing import Route

__all__ = ["RequestRates"]


class RequestRates:
    """Counts requests to endpoints and reads of runs. Other paths of the gateway have no limit.

    Attributes:
        is_shared: whether a store counts, so that counting has to be awaited.
        has_limits: whether a route has a limit, apart from those of keys.

    Args:
        shared: the limit that all endpoints without a configured limit share.
        routes: the routes.
        store: counts for all workers and replicas. If it is None or unreachable, each process counts alone.
    """

    def __init__(
        self, shared: RateLimit | None, routes: Sequence[Route], store: RateStore | None = None
    ) -> None:
        self._shared = None if shared is None else RateLimiter(shared)
        self._runs = None if shared is None else RateLimiter(shared)
        self._own = {
            route: RateLimiter(route.endpoint.rate_limit)
            for route in routes
            if route.endpoint is not None and route.endpoint.rate_limit is not None
        }
        self._store = store
        self.is_shared = store is not None
        self.has_limits = shared is not None or bool(self._own)

    def count(self, client: str, route: Route, callers: RateLimiter | None, method: str) -> None:
        """Count a request in this process.

        Args:
            client: the client.
            route: the route.
            callers: the limiter of the request's key, used in place of the gateway's.
            method: the method of the request.

        Raises:
            Refusal: a limit is exceeded. The request then counts for no limit.
        """
        counted: list[RateLimiter] = []
        for limit in self._limits(route, callers, method):
            seconds = limit.limiter.wait(client)
            if seconds > 0:
                for other in counted:
                    other.take_back(client)
                raise rate_limited(seconds)
            counted.append(limit.limiter)

    async def count_shared(self, client: str, route: Route, callers: RateLimiter | None, method: str) -> None:
        """Count a request in the store, or in this process if the store is unreachable.

        Raises:
            Refusal: a limit is exceeded. The request then counts for no limit.
        """
        store = self._store
        assert store is not None, "asked only where it is shared"
        counted: list[str] = []
        try:
            for limit in self._limits(route, callers, method):
                bucket = hashlib.sha256(f"{limit.scope}\0{client}".encode()).hexdigest()[:32]
                allowed = limit.limiter.limit
                seconds = await store.allow(bucket, allowed.requests, allowed.seconds)
                if seconds > 0:
                    for other in counted:
                        await store.take_back(other)
                    raise rate_limited(seconds)
                counted.append(bucket)
        except StoreUnavailable:
            self.count(client, route, callers, method)

    def _limits(self, route: Route, callers: RateLimiter | None, method: str) -> list[_Limit]:
        """Return the limiters for which a request counts."""
        if route.endpoint is None:
            reads_run = route.is_private and method == "GET"
            return [_Limit("runs", self._runs)] if reads_run and self._runs is not None else []
        limits = []
        own = self._own.get(route)
        if callers is not None:
            limits.append(_Limit("key", callers))
        elif own is None and self._shared is not None:
            limits.append(_Limit("gateway", self._shared))
        if own is not None:
            limits.append(_Limit(f"endpoint {route.template}", own))
        return limits


class _Limit(NamedTuple):
    scope: str
    limiter: RateLimiter
