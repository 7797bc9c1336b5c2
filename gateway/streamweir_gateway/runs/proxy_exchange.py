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
from streamweir_gateway.runs.live_streams import LiveStream, LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.run import Run
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["ProxyExchange"]


class ProxyExchange:
    """A run and its delivery to the client that asked for it. Construct it in the task that runs it.

    Attributes:
        supervisor: the supervisor of the run; it can end the run.

    Args:
        endpoint: the called endpoint.
        prepared: the client's request.
        client: gets the response.
        live: the stream for watchers and taps; `run` closes this stream.
        record: the record of the request; completed here.
        observer: gets reports of attempts.
        started_with: the status of the response, whose headers have been sent; None: nothing has been sent.
    """

    __slots__ = ("_delivery", "_keeper", "_live", "_record", "_run", "supervisor")

    def __init__(
        self,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        client: ConnectedClient,
        live: LiveStream,
        record: RequestRecord,
        observer: Observer,
        started_with: int | None = None,
    ) -> None:
        self._live = live
        self._record = record
        self._keeper = prepared.keeper
        self.supervisor = RunSupervisor(endpoint.config.on_disconnect)
        live.supervise(self.supervisor)
        self._delivery = LiveDelivery(endpoint, prepared.incoming, client=client, run=self.supervisor)
        if live.recorder is not None:
            live.recorder.asked(prepared.incoming, prepared.body.data)
            live.recorder.delivered_by(self._delivery, reports_relays=True)
        if started_with is not None:
            self._delivery.go_on(started_with)
        context = RequestContext(
            endpoint,
            prepared,
            audience=self._delivery,
            supervisor=self.supervisor,
            live=live,
            record=record,
            observer=observer,
        )
        self._run = Run(context, prepared.request)

    @classmethod
    def opened(  # noqa: PLR0913 (what an exchange is made of)
        cls,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        client: ConnectedClient,
        streams: LiveStreams,
        scope: Scope,
        record: RequestRecord,
        observer: Observer,
        started_with: int | None = None,
    ) -> ProxyExchange:
        """Open a stream in `streams`, and return the exchange for it. Its `run` has to be called."""
        live = streams.open(record, scope, endpoint.taps)
        try:
            exchange = cls(
                endpoint,
                prepared,
                client=client,
                live=live,
                record=record,
                observer=observer,
                started_with=started_with,
            )
        except BaseException:
            live.close()
            raise
        take_ownership(scope)  # the stream ends properly by itself from here on
        return exchange

    async def run(self) -> None:
        """Deliver the stream to its end.

        Raises:
            Refusal: all upstreams are busy; nothing has been sent.
        """
        supervisor, client = self.supervisor, self._delivery.supervisor
        try:
            self._delivery.watch()
            try:
                await self._run.run()
            finally:
                self._run.close()
            supervisor.clock.is_busy = True  # no clock of the upstream runs any longer
            with supervisor.waiting:
                await self._finish()
        except (ClientGone, Interrupted):
            client.drop("client_gone")
        finally:
            supervisor.end()
            client.close()
            self._end()
        if client.dropped == "slow_client":
            await self._delivery.cut_off()

    async def _finish(self) -> None:
        attempt = self._run.attempt
        self._delivery.choose_sink(attempt.sink)
        self._delivery.outcome = attempt.outcome
        if self._keeper is not None and not await keep_response(self._keeper, attempt):
            self._delivery.mark_not_stored()
        await self._delivery.finish(attempt.stream.pipeline.error, attempt.reported)

    def _end(self) -> None:
        """Complete the record, and close the stream for watchers and taps."""
        try:
            self._complete_record()
        finally:
            self._live.close()

    def _complete_record(self) -> None:
        """Complete the record, unless the request is refused."""
        attempt, record = self._run.attempt, self._record
        if attempt.refused:
            return
        pipeline, dropped = attempt.stream.pipeline, self._delivery.supervisor.dropped
        events = pipeline.position.written  # before an end that is not sent
        if attempt.stream.push_held_end():
            dropped = None  # the client has the whole answer
        if not pipeline.ended:
            attempt.stream.cancel(dropped or "cancelled")
        self._run.complete(record, dropped=dropped)
        self._delivery.note_in(record, events=events)
