"""Makes the rows of requests for the console, from the record of the request and from its stream."""

from __future__ import annotations

import time

from streamweir.capture.masking import SecretMask
from streamweir.request_id import session_id_of
from streamweir_gateway.console.recorded_request import RecordedRequest, TranslationFacts
from streamweir_gateway.console.row import PackedRow, State
from streamweir_gateway.observability.observer import shown_hint
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["RowMaker"]


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
        row = self._of_stream(recorder, _state(recorder))
        if delivery is not None:
            row.bytes_out = delivery.bytes
            row.status = record.status or (delivery.status if delivery.is_started else None)
        if stream is not None:
            row.events, row.bytes_in = stream.pipeline.position.written, stream.bytes
        return row

    def ended(self, recorder: RecordedRequest) -> PackedRow:
        """Return the row of a request that has ended."""
        record = recorder.record
        became_stream = recorder.attempt or record.reason is not None
        row = self._of_stream(recorder, "ended" if became_stream else "refused")
        row.duration_ms = record.duration_ms
        row.events, row.bytes_in, row.bytes_out = record.events, record.bytes_in, record.bytes_out
        row.status = record.status or recorder.status
        return row

    def refused(self, row_id: str, record: RequestRecord) -> PackedRow:
        """Return the row of a request that was refused before it had a recorder."""
        row = self._of_record(row_id, record, "refused")
        row.duration_ms, row.bytes_out = record.duration_ms, record.bytes_out
        row.attempts, row.events, row.bytes_in = record.attempts or 0, 0, 0
        return row

    def _of_stream(self, recorder: RecordedRequest, state: State) -> PackedRow:
        """Return the row of a request that has a recorder, without its numbers of events and of bytes."""
        translation, incoming = recorder.translation, recorder.incoming
        row = self._of_record(recorder.row_id, recorder.record, state)
        row.capture = "content" if recorder.has_content else "metadata"
        row.attempts = recorder.attempt
        if incoming is not None:
            row.answers, row.framing = row.answers or incoming.answers, row.framing or incoming.framing
        if translation is not None:
            row.warnings, row.repairs = translation.warnings, translation.repairs
            row.malformed = translation.malformed
            row.speaks = translation.speaks or row.speaks
            self._add_ids(row, translation)
        return row

    def _add_ids(self, row: PackedRow, translation: TranslationFacts) -> None:
        """Add the ids of the stream, which an upstream may have chosen, without secrets."""
        session_id, thread_id = translation.session_id, translation.thread_id
        if session_id is not None and session_id != session_id_of(row.request_id):
            session_id = self._mask.apply_to_text(session_id)
        row.session_id = session_id
        row.thread_id = None if thread_id is None else self._mask.apply_to_text(thread_id)

    def _of_record(self, row_id: str, record: RequestRecord, state: State) -> PackedRow:
        has_event, hint = record.first_event_ms is not None, record.hint
        return PackedRow(
            began=round((time.time() - (time.monotonic() - record.began)) * 1000),
            endpoint=record.endpoint,
            first_event_ms=record.first_event_ms,
            max_gap_ms=round(record.longest_gap * 1000, 3) if has_event else None,
            reason=record.reason,
            id=row_id,
            request_id=record.request_id,
            trace_id=record.trace_id,
            upstream=record.upstream,
            speaks=record.speaks,
            answers=record.answers,
            framing=record.framing,
            key=record.key,
            state=state,
            lost=record.lost,
            status=record.status,
            code=record.code,
            hint=None if hint is None else shown_hint(hint, self._secrets),
        )


def _state(recorder: RecordedRequest) -> State:
    record, delivery = recorder.record, recorder.delivery
    if record.client_left or (delivery is not None and delivery.supervisor.dropped is not None):
        return "detached"
    has_begun = record.first_event_ms is not None or (
        record.resumes is not None and delivery is not None and delivery.is_started
    )
    return "streaming" if has_begun else "waiting"
