"""Follows one request for the console: the facts of its row, and a log of its bytes.

An entry of the log begins with its kind and its time (`time.monotonic`). Those with * may hold secrets:
they are lists, whose last element is the number of secrets that were masked in them (see `log_mask.py`).

    kind        content
    ─────────   ─────────────────────────────────────────────────────────────────────────────────────────
    request*    fields of the line, body. Of the client, and of each request to an upstream
    response*   fields of the line, sequence of the next event or None
    begin       fields of the attempt: what shapes its translation
    given*      facts from the requests that the decoder needs
    read*       bytes, attempt, sequence of the next event, number
                several entries if they are large, see `entry_parts.py`; so are those of a write
    write*      bytes, number of the read before it or None, sequence of the next event, number
    kind        0, sequence, type, ids, code of a warning. With `capture: metadata`, for each event that is no
                further piece of a text
    mark        fields of the line. With `capture: metadata`
    attempt*    fields of the line
    end         fields of the line

With `capture: metadata` a number of bytes is in the place of each body. With `content` events and marks are
made from the reads when they are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from starlette.types import Scope

from streamweir.codec.base import Options
from streamweir.delivery.client_port import ClientPort
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.translation.normalizer import StreamNormalizer
from streamweir_gateway.console.entry_parts import parts_of, size_of_parts
from streamweir_gateway.console.event_kinds import EventKinds
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.recorded_client import RecordedClient
from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.stream_log import RAW, StreamLog
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.stream_recorder import AttemptFacts, DeliveryFacts, ReaderFacts
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["RequestRecorder"]


class ReaderPosition:
    """The position of the reader of a stored run, as that of a pipeline.

    Args:
        reader: of the run.
    """

    __slots__ = ("_reader",)

    def __init__(self, reader: ReaderFacts) -> None:
        self._reader = reader

    @property
    def written(self) -> int:
        """The sequence of the next event."""
        return self._reader.at


class RequestRecorder:
    """Follows one request; see `StreamRecorder`.

    Args:
        row_id: of its row.
        record: of the request.
        scope: of the request.
        mask: masks the secrets in the log.
        has_content: keep the bytes, and not their numbers alone.
        max_bytes: the most bytes to keep.
        config: the hash of the configuration in force.

    Attributes:
        row_id: of its row.
        record: of the request.
        log: of its bytes.
        mask: see above.
        attempts: one row for each attempt.
        stream: of the present attempt; None before the first.
        delivery: to the client; None before there is one.
        incoming: the client's request; None before it is known.
        first_event: the sequence of the first event of the response; not 0 for one that goes on.
    """

    __slots__ = (
        "_began",
        "_config",
        "_destination",
        "_has_content",
        "_max_body",
        "_most",
        "_options",
        "_position",
        "_reads",
        "_response",
        "_scope",
        "_session",
        "_writes",
        "attempts",
        "delivery",
        "first_event",
        "incoming",
        "log",
        "mask",
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
        self.log = StreamLog(max_bytes)
        self.mask = mask
        self.attempts: list[AttemptRow] = []
        self.stream: StreamNormalizer | None = None
        self.delivery: DeliveryFacts | None = None
        self.incoming: Incoming | None = None
        self.first_event = 0
        self._scope: Scope | None = scope
        self._began = record.began
        self._has_content = has_content
        self._max_body = max_bytes // 4
        self._most = size_of_parts(max_bytes)
        self._destination: Destination | None = None
        self._options: Mapping[str, Options] = {}
        self._position: Any = None
        self._response: UpstreamResponse | None = None
        self._reads = 0
        self._writes = 0
        self._config = config
        self._session: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the stream has ended."""
        return self.mask.is_over

    # --- the request ----------------------------------------------------------------------------------------

    def delivered_by(self, delivery: DeliveryFacts) -> None:
        """Take the delivery to the client."""
        self.delivery = delivery

    def reads_run(self, reader: ReaderFacts) -> None:
        """Count the events of the response by the reader of a stored run."""
        self.first_event = 0 if reader.position is None else reader.position.next_event
        self._position = ReaderPosition(reader)

    def asked(self, incoming: Incoming, body: bytes) -> None:
        """Note the client's request, once."""
        self.incoming = incoming
        scope, self._scope = self._scope, None
        if scope is None:
            return
        query = scope.get("query_string", b"")
        path = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        fields = {
            "side": "client",
            "method": scope["method"],
            "target": (path + (b"?" + query if query else b"")).decode("latin-1"),
            "headers": _texts(scope["headers"]),
        }
        self._add_with_body("request", self._began, fields, body)

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
        self.stream, self._position, self._response = stream, stream.pipeline.position, None
        self._destination, self._options = destination, options
        self.attempts.append(
            AttemptRow(attempt=attempt, upstream=destination.label, began_ms=self._since(now))
        )
        fields = {
            "attempt": attempt,
            "upstream": destination.label,
            "speaks": destination.config.speaks,
            "warnings": [
                {"message": warning.message, "message_code": warning.message_code}
                for warning in stream.pipeline.waiting
            ],
        }
        self.log.add(("begin", now, fields), 0)
        if not self._has_content:
            EventKinds(self.log, lambda: self._reads - 1, attempt).follow(stream)

    def meta(self) -> dict[str, Any]:
        """Return the fields of the first line of the capture file, as far as they are known."""
        record, incoming = self.record, self.incoming
        answers = record.answers or (incoming.answers if incoming is not None else None)
        destination = self._destination
        found = {
            "id": record.request_id,
            "content": "full" if self._has_content else "metadata",
            "endpoint": record.endpoint,
            "upstream": record.upstream,
            "speaks": record.speaks if destination is None else destination.config.speaks,
            "answers": answers,
            "framing": record.framing or (incoming.framing if incoming is not None else None),
            "options": None
            if destination is None
            else destination.recorded_options(self._options, answers or "standard"),
            "config": self._config or None,
            "trace_id": record.trace_id,
            "session_id": self._session_id(),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _session_id(self) -> str | None:
        current = None if self.stream is None else self.stream.pipeline.lifecycle.session_id
        return current or self._session

    def sent(self, request: UpstreamRequest) -> None:
        """Note a request to the upstream."""
        origin = request.origin
        url = f"{origin.scheme}://{origin.netloc}{request.target}"
        self.attempts[-1].url = url.partition("?")[0]
        relayed = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.relayed]
        fields = {
            "side": "upstream",
            "attempt": self.attempts[-1].attempt,
            "method": request.method,
            "url": url,
            "headers": [[name.lower(), value] for name, value in (*request.headers, *relayed)],
        }
        self._add_with_body("request", time.monotonic(), fields, request.body)

    def given(self, facts: Mapping[str, str]) -> None:
        """Note facts that the decoder gets."""
        if facts:
            self._add(["given", time.monotonic(), dict(facts), RAW], 0)

    def answered(self, response: UpstreamResponse) -> None:
        """Note the head of a response, and follow its body."""
        attempt = self.attempts[-1]
        attempt.status = response.status
        self._response = response
        fields = {
            "side": "upstream",
            "attempt": attempt.attempt,
            "status": response.status,
            "headers": _texts(response.headers),
        }
        self._add(["response", time.monotonic(), fields, None, RAW], 0)
        response.on_read = self._reader(attempt)

    def attempt_ended(self, attempt: int, error: ErrorInfo | None, facts: AttemptFacts) -> None:
        """Note the end of an attempt."""
        row, response = self.attempts[-1], self._response
        row.code = None if error is None else error.code
        row.ended = _how_ended(response, facts)
        fields: dict[str, Any] = {"attempt": attempt, "upstream": row.upstream, "ended": row.ended}
        if error is not None:
            fields |= {"code": error.code, "failure": msgspec.to_builtins(error)}
        elif facts.stream.pipeline.ended:
            fields["reason"] = facts.stream.pipeline.reason
        self._add(["attempt", time.monotonic(), fields, RAW], 0)
        self._response = None

    def _reader(self, attempt: AttemptRow) -> Callable[[bytes], None]:
        """Return the function that takes each read of the present response."""
        log_add, mask_add, position, number = self.log.add, self.mask.add, self._position, attempt.attempt
        monotonic, has_content, most = time.monotonic, self._has_content, self._most

        def read(data: bytes) -> None:
            if not data:
                return
            if has_content:
                entry, size = (
                    ["read", monotonic(), data, number, position.written, self._reads, RAW],
                    len(data),
                )
                if size > most:
                    self._add_parts(entry)
                else:
                    log_add(entry, size)
                    mask_add(entry, size)
            else:
                log_add(("read", monotonic(), len(data), number, position.written, self._reads, 0), 0)
            self._reads += 1
            if attempt.first_event_ms is None:
                self._note_first(attempt)

        return read

    def _add(self, entry: list[Any], size: int) -> None:
        """Add an entry that may hold secrets."""
        self.log.add(entry, size)
        self.mask.add(entry, size)

    def _add_parts(self, entry: list[Any]) -> None:
        """Add a large read or write, so that the log can leave out a part of it."""
        for part in parts_of(entry, self._most):
            self._add(part, len(part[2]))

    def _note_first(self, attempt: AttemptRow) -> None:
        """Note the time of the first event of an attempt, one read late."""
        first = self.record.first_event_ms
        if first is not None and first >= attempt.began_ms:
            attempt.first_event_ms = first

    # --- the response ---------------------------------------------------------------------------------------

    def client(self, port: ClientPort) -> ClientPort:
        """Return the client with each sent piece recorded."""
        return RecordedClient(port, self)

    def response_started(self, status: int, headers: Headers) -> None:
        """Note the head of the response to the client."""
        fields = {"side": "client", "status": status, "headers": _texts(headers)}
        written = None if self._position is None else self._position.written
        self._add(["response", time.monotonic(), fields, written, RAW], 0)

    def writer(self) -> Callable[[bytes], None]:
        """Return the function that notes a piece of the body."""
        log_add, mask_add, monotonic = self.log.add, self.mask.add, time.monotonic
        has_content, most = self._has_content, self._most

        def written(data: bytes) -> None:
            position, reads = self._position, self._reads
            sequence = None if position is None else position.written
            read = reads - 1 if reads else None
            if has_content:
                entry, size = ["write", monotonic(), data, read, sequence, self._writes, RAW], len(data)
                if size > most:
                    self._add_parts(entry)
                else:
                    log_add(entry, size)
                    mask_add(entry, size)
            else:
                log_add(("write", monotonic(), len(data), read, sequence, self._writes, 0), 0)
            self._writes += 1

        return written

    # --- the end --------------------------------------------------------------------------------------------

    def end(self, fields: Mapping[str, Any]) -> None:
        """Note the end of the stream, and let go of all that only a stream under way needs."""
        if self.attempts:
            self._note_first(self.attempts[-1])
        self._session = self._session_id()
        self.log.add(("end", time.monotonic(), dict(fields)), 0)
        self.mask.is_over = True
        self.stream = self.delivery = self._response = self._position = self._scope = None

    def _since(self, now: float) -> float:
        return round((now - self._began) * 1000, 3)

    def _add_with_body(self, kind: str, t: float, fields: dict[str, Any], body: bytes) -> None:
        is_kept = self._has_content and len(body) <= self._max_body
        self._add([kind, t, fields, body if is_kept else len(body), RAW], len(body) if is_kept else 0)


def _how_ended(response: UpstreamResponse | None, facts: AttemptFacts) -> str:
    if response is None or (facts.failure is not None and not facts.stream.started):
        return "refused"
    if facts.is_broken:
        return "broken"
    return "eof" if response.is_whole else "left"


def _texts(headers: Any) -> list[list[str]]:
    return [[name.decode("latin-1").lower(), value.decode("latin-1")] for name, value in headers]
