"""What a caller may: which endpoints, how often, how many streams at a time.

Source: the configuration contract (`auth.keys`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from streamweir.http.refusals import Refusal
from streamweir_gateway.access.rate_limit import RateLimiter
from streamweir_gateway.config import Caller, EndpointConfig

__all__ = ["CallerLimits"]

RETRY_SECONDS: Final = 1
"""After how long to ask for a stream again: nobody knows when one ends."""


class CallerLimits:
    """Of one name in `auth.keys`; streams and requests are counted in this process.

    Attributes:
        rate: counts its requests; None: they count for the gateway's limit.
        open_streams: under way. Who serves a request adds it and takes it away.
        models: the only ones that it may ask; none: all.

    Args:
        name: of the key.
        caller: its configuration.
    """

    def __init__(self, name: str, caller: Caller) -> None:
        self._name = name
        self.rate = None if caller.rate_limit is None else RateLimiter(caller.rate_limit)
        self.open_streams = 0
        self._max_streams = caller.max_streams
        self._caller = caller
        self.models = frozenset(caller.models)

    def may_call(self, endpoint: EndpointConfig) -> bool:
        """Whether both the key's own `endpoints` and the endpoint's `auth` let it in."""
        return endpoint.lets_in(self._name, self._caller)

    def check_access(self, endpoints: Iterable[EndpointConfig]) -> None:
        """Let the caller call one of the endpoints at a path.

        Raises:
            Refusal: it may call none of them.
        """
        if not any(map(self.may_call, endpoints)):
            raise Refusal("FORBIDDEN")

    def check_room(self) -> None:
        """Let the caller begin a stream.

        Raises:
            Refusal: as many as it may have are under way.
        """
        if self._max_streams is not None and self.open_streams >= self._max_streams:
            raise Refusal("OVERLOADED", headers={"Retry-After": str(RETRY_SECONDS)})
