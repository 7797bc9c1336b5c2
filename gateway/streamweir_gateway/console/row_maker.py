"""Makes the rows of requests for the console, from the record of the request and from its stream."""

from __future__ import annotations

import time
from typing import Final

from streamweir.capture.masking import SecretMask
from streamweir.request_id import session_id_of
from streamweir_gateway.console.recorded_request import RecordedRequest, TranslationFacts
from streamweir_gateway.console.row import PackedRow, State
from streamweir_gateway.observability.observer import shown_hint
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["RowMaker", "clock_shift"]

_NO_FACTS: Final = TranslationFacts()


class RowMaker:
    """Makes rows.

    Args:
        mask: removes secrets from texts that an upstream has chosen.
        secrets: removes secrets from hints.
    """

    def __init__(self, mask: SecretMask, secrets: Secrets) -> None:
        self._mask = mask
        self._secrets = secrets

    def open(self, recorder: RecordedRequest) -> PackedRow:
        """Return the row of an open request as it is now."""
        record, stream, delivery = recorder.record, recorder.stream, recorder.delivery
        row = self._row(recorder, _state(recorder), clock_shift())
        if delivery is not None:
            row.bytes_out = delivery.bytes
            row.status = record.status or (delivery.status if delivery.is_started else None)
        if stream is not None:
            row.events, row.bytes_in = stream.pipeline.position.written, stream.bytes
        return row

    def ended(self, recorder: RecordedRequest, shift: float) -> PackedRow:
        """Return the row of a request that has ended; `shift` is the present `clock_shift()`."""
        became_stream = recorder.attempt or recorder.record.reason is not None
        return self._row(recorder, "ended" if became_stream else "refused", shift)

    def refused(self, row_id: str, record: RequestRecord) -> PackedRow:
        """Return the row of a request that was refused before it had a recorder."""
        return PackedRow(
            began=_unix_milliseconds(record, clock_shift()),
            endpoint=record.endpoint,
            duration_ms=record.duration_ms,
            id=row_id,
            request_id=record.request_id,
            trace_id=record.trace_id,
            upstream=record.upstream,
            speaks=record.speaks,
            answers=record.answers,
            framing=record.framing,
            key=record.key,
            state="refused",
            events=0,
            bytes_in=0,
            bytes_out=record.bytes_out,
            attempts=record.attempts or 0,
            lost=record.lost,
            status=record.status,
            reason=record.reason,
            code=record.code,
            hint=self._shown_hint(record),
        )

    def _row(self, recorder: RecordedRequest, state: State, shift: float) -> PackedRow:
        """Return the row of a request that has a recorder, with the numbers in its record."""
        record, facts = recorder.record, recorder.translation or _NO_FACTS
        first, session_id = record.first_event_ms, facts.session_id
        if session_id is not None and session_id != session_id_of(record.request_id):
            session_id = self._mask.apply_to_text(session_id)  # an upstream may have chosen it
        row = PackedRow(  # more arguments than 15 would be passed in a dict
            began=_unix_milliseconds(record, shift),
            endpoint=record.endpoint,
            first_event_ms=first,
            max_gap_ms=None if first is None else round(record.longest_gap * 1000, 3),
            duration_ms=record.duration_ms,
            reason=record.reason,
            id=recorder.row_id,
            request_id=record.request_id,
            trace_id=record.trace_id,
            state=state,
            events=record.events,
            bytes_in=record.bytes_in,
            bytes_out=record.bytes_out,
            attempts=recorder.attempt,
            session_id=session_id,
        )
        row.upstream, row.speaks = record.upstream, facts.speaks or record.speaks
        row.answers, row.framing = record.answers or recorder.answers, record.framing or recorder.framing
        row.warnings, row.repairs, row.malformed = facts.warnings, facts.repairs, facts.malformed
        row.status, row.lost = record.status or recorder.status, record.lost
        row.key, row.code = record.key, record.code
        row.capture = "content" if recorder.has_content else "metadata"
        if record.hint is not None:
            row.hint = self._shown_hint(record)
        if facts.thread_id is not None:
            row.thread_id = self._mask.apply_to_text(facts.thread_id)
        return row

    def _shown_hint(self, record: RequestRecord) -> str | None:
        return None if record.hint is None else shown_hint(record.hint, self._secrets)


def clock_shift() -> float:
    """Return the difference between the Unix time and `time.monotonic()`, in seconds."""
    return time.time() - time.monotonic()


def _unix_milliseconds(record: RequestRecord, shift: float) -> int:
    return round((record.began + shift) * 1000)


def _state(recorder: RecordedRequest) -> State:
    record, delivery = recorder.record, recorder.delivery
    if record.client_left or (delivery is not None and delivery.supervisor.dropped is not None):
        return "detached"
    has_begun = record.first_event_ms is not None or (
        record.resumes is not None and delivery is not None and delivery.is_started
    )
    return "streaming" if has_begun else "waiting"
