"""The limits of one key: its endpoints, its rate and its number of open streams.

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
"""The seconds after which a client may ask for a stream again. The end of a stream cannot be predicted."""


class CallerLimits:
    """The limits of one entry of `auth.keys`. Streams and requests are counted in this process.

    Attributes:
        rate: counts the requests of the key; None if they count for the gateway's limit.
        open_streams: the number of open streams; the code that serves a stream changes it.
        models: the models that the key may ask; empty: all models.

    Args:
        name: the name of the key.
        caller: the configuration of the key.
    """

    def __init__(self, name: str, caller: Caller) -> None:
        self._name = name
        self.rate = None if caller.rate_limit is None else RateLimiter(caller.rate_limit)
        self.open_streams = 0
        self._max_streams = caller.max_streams
        self._caller = caller
        self.models = frozenset(caller.models)

    def may_call(self, endpoint: EndpointConfig) -> bool:
        """Return whether both the `endpoints` of the key and the `auth` of the endpoint allow the call."""
        return endpoint.lets_in(self._name, self._caller)

    def check_access(self, endpoints: Iterable[EndpointConfig]) -> None:
        """Check that the caller may call at least one of the endpoints at a path.

        Raises:
            Refusal: the caller may not call any of the endpoints.
        """
        if not any(map(self.may_call, endpoints)):
            raise Refusal("FORBIDDEN")

    def close_stream(self) -> None:
        """Count a stream that has ended."""
        self.open_streams -= 1

    def check_room(self) -> None:
        """Check that the caller may begin a stream.

        Raises:
            Refusal: the caller has reached its limit of open streams.
        """
        if self._max_streams is not None and self.open_streams >= self._max_streams:
            raise Refusal("OVERLOADED", headers={"Retry-After": str(RETRY_SECONDS)})
