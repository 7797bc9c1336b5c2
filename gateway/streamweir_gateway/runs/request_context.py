"""What all attempts of one request share."""

from __future__ import annotations

from collections.abc import Mapping

from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.runs.audience import Audience
from streamweir_gateway.runs.destination import Destination, Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.client import Opening

__all__ = ["RequestContext"]


class RequestContext:
    """What all attempts of one request share.

    Attributes:
        endpoint: what was called.
        incoming: the client's request, but for its body.
        body: of the client's request; released at the commit point.
        offers: what each upstream is sent, in the order in which they are asked.
        audience: gets the events.
        supervisor: of the run.
        record: is completed.
        observer: is told of attempts.
        opened: the first upstream's response, where it has been asked already.
    """

    __slots__ = (
        "audience",
        "body",
        "endpoint",
        "incoming",
        "observer",
        "offers",
        "opened",
        "record",
        "supervisor",
    )

    def __init__(  # noqa: PLR0913 (what one request consists of)
        self,
        endpoint: Endpoint,
        incoming: Incoming,
        body: RequestBody,
        offers: Mapping[Destination, Offer],
        *,
        audience: Audience,
        supervisor: RunSupervisor,
        record: RequestRecord,
        observer: Observer,
        opened: Opening | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.incoming = incoming
        self.body = body
        self.offers = offers
        self.audience = audience
        self.supervisor = supervisor
        self.record = record
        self.observer = observer
        self.opened = opened

    def let_go(self) -> None:
        """Nothing is going to be sent to an upstream any longer."""
        self.body.release()
        self.offers = {}
