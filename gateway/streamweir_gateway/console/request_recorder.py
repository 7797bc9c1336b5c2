"""Follows one request for the console: the facts of its row, and a log of its bytes.

An entry of the log begins with its kind and its time (`time.monotonic`). Entries of the kinds with * may hold
secrets. Such an entry is a list, whose last element is the number of secrets that were masked in it (see
`log_mask.py`).

    kind        content
    ─────────   ─────────────────────────────────────────────────────────────────────────────────────────
    request*    head, body. Of the client, and of each request to an upstream
    response*   head, sequence of the next event or None
    begin       fields of the attempt: what shapes its translation
    given*      facts from the requests that the decoder needs
    read*       bytes, attempt, sequence of the next event, number
                several entries if they are large, see `entry_parts.py`; so are those of a write
    write*      bytes, number of the read before it (None: no read; `HEARTBEAT`: a heartbeat), sequence of the
                next event, number
    relays      relayed reads, attempt, sequence before them, number of the first read and of the first write,
                bytes of all writes before. With `capture: metadata`; see `size_lanes.py`
    kind        0, sequence, type, ids, code of a warning. With `capture: metadata`, for each event that is no
                further piece of a text
    mark        fields of the line. With `capture: metadata`
    attempt*    fields of the line
    end         fields of the line

With `capture: metadata` each body is replaced by its number of bytes. With `capture: content` events and
marks are made from the reads when they are shown. A head is a tuple of its parts until its secrets are masked
(see `recorded_heads.py`), then the fields of the line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir.delivery.client_port import ClientPort
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.body_lanes import BodyLanes
from streamweir_gateway.console.capture_source import StreamFacts
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.recorded_client import RecordedClient
from streamweir_gateway.console.recorded_heads import (
    Head,
    client_request,
    client_response,
    upstream_request,
    upstream_response,
)
from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.size_lanes import SizeLanes
from streamweir_gateway.console.stream_log import RAW, Entry, LeftOut, NumberedEntry, StreamLog
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts, DeliveryFacts, ReaderFacts
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["RequestRecorder"]


class ReaderPosition:
    """The position of the reader of a stored run, with the interface of a pipeline's position.

    Args:
        reader: the reader of the run.
    """

    __slots__ = ("_reader",)

    def __init__(self, reader: ReaderFacts) -> None:
        self._reader = reader

    @property
    def written(self) -> int:
        """The sequence number of the next event."""
        return self._reader.at


class RequestRecorder:
    """Follows one request; see `StreamRecorder`.

    Args:
        row_id: the id of the request's row.
        record: the record of the request.
        scope: the ASGI scope of the request.
        mask: masks the secrets in the log.
        has_content: whether to keep the bytes; False: only their numbers are kept.
        max_bytes: the most bytes to keep.
        config: the hash of the configuration in force.

    Attributes:
        row_id: the id of its row.
        record: the record of the request.
        log: the log of the stream.
        mask: the masking of the log.
        attempts: one row for each attempt.
        stream: the stream of the present attempt; None before the first.
        delivery: the delivery to the client; None before it begins.
        incoming: the client's request; None before it is read.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        destination: the upstream of the last attempt; None before the first.
        options: the options of each dialect in the last attempt, by its name.
        has_content: the argument.
    """

    __slots__ = (
        "_began",
        "_config",
        "_lanes",
        "_max_body",
        "_reports_relays",
        "_response",
        "_scope",
        "_session",
        "attempts",
        "delivery",
        "destination",
        "first_event",
        "has_content",
        "incoming",
        "log",
        "mask",
        "options",
        "record",
        "row_id",
        "stream",
    )

    def __init__(
        self,
        row_id: str,
        record: RequestRecord,
        scope: Scope,
        mask: LogMask,
        *,
        has_content: bool,
        max_bytes: int,
        config: str = "",
    ) -> None:
        self.row_id = row_id
        self.record = record
        self.log = StreamLog(max_bytes, mask.raw, mask.note_more if has_content else None)
        self.mask = mask
        self.attempts: list[AttemptRow] = []
        self.stream: StreamNormalizer | None = None
        self.delivery: DeliveryFacts | None = None
        self.incoming: Incoming | None = None
        self.first_event = 0
        self._scope: Scope | None = scope
        self._began = record.began
        self.has_content = has_content
        self._max_body = max_bytes // 4
        self.destination: Destination | None = None
        self.options: Mapping[str, Options] = {}
        self._response: UpstreamResponse | None = None
        self._lanes = (BodyLanes if has_content else SizeLanes)(self.log)
        self._reports_relays = False
        """Whether writes of relayed reads are reported together with their reads."""
        self._config = config
        self._session: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the stream has ended."""
        return self.mask.is_over

    # --- the capture: see `CaptureSource` -------------------------------------------------------------------

    @property
    def masking(self) -> LogMask:
        """Masks the log."""
        self._collect()
        return self.mask

    @property
    def secrets(self) -> SecretMask:
        """The mask that finds the secrets known so far."""
        return self.mask.secrets

    @property
    def size(self) -> int:
        """The bytes of the log."""
        self._lanes.flush()
        return self.log.size

    @property
    def left_out(self) -> Mapping[str, LeftOut]:
        """The bytes and lines that were left out of the log, by lane."""
        return self.log.left_out

    def entries(self, start: int) -> Iterator[NumberedEntry]:
        """Return the entries of the log from number `start` on, up to the first one that is not masked."""
        self._lanes.flush()
        if self.attempts and self.attempts[-1].ended is None:
            self._note_first(self.attempts[-1])
        return self.log.entries(start)

    def shown(self, text: str) -> str:
        """Return a text without secrets."""
        return self.mask.shown(text)

    def whole_log(self) -> list[Entry] | None:
        """Return all entries of the log; None if some are left out, or masked already."""
        if self.mask.has_begun:
            return None
        self._lanes.flush()
        return self.log.whole()

    def _collect(self) -> None:
        """Hand out the entries that are not masked yet to the masking of the log."""
        self._lanes.flush()
        self.log.collect()

    # --- the request ----------------------------------------------------------------------------------------

    def delivered_by(self, delivery: DeliveryFacts) -> None:
        """Note the delivery to the client."""
        self.delivery = delivery

    def reads_run(self, reader: ReaderFacts) -> None:
        """Count the events of the response by the position of the reader of a stored run."""
        self.first_event = 0 if reader.position is None else reader.position.next_event
        self._lanes.position = ReaderPosition(reader)

    def asked(self, incoming: Incoming, body: bytes) -> None:
        """Note the client's request. Later calls do nothing."""
        self.incoming = incoming
        scope, self._scope = self._scope, None
        if scope is None:
            return
        self._add_request(self._began, client_request(scope), body)

    # --- attempts -------------------------------------------------------------------------------------------

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Note that an upstream is asked."""
        now = time.monotonic()
        self.stream, self._lanes.position, self._response = stream, stream.pipeline.position, None
        before, self.destination, self.options = self.destination, destination, options
        self.attempts.append(
            AttemptRow(attempt=attempt, upstream=destination.label, began_ms=self._since(now))
        )
        fields = {
            "attempt": attempt,
            "upstream": destination.label,
            "is_retry": before is not None and before.identity == destination.identity,
            "speaks": destination.config.speaks,
            "warnings": [
                {"message": warning.message, "message_code": warning.message_code}
                for warning in stream.pipeline.waiting
            ],
        }
        self._lanes.add(("begin", now, fields))
        self._lanes.follow(stream, attempt)

    def facts(self) -> StreamFacts:
        """Return the facts about the stream, as far as they are known now."""
        record, incoming, destination = self.record, self.incoming, self.destination
        return StreamFacts(
            record.request_id,
            self.has_content,
            record.endpoint,
            record.upstream,
            record.speaks if destination is None else destination.config.speaks,
            record.answers or (None if incoming is None else incoming.answers),
            record.framing or (None if incoming is None else incoming.framing),
            self._config or None,
            record.trace_id,
            self._session_id(),
            record.began,
            self.first_event,
        )

    def _session_id(self) -> str | None:
        current = None if self.stream is None else self.stream.pipeline.lifecycle.session_id
        return current or self._session

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request that is sent to the upstream."""
        attempt, origin = self.attempts[-1], request.origin
        url = f"{origin.scheme}://{origin.netloc}{request.target}"
        attempt.url = url.partition("?")[0]
        self._add_request(time.monotonic(), upstream_request(attempt.attempt, url, request), request.body)

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts that the decoder gets from the requests."""
        if facts:
            self._lanes.add(["given", time.monotonic(), dict(facts), RAW])

    def answered(self, response: UpstreamResponse) -> None:
        """Note the head of a response, and record its body."""
        attempt = self.attempts[-1]
        attempt.status = response.status
        self._response = response
        head = upstream_response(attempt.attempt, response.status, response.headers)
        self._lanes.add(["response", time.monotonic(), head, None, RAW])
        response.on_read = self._lanes.reader(attempt.attempt)
        if self._reports_relays and self.delivery is not None:
            response.on_relayed = self._lanes.relays(attempt.attempt, self.delivery)

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note the end of an attempt."""
        row, response = self.attempts[-1], self._response
        row.code = None if error is None else error.code
        row.ended = _how_ended(response, facts)
        self._note_first(row)
        fields: dict[str, Any] = {"attempt": attempt, "upstream": row.upstream, "ended": row.ended}
        if error is not None:
            fields |= {"code": error.code, "failure": msgspec.to_builtins(error)}
        elif facts.stream.pipeline.ended:
            fields["reason"] = facts.stream.pipeline.reason
        self._lanes.add(["attempt", time.monotonic(), fields, RAW])
        if response is not None:  # the delivery refers to the response, and `on_relayed` to the delivery
            response.on_read = response.on_relayed = None
        self._response = None

    def _note_first(self, attempt: AttemptRow) -> None:
        """Note the time of the first event of an attempt."""
        first = self.record.first_event_ms
        if first is not None and first >= attempt.began_ms:
            attempt.first_event_ms = first

    # --- the response ---------------------------------------------------------------------------------------

    def client(self, port: ClientPort, *, reports_relays: bool = False) -> ClientPort:
        """Wrap the client so that each piece sent to it is recorded; see `StreamRecorder`."""
        self._reports_relays = reports_relays and not self.has_content
        return RecordedClient(port, self, records_relays=not self._reports_relays)

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the head of the response to the client."""
        position = self._lanes.position
        written = None if position is None else position.written
        self._lanes.add(["response", time.monotonic(), client_response(status, headers), written, RAW])

    def writer(self) -> Callable[[bytes], None]:
        """Return the function that notes each sent piece of the body."""
        return self._lanes.writer()

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat."""
        self._lanes.heartbeat(data)

    # --- the end --------------------------------------------------------------------------------------------

    def end(self, fields: Mapping[str, Any]) -> None:
        """Note the end of the stream, and drop references that only a stream under way needs."""
        self._session = self._session_id()
        self._lanes.add(("end", time.monotonic(), fields))
        self.mask.is_over = True
        self.stream = self.delivery = self._response = self._lanes.position = self._scope = None

    def _since(self, now: float) -> float:
        return round((now - self._began) * 1000, 3)

    def _add_request(self, now: float, head: Head, body: bytes) -> None:
        is_kept = self.has_content and len(body) <= self._max_body
        size = len(body) if is_kept else 0
        self._lanes.add(["request", now, head, body if is_kept else len(body), RAW], size)


def _how_ended(response: UpstreamResponse | None, facts: AttemptFacts) -> str:
    if response is None or (facts.failure is not None and not facts.stream.started):
        return "refused"
    if facts.is_broken:
        return "broken"
    return "eof" if response.is_whole else "left"
