"""What all attempts of one request share."""

from __future__ import annotations

from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.audience import Audience
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStream
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.run_supervisor import RunSupervisor

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
        live: the stream, for those who listen to it.
        record: is completed.
        observer: is told of attempts.
        opened: the first upstream's response, where it has been asked already.
        warnings: of this request, sent right after `session_start`.
    """

    __slots__ = (
        "audience",
        "body",
        "endpoint",
        "incoming",
        "live",
        "observer",
        "offers",
        "opened",
        "record",
        "supervisor",
        "warnings",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        audience: Audience,
        supervisor: RunSupervisor,
        live: LiveStream,
        record: RequestRecord,
        observer: Observer,
    ) -> None:
        self.endpoint = endpoint
        self.incoming = prepared.incoming
        self.body = prepared.body
        self.offers = prepared.offers
        self.opened = prepared.opened
        self.warnings = prepared.warnings
        self.audience = audience
        self.supervisor = supervisor
        self.live = live
        self.record = record
        self.observer = observer

    def let_go(self) -> None:
        """Nothing is going to be sent to an upstream any longer."""
        self.body.release()
        self.offers = {}
