"""Records one request with its bytes: for `capture: content`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import monotonic

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.attempt_fields import begin_fields, ended_fields, how_ended
from streamweir_gateway.console.body_lanes import BodyLanes
from streamweir_gateway.console.end_fields import end_fields
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.reader_position import ReaderPosition
from streamweir_gateway.console.recorded_heads import (
    Head,
    client_request,
    client_response,
    upstream_request,
    upstream_response,
)
from streamweir_gateway.console.recorded_request import CaptureSettings, RecordedRequest
from streamweir_gateway.console.stream_log import RAW, Entry, LeftOut, NumberedEntry, StreamLog
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts, DeliveryFacts, ReaderFacts
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["ContentRecorder"]


class ContentRecorder(RecordedRequest):
    """Records one request; see `StreamRecorder`.

    Args:
        row_id: the id of the request's row.
        record: the record of the request.
        settings: the settings of its capture.
        scope: the ASGI scope of the request.

    Attributes:
        log: the log of the stream.
        mask: the masking of the log.
        written: notes a piece of the response's body.
    """

    __slots__ = ("_lanes", "_max_body", "_scope", "log", "mask", "written")

    has_content = True

    def __init__(self, row_id: str, record: RequestRecord, settings: CaptureSettings, scope: Scope) -> None:
        super().__init__(row_id, record, settings)
        self.mask = mask = LogMask(settings.mask, settings.on_raw)
        self.log = StreamLog(settings.max_bytes, mask.raw, mask.note_more)
        self._scope: Scope | None = scope
        self._max_body = settings.max_bytes // 4
        self._lanes = BodyLanes(self.log)
        self.written = self._lanes.writer()

    # --- the capture: see `CaptureSource` -------------------------------------------------------------------

    @property
    def masking(self) -> LogMask:
        """Masks the log."""
        self.log.collect()
        return self.mask

    @property
    def secrets(self) -> SecretMask:
        """The mask that finds the secrets known so far."""
        return self.mask.secrets

    @property
    def size(self) -> int:
        """The bytes of the log."""
        return self.log.size

    @property
    def left_out(self) -> Mapping[str, LeftOut]:
        """The bytes and lines that were left out of the log, by lane."""
        return self.log.left_out

    def entries(self, start: int) -> Iterator[NumberedEntry]:
        """Return the entries of the log from number `start` on, up to the first one that is not masked."""
        return self.log.entries(start)

    def shown(self, text: str) -> str:
        """Return a text without secrets."""
        return self.mask.shown(text)

    def whole_log(self) -> list[Entry] | None:
        """Return all entries of the log; None if some are left out, or masked already."""
        return None if self.mask.has_begun else self.log.whole()

    def release(self) -> None:
        """Drop the capture: the row does not need it. Nothing is recorded any more."""
        del self._lanes, self.log, self.mask, self.written

    # --- the request ----------------------------------------------------------------------------------------

    def asked(self, incoming: Incoming, body: bytes) -> None:
        """Note the client's request. Later calls do nothing."""
        self.answers, self.framing = incoming.answers, incoming.framing
        scope, self._scope = self._scope, None
        if scope is not None:
            self._add_request(self.record.began, client_request(scope), body)

    def reads_run(self, reader: ReaderFacts) -> None:
        """Count the events of the response by the position of the reader of a stored run."""
        self.first_event = 0 if reader.position is None else reader.position.next_event
        self._lanes.position = ReaderPosition(reader)

    # --- attempts -------------------------------------------------------------------------------------------

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Note that an upstream is asked."""
        fields = begin_fields(attempt, destination, self.destination, stream.pipeline.waiting)
        self._begin_attempt(attempt, destination, stream, options)
        self._lanes.position = stream.pipeline.position
        self.log.add(("begin", monotonic(), fields))

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request that is sent to the upstream."""
        self._add_request(monotonic(), upstream_request(self.attempt, request), request.body)

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts that the decoder gets from the requests."""
        if facts:
            self.log.add(["given", monotonic(), dict(facts), RAW])

    def answered(self, response: UpstreamResponse) -> None:
        """Note the head of a response, and record its body."""
        self._response = response
        head = upstream_response(self.attempt, response.status, response.headers)
        self.log.add(["response", monotonic(), head, None, RAW])
        response.on_read = self._lanes.reader(self.attempt)

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note the end of an attempt."""
        pipeline, ended = facts.stream.pipeline, how_ended(self._response, facts)
        reason = pipeline.reason if pipeline.ended else None
        first = self.record.first_event_ms
        fields = ended_fields(attempt, self.destination, ended, first, error, reason)
        self.log.add(["attempt", monotonic(), fields, RAW])
        self._leave_response()

    # --- the response ---------------------------------------------------------------------------------------

    def delivered_by(self, delivery: DeliveryFacts, *, reports_relays: bool = False) -> None:
        """Watch the delivery that sends the stream to the client; see `StreamRecorder`."""
        del reports_relays  # each piece is recorded, because its bytes are
        self.delivery, delivery.watcher = delivery, self
        delivery.on_sent_at_once = self.written

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the head of the response to the client."""
        position = self._lanes.position
        sequence = None if position is None else position.written
        self.log.add(["response", monotonic(), client_response(status, headers), sequence, RAW])

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""
        self._lanes.heartbeat(data)

    # --- the end --------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Note the end of the stream, and drop references that only a stream under way needs."""
        self.log.add(("end", monotonic(), end_fields(self.record)))
        self.mask.is_over = True
        self._close()
        self._lanes.position = self._scope = None

    def _add_request(self, now: float, head: Head, body: bytes) -> None:
        is_kept = len(body) <= self._max_body
        size = len(body) if is_kept else 0
        self.log.add(["request", now, head, body if is_kept else len(body), RAW], size)
