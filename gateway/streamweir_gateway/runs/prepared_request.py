"""A client's request, ready to be sent to an upstream."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from streamweir.events import Warning
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.responses.response_keeper import ResponseKeeper
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["PreparedRequest"]


class PreparedRequest(Struct, frozen=True):
    """A client's request, in the form in which the upstreams of its endpoint need it.

    Attributes:
        incoming: the client's request without its body.
        request: the request to the first upstream, without its body.
        body: the body of the client's request.
        offers: the request for each upstream, in the order in which they are asked.
        opened: the response of the first upstream, if it has been asked already; else None.
        warnings: sent right after `session_start`.
        keeper: stores the response before the client learns of its end; None: the response is not stored.
    """

    incoming: Incoming
    request: UpstreamRequest
    body: RequestBody
    offers: Mapping[Destination, Offer]
    opened: TransportResponse | None = None
    warnings: tuple[Warning, ...] = ()
    keeper: ResponseKeeper | None = None

    @property
    def is_background(self) -> bool:
        """Whether the run goes on if the client leaves."""
        return self.keeper is not None and self.keeper.is_background
