"""The values that all attempts of one request share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from streamweir.events import Warning
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.runs.audience import Audience
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStream
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["RequestContext"]


class RequestContext(Struct, eq=False):
    """The values that all attempts of one request share.

    Attributes:
        endpoint: the called endpoint.
        incoming: the client's request without its body.
        body: the body of the client's request; released at the commit point.
        offers: the request for each upstream, in the order in which they are asked.
        audience: gets the events.
        supervisor: the supervisor of the run.
        live: the stream for watchers and taps.
        record: the record of the request; the attempts complete it.
        observer: gets reports of attempts.
        opened: the response of the first upstream, if it has been asked already; else None.
        warnings: sent right after `session_start`.
    """

    endpoint: Endpoint
    incoming: Incoming
    body: RequestBody
    offers: Mapping[Destination, Offer]
    audience: Audience
    supervisor: RunSupervisor
    live: LiveStream
    record: RequestRecord
    observer: Observer
    opened: TransportResponse | None = None
    warnings: Sequence[Warning] = ()

    def release_request(self) -> None:
        """Free the client's request, because no upstream will be asked any longer."""
        self.body.release()
        self.offers = {}
