"""The values that all attempts of one request share."""

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

    def release_request(self) -> None:
        """Free the client's request, because no upstream will be asked any longer."""
        self.body.release()
        self.offers = {}
