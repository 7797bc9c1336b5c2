"""Records one request: the base of the recorders for `capture: metadata` and `capture: content`.

    state    entered by                                   the capture is
    ──────   ──────────────────────────────────────────   ───────────────────────────────────────────────
    noted    construction                                 in `_notes`
    logged   `move_notes`: many notes; a viewer of an     in `_log`, and in the notes since
             open stream

The recorder does as little as possible while the stream runs: it adds notes to a list. `NotedLog` makes the
log of them when a viewer asks for it. Notes without content are packed when the stream has ended; see
`NotedCapture`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Final

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.attempt_fields import how_ended
from streamweir_gateway.console.capture_source import Masking
from streamweir_gateway.console.end_fields import facts_at_end
from streamweir_gateway.console.log_mask import LogMask, shown_event
from streamweir_gateway.console.noted_capture import NotedCapture
from streamweir_gateway.console.noted_log import NotedLog
from streamweir_gateway.console.reader_position import BEFORE_ATTEMPTS, Position, ReaderPosition
from streamweir_gateway.console.recorded_heads import (
    CLIENT_REQUEST,
    CLIENT_RESPONSE,
    UPSTREAM_HANDSHAKE,
    UPSTREAM_REQUEST,
    UPSTREAM_RESPONSE,
    Head,
    head_fields,
    secrets_of_head,
)
from streamweir_gateway.console.recorded_request import CaptureSettings, RecordedRequest
from streamweir_gateway.console.relays import RELAY_BYTES, with_relays
from streamweir_gateway.console.stream_log import ENTRY_BYTES, Entry, LeftOut, NumberedEntry
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts, DeliveryFacts, ReaderFacts
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["MOST_NOTES", "RequestRecorder"]

MOST_NOTES: Final = 256
"""The notes that wait until the log takes them: at the next read or write, or within a second."""
_OBJECT_BYTES: Final = 1200
"""The memory of a recorder beside its notes, about."""


class RequestRecorder(RecordedRequest, ABC):
    """Records one request; see `StreamRecorder` and `RecordedRequest`.

    Attributes:
        is_raw: whether the whole log has not been asked for.
        held: the bytes of bodies, reads and writes in the notes.
        mask: masks the log; None until the log is made.
    """

    _position: Position = BEFORE_ATTEMPTS
    _response: UpstreamResponse | None = None
    _reports_relays = False
    _relays = bytearray()
    """The notes about relayed reads, packed; of its own once there are any. None with `capture: content`."""
    _kept_body: Callable[[bytes], bytes | int]
    """Returns the body of a request as the log keeps it: its bytes, or their number."""

    def __init__(self, row_id: str, record: RequestRecord, settings: CaptureSettings, scope: Scope) -> None:
        self.row_id = row_id
        self.record = record
        self.settings = settings
        self.is_raw = True
        self.was_returned = False
        self.held = 0
        self.mask: LogMask | None = None
        self._log: NotedLog | None = None
        self._scope: Scope | None = scope
        self._notes: list[Entry] = []

    # --- the capture: see `CaptureSource` -------------------------------------------------------------------

    @property
    def masking(self) -> Masking:
        """Masks the log."""
        self._opened().log.collect()
        assert self.mask is not None
        return self.mask

    @property
    def secrets(self) -> SecretMask:
        """The mask that finds the secrets known so far."""
        return self.settings.mask if self.mask is None else self.mask.secrets

    def kept(self) -> RequestRecorder | NotedCapture:
        """Return the capture of a stream that has ended, as it is kept until its log is wanted."""
        return self

    @property
    def note_count(self) -> int:
        """The number of notes that the log has not taken."""
        return len(self._notes) + len(self._relays) // RELAY_BYTES

    @property
    def size(self) -> int:
        """The bytes of the capture, about."""
        size = _OBJECT_BYTES + ENTRY_BYTES * len(self._notes) + self.held + len(self._relays)
        return size if self._log is None else size + self._log.log.size

    @property
    def left_out(self) -> Mapping[str, LeftOut]:
        """The bytes and lines that were left out of the log, by lane."""
        return self._opened().log.left_out

    def entries(self, start: int) -> Iterator[NumberedEntry]:
        """Return the entries of the log from number `start` on, up to the first one that is not masked."""
        masked = self._opened().log.entries(start)
        return ((number, shown_event(entry, self.secrets)) for number, entry in masked)

    def shown(self, text: str) -> str:
        """Return a text without secrets."""
        return self.secrets.apply_to_address(text)

    def own_mask(self) -> SecretMask:
        """Return a mask that also finds the secrets in the heads of its requests and responses."""
        if self._log is not None:
            self._log.log.collect()
        raw = () if self.mask is None else self.mask.raw
        heads = [entry[2] for entry in (*self._notes, *raw) if entry[0] in ("request", "response")]
        found = {secret for head in heads for secret in secrets_of_head(head_fields(head))}
        return self.secrets.with_secrets(found) if found else self.secrets

    def whole_log(self) -> list[Entry] | None:
        """Return all entries of the log; None if some are left out, or masked already."""
        self.is_raw = False
        log = self._opened().log
        return None if self.mask is not None and self.mask.has_begun else log.whole()

    # --- the log --------------------------------------------------------------------------------------------

    @abstractmethod
    def _new_log(self, mask: LogMask) -> NotedLog:
        """Return a new log, whose secrets `mask` masks."""

    def _opened(self) -> NotedLog:
        """Return the log, with all notes in it."""
        log = self.move_notes()
        log.flush()
        return log

    def move_notes(self) -> NotedLog:
        """Move the notes into the log, but for those that still wait for their read; return the log."""
        log = self._log
        if log is None:
            self.mask = LogMask(self.settings.mask, self.settings.on_raw)
            self.mask.is_over = self.is_over
            log = self._log = self._new_log(self.mask)
        if self._relays:
            log.take(with_relays(self._notes, bytes(self._relays)))
            self._relays.clear()
        else:
            log.take(self._notes)
        self._notes.clear()
        self.held = 0
        return log

    # --- the request ----------------------------------------------------------------------------------------

    def asked(self, incoming: Incoming, body: bytes | int) -> None:
        """Note the client's request. Later calls do nothing."""
        self.answers, self.framing = incoming.answers, incoming.framing
        scope, self._scope = self._scope, None
        if scope is not None:
            path = scope.get("raw_path") or scope["path"].encode()
            query, headers = scope.get("query_string", b""), scope["headers"]
            head = CLIENT_REQUEST, scope["method"], path, query, headers
            kept = body if isinstance(body, int) else self._kept_body(body)
            self._notes.append(("request", self.record.began, head, kept))

    def reads_run(self, reader: ReaderFacts) -> None:
        """Count the events of the response by the position of the reader of a stored run."""
        self.first_event = 0 if reader.position is None else reader.position.next_event
        self._position, self.run_reader = ReaderPosition(reader), reader

    # --- attempts -------------------------------------------------------------------------------------------

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Note that an upstream is asked."""
        before, pipeline = self.destination, stream.pipeline
        self.attempt, self.destination, self.stream, self.options = attempt, destination, stream, options
        self._position, waiting = pipeline.position, pipeline.lifecycle.waiting
        begun = (
            attempt,
            destination.label,
            before is not None and before.identity == destination.identity,
            destination.config.speaks,
            [(warning.message, warning.message_code) for warning in waiting] if waiting else (),
            pipeline.questions.is_on and not pipeline.copies_frames,
        )
        self._notes.append(("begin", monotonic(), begun))
        self._watch(stream)

    def _watch(self, stream: StreamNormalizer) -> None:
        """Watch the events of the present attempt, if the recorder needs them."""

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request that is sent to the upstream."""
        body, stream = request.body, request.stream
        head: Head
        if request.exchange is not None and self.destination is not None:
            offered = self.destination.config.websocket.subprotocols
            head = UPSTREAM_HANDSHAKE, self.attempt, request.origin, request.target, request.headers, offered
        else:
            head = (
                UPSTREAM_REQUEST,
                self.attempt,
                request.method,
                request.origin,
                request.target,
                request.headers,
                request.relayed,
                len(body) if stream is None else stream.length,
            )
        kept = stream.passed_on if stream is not None and not body else self._kept_body(body)
        self._notes.append(("request", monotonic(), head, kept))

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts that the decoder gets from the requests."""
        if facts:
            self._notes.append(("given", monotonic(), dict(facts)))

    def answered(self, response: UpstreamResponse) -> None:
        """Note the head of a response, and follow its body."""
        head = UPSTREAM_RESPONSE, self.attempt, response.status, response.headers
        self._notes.append(("response", monotonic(), head, None))
        self._response, response.on_read = response, self._note_read
        if self._reports_relays:
            response.on_relayed = self._note_relayed

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note the end of an attempt."""
        pipeline, response = facts.stream.pipeline, self._response
        reason = pipeline.lifecycle.reason if pipeline.position.ended else None
        upstream = None if self.destination is None else self.destination.label
        end = attempt, upstream, how_ended(response, facts), self.record.first_event_ms, error, reason
        self._notes.append(("attempt", monotonic(), end))
        if response is not None:  # the delivery refers to it, and its functions to this object
            response.on_read = response.on_relayed = self._response = None

    # --- reads and writes -----------------------------------------------------------------------------------

    @abstractmethod
    def _note_read(self, data: bytes) -> None:
        """Note a read that is not relayed at once."""

    @abstractmethod
    def _note_relayed(self, now: float, data: bytes, before: int) -> None:
        """Note a read that has been relayed at once; see `on_relayed` of `UpstreamResponse`."""

    def delivered_by(self, delivery: DeliveryFacts, *, reports_relays: bool = False) -> None:
        """Watch the delivery that sends the stream to the client; see `StreamRecorder`."""
        self.delivery, delivery.watcher = delivery, self
        self._reports_relays = reports_relays
        if not reports_relays:
            delivery.on_sent_at_once = self.written

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the head of the response to the client."""
        head = CLIENT_RESPONSE, status, tuple(headers)
        self._notes.append(("response", monotonic(), head, self._position.written))

    @abstractmethod
    def written(self, data: bytes) -> None:
        """Note a piece of the response's body that was not sent by a relay."""

    @abstractmethod
    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""

    # --- the end --------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Note the end of the stream, and drop references that only a stream under way needs."""
        record, delivery = self.record, self.delivery
        self._notes.append(("end", monotonic(), facts_at_end(record)))
        self.is_over = True
        self.translation = self.known_translation()
        if record.status is None and delivery is not None and delivery.is_started:
            self.status = delivery.status
        self.stream = self.delivery = self._scope = self.run_reader = None
        self._position = BEFORE_ATTEMPTS
        if self.mask is not None:
            self._opened()
            self.mask.is_over = True
