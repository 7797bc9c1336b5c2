"""Which limits a request counts for: its endpoint's own, its caller's or the gateway's.

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
    """Counts the requests to endpoints; the gateway's own paths have no limit, but reading runs has.

    Args:
        shared: over all endpoints that have no limit of their own.
        routes: what there is to call.
        store: counts for all workers and replicas; None, or out of reach: each process counts for itself.
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

    @property
    def is_shared(self) -> bool:
        """A store counts, which has to be waited for."""
        return self._store is not None

    def count(self, client: str, route: Route, callers: RateLimiter | None, method: str) -> None:
        """Count a request here.

        Args:
            client: whose it is.
            route: what it calls.
            callers: the limiter of its key, in place of the gateway's.
            method: of the request.

        Raises:
            Refusal: it is one too many; then it does not count at all.
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
        """Count a request for all who share the store; where that is out of reach, here.

        Raises:
            Refusal: it is one too many; then it does not count at all.
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
        """Return what a request counts for."""
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
