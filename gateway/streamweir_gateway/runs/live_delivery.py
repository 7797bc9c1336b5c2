"""The delivery of a live run to the client that asked for it."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping
from typing import Any, Final, cast

from msgspec.structs import replace

from streamweir.codec.base import Options
from streamweir.codec.dialect import Dialect
from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.delivery import Delivery
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.errors import ErrorInfo
from streamweir.failures.ending import Ending, FailureFacts, ending_of
from streamweir.failures.upstream_refusal import refusal_response, writable_value
from streamweir.failures.whole_response import WholeResponse, envelope_response
from streamweir.framing.event_ids import EventIds
from streamweir.http.headers import Headers, encoded_headers
from streamweir.translation.clock import StreamClock
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter
from streamweir.translation.writer import StreamWriter
from streamweir_gateway.config import LEFT_SECONDS
from streamweir_gateway.connection.stream_headers import headers_of_stream
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.responses.stored_field import not_stored
from streamweir_gateway.runs.attempt_outcome import NO_OUTCOME, AttemptOutcome
from streamweir_gateway.runs.broken_off import BrokenOff
from streamweir_gateway.runs.documents import is_foreign_document, safe_document
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["LiveDelivery"]

_OK: Final = 200


class LiveDelivery(Delivery):
    """The `Audience` of a run that has one client.

    Attributes:
        supervisor: watches over the client.
        outcome: tells how the response of the upstream ended; set before `finish`.

    Args:
        endpoint: the called endpoint.
        incoming: the client's request.
        client: gets the response.
        run: the supervisor of the run.
    """

    __slots__ = (
        "_answer",
        "_document",
        "_endpoint",
        "_event_ids",
        "_incoming",
        "_run",
        "_spoken",
        "outcome",
        "supervisor",
    )

    def __init__(
        self, endpoint: Endpoint, incoming: Incoming, *, client: ClientPort, run: RunSupervisor
    ) -> None:
        clock = StreamClock(time.monotonic(), endpoint.heartbeat)
        Delivery.__init__(self, client, clock)
        self._endpoint = endpoint
        self._incoming = incoming
        self._run = run
        is_for_event_source = incoming.method == "GET" and not endpoint.relays_all
        self._event_ids = EventIds() if is_for_event_source else None
        self._answer: UpstreamResponse | None = None
        """The response of the upstream, for its status and headers; None until a response has arrived."""
        self._document = b""
        """The JSON document that the upstream sent in place of a stream; empty if it sent none."""
        self._spoken: Dialect | None = None
        """The dialect of the upstream by its configuration; None for `auto`, and before an attempt."""
        self.outcome: AttemptOutcome = NO_OUTCOME
        self.supervisor = DeliverySupervisor(clock, run, run)

    def go_on(self, status: int) -> None:
        """Send no headers from here on, because headers with this status have been sent already."""
        self.status, self.is_started = status, True

    def watch(self) -> None:
        """Drop the client when it leaves.

        If the run is ended from outside, limit the time for sending the last bytes.
        """
        self._run.on_stop = self._limit_rest
        self.supervisor.watch(self)

    # Called by the run

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> Writer:
        """Return the writer for another attempt; see `Audience`."""
        incoming = self._incoming
        writer = open_writer(
            incoming.answers,
            incoming.framing,
            request_id=incoming.request_id,
            options=options,
            dialects=self._endpoint.dialects,
            source=reader,
            verbatim=incoming.answers in self._endpoint.copied,
            follows=incoming.follows and not self.is_started,
            names=incoming.names,
            opened_at=incoming.began,
        )
        if self._event_ids is not None and isinstance(writer, StreamWriter):
            writer.event_ids = self._event_ids
        self._spoken = reader.dialect
        self._write_to(writer, write_timeout)
        return writer

    def awaits_document(self, sink: EventSink) -> bool:
        """Note that the body is of a JSON type; see `Audience`."""
        if self.is_started or self._endpoint.relays_all:
            return False
        if isinstance(sink, VerbatimWriter):
            sink.is_json = True
            return sink.may_copy and not sink.takes_lines
        return self._incoming.framing == "json" and self._incoming.answers in self._endpoint.copied

    def open_document_sink(self, reader: StreamReader, data: bytes) -> EventSink | None:
        """Return a writer that copies a document; see `Audience`."""
        incoming, dialects = self._incoming, self._endpoint.dialects
        client = dialects.to_write(incoming.answers)
        if self.is_started or is_foreign_document(data, reader, client=client, dialects=dialects):
            return None
        writer = open_writer(
            incoming.answers,
            "ndjson",
            request_id=incoming.request_id,
            dialects=dialects,
            source=reader,
            verbatim=True,
            follows=True,
            names=incoming.names,
            opened_at=incoming.began,
        )
        if not isinstance(writer, VerbatimWriter):
            return None
        writer.takes_document = True
        self._document = data
        self._write_to(writer, self.clock.write)
        return writer

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Forward headers of the upstream's response, unless the headers have been sent."""
        self._answer = response

    async def send(self) -> None:
        """Send the bytes of the sink; drop the client if it has left.

        Warnings before the first event are held until that event, if a failure could still become a status.
        """
        if not self.is_started and self._awaits_first_event and self.holds_status:
            return
        try:
            await Delivery.send(self)
        except OSError:
            self.supervisor.drop("client_gone")

    # Called by the exchange

    def mark_not_stored(self) -> None:
        """Change the response object at the end of the stream to say that the response is not stored."""
        self._unsent = not_stored(self._unsent + self.sink.take_last())

    def finish(
        self, error: ErrorInfo | None = None, failure: ErrorInfo | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send the last bytes and end the response: properly, by a whole response, or by breaking off.

        This is no coroutine function.

        Args:
            error: the error that ended the stream.
            failure: the failure as it was classified, if it was; its status is more exact than that of
                `error`.

        Raises:
            OSError: the client has left.
            BrokenOff: the server has to close the connection within the body.
        """
        if error is not None or self._document:
            ending = self._ending(error)
            if (response := self._whole_response(ending, error, failure)) is not None:
                return self.answer(response)
            if ending == "break":
                return self._break_off()
        return Delivery.finish(self, error, failure)

    async def _break_off(self) -> None:
        if isinstance(self.sink, VerbatimWriter):
            self.sink.end_with_error()
        await self.send_rest()
        if not self._is_dropped and not self.client.break_off():
            raise BrokenOff("the answer is not whole")

    @property
    def holds_status(self) -> bool:
        """Whether a failure before the first byte is answered with a status; see `Delivery`."""
        return self._copies and self._endpoint.config.failures == "as_they_came"

    def _copier(self) -> VerbatimWriter | None:
        """Return the writer that copies the upstream's frames for this client; None if none are copied."""
        return self.sink if isinstance(self.sink, VerbatimWriter) else None

    @property
    def _awaits_first_event(self) -> bool:
        """Whether frames of the upstream will be copied, but no frame has arrived."""
        copier = self._copier()
        return copier is not None and not copier.has_begun

    @property
    def _copies(self) -> bool:
        """Whether the client gets the bytes of the upstream, or would get them if there were any."""
        copier = self._copier()
        return self._is_own_answer if copier is None else copier.may_copy

    @property
    def _is_own_answer(self) -> bool:
        """Whether the body of the request asks for a whole answer, in the dialect of the upstream."""
        name = None if self._spoken is None else self._spoken.name
        is_own = name == self._incoming.answers and name in self._endpoint.copied
        return is_own and self._endpoint.asks_by_body(self._incoming)

    def _ending(self, error: ErrorInfo | None) -> Ending:
        return "end" if error is None else ending_of(self._facts(error), self._endpoint.failures)

    def _facts(self, error: ErrorInfo | None) -> FailureFacts:
        """Return the facts that decide how the response ends."""
        copier = self._copier()
        has_copied = copier is not None and copier.has_copied
        return FailureFacts(
            error,
            "frames" if has_copied else "heartbeats" if self.is_started else "nothing",
            copies=self._copies,
            is_clean=self.outcome.is_clean,
            is_upstreams=copier is not None and copier.has_copied and not copier.has_own_end,
            is_refused=self.outcome.refusal is not None,
        )

    def _whole_response(
        self, ending: Ending, error: ErrorInfo | None, failure: ErrorInfo | None
    ) -> WholeResponse | None:
        """Return the response that is sent in place of the stream; None if the stream is sent."""
        incoming = self._incoming
        if self._document and isinstance(self.sink, VerbatimWriter) and not self.sink.has_copied:
            document = safe_document(self._document)
            if self._answer is not None:
                return WholeResponse(self._answer.status, self._document_headers(document), document)
        known = failure if failure is not None and error is not None and failure.code == error.code else error
        if known is None or error is None or ending not in ("refusal", "envelope"):
            return None
        info = replace(error, status=known.status)
        if ending == "refusal" and (refusal := self.outcome.refusal) is not None:
            others = self._endpoint.forwarded_of(refusal.headers)
            return refusal_response(refusal, info, request_id=incoming.request_id, others=others)
        protocol = self._endpoint.dialects.to_write(incoming.answers)
        return envelope_response(
            info, request_id=incoming.request_id, debug=self._endpoint.debug, protocol=protocol
        )

    def _document_headers(self, document: bytes) -> Headers:
        return [*self._headers(), (b"content-length", b"%d" % len(document))]

    def choose_sink(self, sink: EventSink) -> None:
        """Choose one of the sinks that were opened; the client gets the bytes of that sink."""
        self.sink = cast("Writer", sink)

    def note_in(self, record: RequestRecord, *, events: int) -> None:
        """Complete `record` with the facts about the response.

        Args:
            record: the record of the request.
            events: the number of events of the stream.
        """
        sink = self.sink
        record.answers, record.framing = self._incoming.answers, sink.framing
        record.status = self.status if self.is_started else None
        record.bytes_out = self.bytes
        record.events = events + sink.added
        record.lost = sum(sink.unsupported.values())

    def _write_to(self, writer: Writer, write_timeout: float | None) -> None:
        """Replace the sink, and set the seconds for which the client may fail to read."""
        self.sink = writer
        if self.is_started:
            writer.begin_body()
        self.supervisor.update(self.clock.begin_writing(write_timeout))

    def _headers(self) -> Headers:
        """Return the headers of the response.

        If frames are copied, status and content type are those of the upstream.
        """
        endpoint, answer, copier = self._endpoint, self._answer, self._copier()
        copies = copier is not None and copier.has_copied
        if answer is not None and self.status == _OK and (copies or endpoint.relays_all):
            self.status = answer.status
        given = writable_value(answer.headers, b"content-type") if copies and answer is not None else b""
        own = headers_of_stream(self.sink.media_type, self._incoming.request_id, given)
        if self.sink.headers:
            own = [*own, *encoded_headers(self.sink.headers)]
        if answer is not None and endpoint.forwards_headers:
            own = [*own, *endpoint.forwarded_of(answer.headers)]
        return own

    def _limit_rest(self) -> None:
        """Limit the time for sending the last bytes, because the run was ended from outside."""
        write = self.clock.write
        self.supervisor.limit_rest(LEFT_SECONDS if write is None else write)
