"""Records one request without its bytes: for `capture: metadata`.

    state    entered by                                   the capture is
    ──────   ──────────────────────────────────────────   ───────────────────────────────────────────────
    noted    construction                                 in `_notes`
    logged   many notes; a viewer of an open stream       in `_log`, and in the notes since

The recorder does as little as possible while the stream runs: it adds notes to a list. `OutlineLog` makes the
log of them when a viewer asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, Final

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.errors import ErrorInfo
from streamweir.events import Event, Warning
from streamweir.http.headers import Headers
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.reader import StreamReader
from streamweir_gateway.console.attempt_fields import how_ended
from streamweir_gateway.console.body_lanes import Position
from streamweir_gateway.console.capture_source import Masking
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.outline_log import OutlineLog
from streamweir_gateway.console.reader_position import ReaderPosition
from streamweir_gateway.console.recorded_heads import (
    client_request,
    client_response,
    upstream_request,
    upstream_response,
)
from streamweir_gateway.console.recorded_request import CaptureSettings, RecordedRequest
from streamweir_gateway.console.relays import pack_relay
from streamweir_gateway.console.stream_log import (
    ENTRY_BYTES,
    Entry,
    LeftOut,
    NumberedEntry,
    StreamLog,
)
from streamweir_gateway.console.text_changes import change_of
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts, DeliveryFacts, ReaderFacts
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["OutlineRecorder"]

_IDS: Final = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "upstream_time")
"""The metadata fields that an event without content keeps, in addition to those that every event has."""
_LONGEST_ID: Final = 128
_MOST_NOTES: Final = 64
"""The most notes that wait before the log takes them, with the next read or write."""
_OBJECT_BYTES: Final = 1200
"""The memory of a recorder beside its notes, about."""


class OutlineRecorder(RecordedRequest):
    """Records one request; see `StreamRecorder`. It is the `PipelineWatcher` of its stream.

    Args:
        row_id: the id of the request's row.
        record: the record of the request.
        settings: the settings of its capture.
        scope: the ASGI scope of the request.

    Attributes:
        is_raw: whether the whole log has not been asked for.
    """

    __slots__ = (
        "_block",
        "_blocks",
        "_log",
        "_mask",
        "_notes",
        "_position",
        "_reader",
        "_reports_relays",
        "_scope",
        "is_raw",
    )

    def __init__(self, row_id: str, record: RequestRecord, settings: CaptureSettings, scope: Scope) -> None:
        super().__init__(row_id, record, settings)
        self.is_raw = True
        self._scope: Scope | None = scope
        self._notes: list[Entry] = []
        self._block: bytearray | None = None
        """The relayed reads of the last note; None if the last note is another one."""
        self._blocks: list[bytearray] | None = None
        self._position: Position | None = None
        self._reader: StreamReader | None = None
        """The reader of the present attempt until its first output has been noted; then None."""
        self._reports_relays = False
        self._log: OutlineLog | None = None
        self._mask: LogMask | None = None

    # --- the capture: see `CaptureSource` -------------------------------------------------------------------

    @property
    def masking(self) -> Masking:
        """Masks the log."""
        self._opened().log.collect()
        assert self._mask is not None
        return self._mask

    @property
    def secrets(self) -> SecretMask:
        """The mask that finds the secrets known so far."""
        return self._settings.mask if self._mask is None else self._mask.secrets

    @property
    def size(self) -> int:
        """The bytes of the capture, about."""
        size = _OBJECT_BYTES + ENTRY_BYTES * len(self._notes)
        if self._blocks is not None:
            size += sum(map(len, self._blocks))
        return size if self._log is None else size + self._log.log.size

    @property
    def left_out(self) -> Mapping[str, LeftOut]:
        """The bytes and lines that were left out of the log, by lane."""
        return {} if self._log is None else self._log.log.left_out

    def entries(self, start: int) -> Iterator[NumberedEntry]:
        """Return the entries of the log from number `start` on, up to the first one that is not masked."""
        return self._opened().log.entries(start)

    def shown(self, text: str) -> str:
        """Return a text without secrets."""
        return self.secrets.apply_to_address(text)

    def whole_log(self) -> list[Entry] | None:
        """Return all entries of the log; None if some are left out, or masked already."""
        self.is_raw = False
        log = self._opened().log
        return None if self._mask is not None and self._mask.has_begun else log.whole()

    # --- the log --------------------------------------------------------------------------------------------

    def _opened(self) -> OutlineLog:
        """Return the log, with all notes in it."""
        log = self._moved()
        log.flush()
        return log

    def _moved(self) -> OutlineLog:
        """Move the notes into the log, but for those that still wait for their read."""
        if self._log is None:
            settings = self._settings
            self._mask = LogMask(settings.mask, settings.on_raw)
            self._mask.is_over = self.is_over
            self._log = OutlineLog(StreamLog(settings.max_bytes, self._mask.raw))
        self._log.take(self._notes)
        self._notes.clear()
        self._block = self._blocks = None
        return self._log

    # --- the request ----------------------------------------------------------------------------------------

    def asked(self, incoming: Incoming, body: bytes) -> None:
        """Note the client's request. Later calls do nothing."""
        self.answers, self.framing = incoming.answers, incoming.framing
        scope, self._scope = self._scope, None
        if scope is not None:
            self._notes.append(("request", self.record.began, client_request(scope), len(body)))

    def reads_run(self, reader: ReaderFacts) -> None:
        """Count the events of the response by the position of the reader of a stored run."""
        self.first_event = 0 if reader.position is None else reader.position.next_event
        self._position = ReaderPosition(reader)

    # --- attempts -------------------------------------------------------------------------------------------

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Note that an upstream is asked."""
        self._begin_attempt(attempt, destination, stream, options)
        pipeline = stream.pipeline
        self._notes.append(("begin", monotonic(), attempt, destination, (*pipeline.lifecycle.waiting,)))
        self._position, self._reader, pipeline.watcher = pipeline.position, stream.reader, self

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request that is sent to the upstream."""
        head = upstream_request(self.attempt, request)
        self._notes.append(("request", monotonic(), head, len(request.body)))

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts that the decoder gets from the requests."""
        if facts:
            self._notes.append(("given", monotonic(), dict(facts)))

    def answered(self, response: UpstreamResponse) -> None:
        """Note the head of a response, and follow its body."""
        self._response = response
        head = upstream_response(self.attempt, response.status, response.headers)
        self._notes.append(("response", monotonic(), head, None))
        response.on_read = self._note_read
        if self._reports_relays:
            response.on_relayed = self._relay_noter()

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note the end of an attempt."""
        pipeline, ended = facts.stream.pipeline, how_ended(self._response, facts)
        reason = pipeline.lifecycle.reason if pipeline.position.ended else None
        end = attempt, self.destination, ended, self.record.first_event_ms, error, reason
        self._notes.append(("attempt", monotonic(), end))
        self._block = self._reader = None
        self._leave_response()

    # --- reads and events -----------------------------------------------------------------------------------

    def noted(self, event: Event, sequence: int) -> None:
        """Note the kind of an event."""
        notes = self._notes
        if self._reader is not None and self._reader.frames.first_output is not None:
            self._reader = None
            notes.append(("mark", monotonic(), {"what": "commit", "attempt": self.attempt}))
        code = event.message_code if type(event) is Warning else None
        ids = _ids_of(event.meta) if event.meta else None
        notes.append(("kind", monotonic(), 0, sequence, event.type, ids, code))
        self._block = None

    def replaced(self, event: Event, events: Sequence[Event]) -> None:
        """Note whether a text was withheld or left out."""
        if (change := change_of(event, events)) is not None:
            self._notes.append(("mark", monotonic(), {"what": change}))
            self._block = None

    def dropped(self) -> None:
        """Note that events followed the end."""
        self._add(("mark", monotonic(), {"what": "dropped"}))

    def _note_read(self, data: bytes) -> None:
        """Note a read that is not relayed at once."""
        if data:
            assert self._position is not None, "an attempt has begun"
            self._add(("read", monotonic(), len(data), self.attempt, self._position.written))

    def _relay_noter(self) -> Callable[[float, int, int], None]:
        """Return the function that notes each read of the present response that has been relayed at once."""
        delivery, position, most = self.delivery, self._position, self._settings.most_relay_bytes
        assert delivery is not None, "a relayed read has been delivered"
        assert position is not None, "an attempt has begun"

        def note(now: float, size: int, before: int) -> None:
            relay = pack_relay(now, size, before, delivery.bytes, position.written)
            block = self._block
            if block is None or len(block) >= most:
                self._begin_block(now, bytearray(relay))
            else:
                block += relay

        return note

    def _begin_block(self, now: float, block: bytearray) -> None:
        """Note the first relayed read of a block, which further ones extend until another note comes."""
        if self._blocks is None:
            self._blocks = [block]
        else:
            self._blocks.append(block)
        self._notes.append(("relays", now, block, self.attempt))
        self._block = block
        if len(self._notes) > _MOST_NOTES:
            self._moved()

    # --- the response ---------------------------------------------------------------------------------------

    def delivered_by(self, delivery: DeliveryFacts, *, reports_relays: bool = False) -> None:
        """Watch the delivery that sends the stream to the client; see `StreamRecorder`."""
        self.delivery, delivery.watcher = delivery, self
        self._reports_relays = reports_relays
        if not reports_relays:
            delivery.on_sent_at_once = self.written

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the head of the response to the client."""
        position = self._position
        sequence = None if position is None else position.written
        self._notes.append(("response", monotonic(), client_response(status, headers), sequence))
        self._block = None

    def written(self, data: bytes) -> None:
        """Note a piece of the response's body that was not sent by a relay."""
        notes, position = self._notes, self._position
        sequence = None if position is None else position.written
        notes.append(("write", monotonic(), len(data), sequence))
        self._block = None
        if len(notes) > _MOST_NOTES:
            self._moved()

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""
        position = self._position
        self._add(("heartbeat", monotonic(), len(data), None if position is None else position.written))

    def _add(self, note: Entry) -> None:
        self._notes.append(note)
        self._block = None
        if len(self._notes) > _MOST_NOTES:
            self._moved()

    # --- the end --------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Note the end of the stream, and drop references that only a stream under way needs."""
        self._notes.append(("end", monotonic(), self.record))
        self._close()
        self._position = self._scope = None
        if self._mask is not None:
            self._opened()
            self._mask.is_over = True


def _ids_of(meta: Any) -> dict[str, Any] | None:
    """Return the ids of an event, or None. A value that is too long is not an id."""
    found = {name: meta[name] for name in _IDS if name in meta}
    return {name: value for name, value in found.items() if len(str(value)) <= _LONGEST_ID} or None
