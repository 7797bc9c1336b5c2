"""The start of an exchange: sends the request, or takes over a request that has been sent."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import ClassVar, Final, Protocol

from streamweir_gateway.relay.relay_request import RelayBody
from streamweir_gateway.relay.relay_watch import RelayWatch
from streamweir_gateway.relay.request_stream import ClientBody
from streamweir_gateway.relay.service import Service
from streamweir_gateway.runs.admission import Permit
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["NEW_REQUEST", "NewRequest", "RequestStart"]


class RequestStart(Protocol):
    """The beginning of an exchange, up to the headers of the first response."""

    @property
    def is_sent(self) -> bool:
        """Whether the request has been sent to the upstream."""

    @property
    def seconds(self) -> float:
        """The seconds since the request arrived."""

    def body(self, client: ClientBody) -> Awaitable[RelayBody]:
        """Return the body of the request, or its beginning and a reader of the rest.

        Raises:
            Refusal: the body is too large.
            ClientGone: the client has left.
        """

    def permit(self, service: Service) -> Permit:
        """Return the request's permit at the upstream; the caller releases it.

        Raises:
            Overloaded, CircuitOpen: the upstream is not asked.
        """

    def send(
        self, service: Service, request: UpstreamRequest, watch: RelayWatch
    ) -> Awaitable[TransportResponse]:
        """Send the request, unless it has been sent. Return an awaitable for the headers of the response.

        Raises:
            Interrupted: the exchange was ended before its task began.
        """

    def close(self) -> None:
        """Release the permit and the connection, unless an exchange has taken them over."""


class NewRequest:
    """A request that has not been sent: the usual start, also used for every further attempt."""

    is_sent: ClassVar = False
    seconds: ClassVar = 0.0

    async def body(self, client: ClientBody) -> RelayBody:
        """Read the beginning of the body from the client."""
        return await client.begin()

    def permit(self, service: Service) -> Permit:
        """Ask the upstream's admission for a permit."""
        return service.destination.admission.admit()

    def send(
        self, service: Service, request: UpstreamRequest, watch: RelayWatch
    ) -> Awaitable[TransportResponse]:
        """Send the request."""
        destination = service.destination
        connect = destination.config.timeouts.connect
        return destination.client.send(request, connect_timeout=connect, on_connected=watch.request_sent)

    def close(self) -> None:
        """Do nothing, because a request that has not been sent holds no connection."""


NEW_REQUEST: Final = NewRequest()
