"""The body of a stream of the standard protocol as received events.

Ids, times and sequence numbers are those of the server. A breach of the protocol is reported, not repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from streamweir.client.rejections import info_of_envelope, is_envelope
from streamweir.codec.folded_result import events_in, is_whole_answer
from streamweir.errors import ErrorInfo, LimitExceeded, MalformedEvent, NotTheDialect, error_info
from streamweir.events import Error, SessionEnd
from streamweir.framing import Frame, SniffingParser
from streamweir.options.limits import Limits
from streamweir.translation.received_event import ReceivedEvent, failure_events, made_event
from streamweir.translation.report import MAX_REPORTED_MALFORMED, malformed_warning, more_malformed_warning

__all__ = ["StandardReader"]


class StandardReader:
    """Reads the standard protocol, SSE or NDJSON.

    state      flag            entered by
    ────────   ─────────────   ────────────────────────────────────────────────────────────────────────
    new        none            `_has_data` tells whether a byte other than blanks has come
    started    `started`       the first event, or a folded result in place of a stream
    failed     `_has_failed`   a terminal `error`: of the later events only `session_end` is returned
    ended      `ended`         `session_end`, a rejection (`was_rejected`), too many malformed events, or the
                               end of the body, for which an `error` is made

    A state is never left for an earlier one. Malformed frames before the first event are reported after it.

    Args:
        request_id: the id for events that the client makes; replaced by the server's id once that is known.
        goes_on: the body continues a stream that has begun.
    """

    complete = False
    waits = False

    def __init__(self, request_id: str, *, goes_on: bool = False) -> None:
        self.started = goes_on
        self.ended = False
        self.was_rejected = False
        self._limits = Limits()
        self._parser = SniffingParser(self._limits.event_bytes)
        self._request_id = request_id
        self._sequence = -1
        self._malformed = 0
        self._has_data = False
        self._last_error: ReceivedEvent | None = None
        self._has_failed = False

    def feed(self, data: bytes) -> list[ReceivedEvent]:
        """Return the events that `data` completes."""
        if self.ended:
            return []
        self._has_data = self._has_data or bool(data.strip())
        return self._guarded(self._parser.feed(data))

    def close(self) -> list[ReceivedEvent]:
        """End the body: return the last events, with an `error` if the end is missing."""
        if self.ended:
            return []
        events = self._guarded(self._parser.finish())
        if not self.ended:
            events.extend(self.fail(self._what_is_missing()))
        return events

    def fail(self, info: ErrorInfo) -> list[ReceivedEvent]:
        """Return the end of a stream that broke off; after a terminal error only `session_end` is missing."""
        if self.ended:
            return []
        self.ended = True
        following = self._sequence if self._has_failed else self._sequence + 1
        error, end = failure_events(info, request_id=self._request_id, sequence=following)
        return [end] if self._has_failed else [error, end]

    def _guarded(self, frames: Iterable[Frame]) -> list[ReceivedEvent]:
        events: list[ReceivedEvent] = []
        try:
            for frame in frames:
                events.extend(self._read(frame))
                if self.ended:
                    break
        except LimitExceeded:
            events.extend(self.fail(error_info("STREAM_LIMIT_EXCEEDED")))
        except NotTheDialect:
            events.extend(self.fail(error_info("UPSTREAM_INVALID_RESPONSE")))
        return events

    def _read(self, frame: Frame) -> Iterator[ReceivedEvent]:
        if not frame.data or frame.data == b"[DONE]":
            return
        try:
            message = frame.json()
            if not self.started and (instead := self._in_place_of_a_stream(message)) is not None:
                yield from instead
                return
            event = ReceivedEvent(message)
        except MalformedEvent:
            yield from self._note_malformed(frame)
            return
        waiting = 0 if self.started else self._malformed
        self.started = True
        if event.type == "session_end":
            yield from self._malformed_warnings(waiting)
            waiting = 0
        yield from self._take(event)
        yield from self._malformed_warnings(waiting)

    def _in_place_of_a_stream(self, message: Any) -> Iterable[ReceivedEvent] | None:
        """Return the events for an object in place of a stream (a refusal, a folded result), else None."""
        if isinstance(message, dict) and is_whole_answer(message):
            return self._unfold(message)
        return self._reject(message) if is_envelope(message) else None

    def _unfold(self, message: dict[str, Any]) -> Iterator[ReceivedEvent]:
        self.started = True
        if isinstance(given := message.get("request_id"), str):
            self._request_id = given
        start: dict[str, Any] = {"type": "session_start", "data": {"request_id": self._request_id}}
        for event in (start, *events_in(message)):
            metadata = {**event.get("metadata", {}), "request_id": self._request_id}
            yield from self._take(ReceivedEvent({**event, "metadata": metadata}))

    def _take(self, event: ReceivedEvent) -> Iterator[ReceivedEvent]:
        """Yield `event`; after a terminal error drop all events except the end of the stream."""
        metadata = event.metadata
        self._request_id = metadata.request_id or self._request_id
        self._sequence = self._sequence + 1 if metadata.sequence is None else metadata.sequence
        if event.type == "session_end":
            self.ended = True
            yield from self._warning_of_the_rest()
            if isinstance(event.data, SessionEnd) and event.data.status == "error" and not self._has_failed:
                yield self._failure_before(event)
            yield event
        elif not self._has_failed:
            if isinstance(event.data, Error):
                self._last_error = event
                self._has_failed = event.data.terminal
            yield event

    def _failure_before(self, end: ReceivedEvent) -> ReceivedEvent:
        """Return the error for an end with status `error`: the last reported error, else a made one."""
        if self._last_error is not None:
            message = self._last_error.to_dict()
            return ReceivedEvent({**message, "data": {**message["data"], "terminal": True}})
        reason = end.data.reason if isinstance(end.data, SessionEnd) else None
        return failure_events(error_info("UPSTREAM_ERROR", reason=reason), request_id=self._request_id)[0]

    def _reject(self, envelope: dict[str, Any]) -> list[ReceivedEvent]:
        self.was_rejected = True
        given = envelope.get("request_id")
        self._request_id = given if isinstance(given, str) else self._request_id
        return self.fail(info_of_envelope(envelope, status=200))

    def _note_malformed(self, frame: Frame) -> Iterator[ReceivedEvent]:
        if frame.unterminated and frame.data.startswith((b"{", b"[")) and not frame.is_json:
            return  # half an event: the stream is truncated, not malformed
        self._malformed += 1
        if self._malformed > self._limits.malformed_events:
            yield from self.fail(error_info("STREAM_LIMIT_EXCEEDED", reason="malformed"))
        elif self.started and self._malformed <= MAX_REPORTED_MALFORMED:
            yield from self._malformed_warnings(1)

    def _malformed_warnings(self, number: int) -> Iterator[ReceivedEvent]:
        for _ in range(min(number, MAX_REPORTED_MALFORMED)):
            yield made_event(malformed_warning(), request_id=self._request_id)

    def _warning_of_the_rest(self) -> Iterator[ReceivedEvent]:
        if (warning := more_malformed_warning(self._malformed)) is not None:
            yield made_event(warning, request_id=self._request_id)

    def _what_is_missing(self) -> ErrorInfo:
        is_foreign = self._malformed or not self._parser.recognised
        if self._has_data and not self.started and is_foreign:
            return error_info("UPSTREAM_INVALID_RESPONSE")
        return error_info("UPSTREAM_TRUNCATED")
