"""One client's request: the run for it, and the delivery of the run's stream."""

from __future__ import annotations

from starlette.types import Scope

from streamweir.http.ownership import take_ownership
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.kept_end import keep_response
from streamweir_gateway.runs.live_delivery import LiveDelivery
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.run import Run
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["ProxyExchange"]


class ProxyExchange:
    """A run and its delivery to the client that asked for it. Construct it in the task that runs it, and call
    its `run`.

    Attributes:
        supervisor: the supervisor of the run; it can end the run.

    Args:
        endpoint: the called endpoint.
        prepared: the client's request.
        client: gets the response.
        streams: the streams of the process; the exchange is one of them until `run` has returned.
        scope: the ASGI scope of the request.
        record: the record of the request; completed here.
        observer: gets reports of attempts.
        started_with: the status of the response, whose headers have been sent; None: nothing has been sent.
    """

    __slots__ = ("_delivery", "_keeper", "_live", "_record", "_run", "supervisor")

    def __init__(  # noqa: PLR0913 (what an exchange is made of)
        self,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        client: ConnectedClient,
        streams: LiveStreams,
        scope: Scope,
        record: RequestRecord,
        observer: Observer,
        started_with: int | None = None,
    ) -> None:
        self._live = live = streams.open(record, scope, endpoint.taps)
        self._record = record
        self._keeper = prepared.keeper
        try:
            self.supervisor = supervisor = RunSupervisor(endpoint.on_disconnect)
            live.supervise(supervisor)
            self._delivery = delivery = LiveDelivery(
                endpoint, prepared.incoming, client=client, run=supervisor
            )
            if live.recorder is not None:
                body = prepared.body
                live.recorder.asked(prepared.incoming, body.passed_on or body.data)
                live.recorder.delivered_by(delivery, reports_relays=True)
            if started_with is not None:
                delivery.go_on(started_with)
            context = RequestContext(
                endpoint,
                prepared.incoming,
                prepared.body,
                prepared.offers,
                delivery,
                supervisor,
                live,
                record,
                observer,
                prepared.opened,
                prepared.warnings,
            )
            self._run = Run(context, prepared.request)
        except BaseException:
            live.close()
            raise
        take_ownership(scope)  # the stream ends properly by itself from here on

    async def run(self) -> None:
        """Deliver the stream to its end.

        Raises:
            Refusal: all upstreams are busy; nothing has been sent.
        """
        run, supervisor, delivery = self._run, self.supervisor, self._delivery
        client = delivery.supervisor
        try:
            delivery.watch()
            await run.run()
            supervisor.clock.is_busy = True  # no clock of the upstream runs any longer
            attempt, error = run.attempt, run.attempt.stream.pipeline.lifecycle.error
            if delivery.sink is not attempt.sink:
                delivery.choose_sink(attempt.sink)
            if error is not None:
                delivery.outcome = attempt.outcome
            with supervisor.waiting:
                if self._keeper is not None and not await keep_response(self._keeper, attempt):
                    delivery.mark_not_stored()
                try:
                    await delivery.finish(error, attempt.reported)
                except OSError as gone:
                    raise ClientGone from gone
        except (ClientGone, Interrupted):
            client.drop("client_gone")
        finally:
            supervisor.end()
            client.close()
            try:
                self._complete_record()
            finally:
                self._live.close()
        if client.dropped == "slow_client":
            await delivery.cut_off()

    def _complete_record(self) -> None:
        """Complete the record, unless the request is refused."""
        attempt, record = self._run.attempt, self._record
        if attempt.was_refused():
            return
        pipeline, dropped = attempt.stream.pipeline, self._delivery.supervisor.dropped
        events = pipeline.position.written  # before an end that is not sent
        if attempt.stream.push_held_end():
            dropped = None  # the client has the whole answer
        if not pipeline.position.ended:
            attempt.stream.cancel(dropped or "cancelled")
        self._run.complete(record, dropped=dropped)
        self._delivery.note_in(record, events=events)
