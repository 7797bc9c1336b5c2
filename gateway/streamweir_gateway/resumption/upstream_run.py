"""A resumable run whose source is an upstream.

Its attempts are those of any request; the store gets the events.

Source: the contract of resumable streams, sections 1, 2 and 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from streamweir.codec.base import Options
from streamweir.errors import ErrorInfo, error_info
from streamweir.http.refusals import Refusal
from streamweir.options.durations import parse_duration
from streamweir.options.run_defaults import CONTINUE_FOR
from streamweir.runs.event_log import EventLog
from streamweir.runs.resumable_run import ResumableRun, StopReason, UnreadLimits
from streamweir.runs.store import RunStore
from streamweir.runs.stored_event import Source
from streamweir.translation.open_writer import open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.responses.stored_field import not_stored
from streamweir_gateway.runs.attempt import Attempt
from streamweir_gateway.runs.attempt_outcome import NO_OUTCOME
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.kept_end import keep_response
from streamweir_gateway.runs.live_streams import LiveStream
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.run import Run
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["UpstreamRun"]

_CONTINUE_SECONDS: Final = parse_duration(CONTINUE_FOR)


class UpstreamRun(ResumableRun):
    """A run of an endpoint: the `Audience` of the attempts, and their `RunSource`.

    Attributes:
        failure: the classified failure that ended the run; None if the run succeeded, or if the upstream sent
            an error event.
        outcome: how the response of the upstream ended; set at the end of the run.
        copier: the writer that copies the upstream's frames into the log; None: frames are not stored.
        refusal: the reason why no upstream was asked, after which the run is deleted; None if one was asked.
        response: the response of the upstream, whose headers the first client may get; None until it has
            arrived.

    Args:
        store: stores the run.
        handle: the handle of the run.
        endpoint: the endpoint that was called.
        prepared: the request of the first client.
        owner: the name of the client's key.
        record: the record of the first client's request; completed at the end of the run.
        observer: gets reports of attempts.
        live: the stream for watchers and taps; closed at the end of the run.
    """

    def __init__(  # noqa: PLR0913 (all that is known of a run and its request)
        self,
        store: RunStore,
        handle: str,
        endpoint: Endpoint,
        prepared: PreparedRequest,
        *,
        owner: str | None,
        record: RequestRecord,
        observer: Observer,
        live: LiveStream,
    ) -> None:
        config = endpoint.config
        assert config.resume is not None, "an endpoint with `resume`"
        is_given = "on_disconnect" in config.model_fields_set
        stored = config.on_disconnect if is_given else _CONTINUE_SECONDS
        is_bound = not prepared.is_background
        super().__init__(
            store,
            handle,
            owner=owner,
            retention=config.resume,
            unread=UnreadLimits(
                stored=stored if is_bound else None, detached=config.on_disconnect if is_bound else None
            ),
        )
        self.failure: ErrorInfo | None = None
        self.outcome = NO_OUTCOME
        self.refusal: Refusal | None = None
        self.copier: VerbatimWriter | None = None
        self.response: UpstreamResponse | None = None
        self._endpoint: Final = endpoint
        self._prepared: Final = prepared
        self._record: Final = record
        self._observer: Final = observer
        self._live: Final = live
        self._run: Run | None = None
        self._supervisor: RunSupervisor

    async def pump(self) -> None:
        """Read the upstream to the end of the run. When this returns, everything is stored."""
        self._supervisor = supervisor = RunSupervisor(None)
        self._live.supervise(supervisor)
        care = asyncio.create_task(self.look_after(self))
        try:
            await self._pump(supervisor)
        except Refusal as refusal:
            self.refusal = refusal
            await self.owned.forget()
        except ClientGone:
            await self._break_off("client_gone")
        except BaseException:
            self.failure = self.failure or error_info("INTERNAL")
            await asyncio.shield(self._break_off(None))
            raise
        finally:
            self.owned.finish()
            supervisor.end()
            care.cancel()
            self._complete_record()
            self._live.close()

    async def _pump(self, supervisor: RunSupervisor) -> None:
        prepared = self._prepared
        context = RequestContext(
            self._endpoint,
            prepared.incoming,
            prepared.body,
            prepared.offers,
            self,
            supervisor,
            self._live,
            self._record,
            self._observer,
            prepared.opened,
            prepared.warnings,
        )
        self._run = Run(context, prepared.request)
        await self._run.run()
        attempt = self._run.attempt
        self.failure, self.outcome = attempt.reported, attempt.outcome
        await self._keep_response(attempt)
        self.choose_log(attempt.sink)
        await self.finish()

    async def _break_off(self, reason: StopReason | None) -> None:
        """End a run without reading on, for `reason`; None: for a failure of the gateway."""
        if self._run is None or self.owned.ended:
            return
        attempt = self._run.attempt
        if reason is None:
            attempt.stream.fail(error_info("INTERNAL"))
        else:
            attempt.stream.cancel(self.stop_reason or reason)
        await self._keep_response(attempt)
        self.choose_log(attempt.sink)
        await self.finish()

    async def _keep_response(self, attempt: Attempt) -> None:
        """Store the response, if it is to be kept, before the end of the run is stored."""
        keeper, echo = self._prepared.keeper, self._prepared.incoming.names.echo
        if keeper is None or await keep_response(keeper, attempt):
            return
        if echo is not None:
            echo["store"] = False  # the encoders of this process write it at the end
        if isinstance(attempt.sink, EventLog):
            attempt.sink.change_copied(not_stored)

    # The source of the run

    async def end(self, reason: StopReason) -> None:
        """Stop reading the upstream; see `RunSource`."""
        self._supervisor.leave_upstream(reason)

    def abandon(self) -> None:
        """Stop reading the upstream, and deliver no more; see `RunSource`."""
        self._supervisor.abandon()

    # The audience of the attempts

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> EventSink:
        """Return the log for the events of another attempt; see `Audience`."""
        del write_timeout  # a client that does not read does not hold up the run
        incoming, endpoint = self._prepared.incoming, self._endpoint
        writer = None
        if incoming.answers in endpoint.copied:
            writer = open_writer(
                incoming.answers,
                incoming.framing,
                request_id=incoming.request_id,
                options=options,
                dialects=endpoint.dialects,
                source=reader,
                verbatim=True,
                follows=incoming.follows,
                names=incoming.names,
            )
        self.copier = writer if isinstance(writer, VerbatimWriter) else None
        return self.open_log(
            lambda: Source(
                "auto" if reader.dialect is None else reader.dialect.name, options, incoming.names
            ),
            writer,
        )

    def awaits_document(self, sink: EventSink) -> bool:
        """Note that the body is of a JSON type; see `Audience`."""
        del sink
        if self.copier is not None:
            self.copier.is_json = True
        return False

    def open_document_sink(self, reader: StreamReader, data: bytes) -> None:
        """Return None, because a document is stored in the framing of the first client; see `Audience`."""

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Keep the response for the first client; see `Audience`."""
        self.response = response

    def _complete_record(self) -> None:
        record, detached = self._record, self.owned.detached
        if detached is not None:
            record.detached = detached
            self._observer.metrics.run_detached(detached)
        if self._run is None or self._run.attempt.was_refused():
            return
        self._run.complete(record)
        if detached == "fenced":
            record.reason, record.code = "lost", "RUN_LOST"  # another process wrote the end
        record.events = self._run.attempt.stream.pipeline.position.written
