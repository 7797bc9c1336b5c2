"""Which limits a request counts for: its endpoint's own, its caller's or the gateway's.

Source: the configuration contract (`rate_limit`, `auth.keys`).
"""

from __future__ import annotations

from collections.abc import Sequence

from streamweir_gateway.access.rate_limit import RateLimiter, rate_limited
from streamweir_gateway.config import RateLimit
from streamweir_gateway.routing import Route

__all__ = ["RequestRates"]


class RequestRates:
    """Counts the requests to endpoints; the gateway's own paths have no limit.

    Args:
        shared: over all endpoints that have no limit of their own.
        routes: what there is to call.
    """

    def __init__(self, shared: RateLimit | None, routes: Sequence[Route]) -> None:
        self._shared = None if shared is None else RateLimiter(shared)
        self._own = {
            route: RateLimiter(route.endpoint.rate_limit)
            for route in routes
            if route.endpoint is not None and route.endpoint.rate_limit is not None
        }

    def count(self, client: str, route: Route, callers: RateLimiter | None) -> None:
        """Count a request.

        Args:
            client: whose it is.
            route: what it calls.
            callers: the limiter of its key, in place of the gateway's.

        Raises:
            Refusal: it is one too many; then it does not count at all.
        """
        if route.endpoint is None:
            return
        own = self._own.get(route)
        general = self._shared if callers is None and own is None else callers
        counted: list[RateLimiter] = []
        for limiter in (limiter for limiter in (general, own) if limiter is not None):
            seconds = limiter.wait(client)
            if seconds > 0:
                for other in counted:
                    other.take_back(client)
                raise rate_limited(seconds)
            counted.append(limiter)
