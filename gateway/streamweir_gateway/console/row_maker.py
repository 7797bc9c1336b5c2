"""Makes the rows of requests for the console, from the record of the request and from its stream."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from streamweir.capture.masking import SecretMask
from streamweir.request_id import session_id_of
from streamweir_gateway.console.clock_shift import clock_shift
from streamweir_gateway.console.recorded_request import RecordedRequest, TranslationFacts
from streamweir_gateway.console.row import PackedRow, State
from streamweir_gateway.observability.observer import shown_hint
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["RowMaker"]

_PREFIX: Final = "req_"
_OUR_LENGTH: Final = len(_PREFIX) + 32
_NO_FACTS: Final = TranslationFacts()
_RECORDED: Final[Callable[[RequestRecord], tuple[Any, ...]]] = attrgetter(
    *("request_id", "trace_id", "upstream", "key", "events", "bytes_in", "bytes_out", "lost", "code"),
    *("status", "speaks", "answers", "framing"),
)
"""Returns the fields of a `PackedRow` from `request_id` to `framing`, as the record of a request has them."""


class RowMaker:
    """Makes rows.

    Args:
        secrets: removes secrets from hints.
        mask: hides secrets in ids of requests that have no recorder.
    """

    def __init__(self, secrets: Secrets, mask: SecretMask) -> None:
        self._secrets = secrets
        self._mask = mask

    def open(self, recorder: RecordedRequest) -> PackedRow:
        """Return the row of an open request as it is now."""
        record, stream, delivery = recorder.record, recorder.stream, recorder.delivery
        row = self._row(recorder, recorder.known_translation() or _NO_FACTS, _state(recorder), clock_shift())
        if delivery is not None:
            row.bytes_out = delivery.bytes
            row.status = record.status or (delivery.status if delivery.is_started else None)
        if stream is not None:
            row.events, row.bytes_in = stream.pipeline.position.written, stream.bytes
        return row

    def ended(self, recorder: RecordedRequest, shift: float) -> PackedRow:
        """Return the row of a request that has ended; `shift` is the present `clock_shift()`."""
        if not recorder.attempt and recorder.record.reason is None:
            return self.without_stream(recorder.row_id, recorder.record)
        row = self._row(recorder, recorder.translation or _NO_FACTS, "ended", shift)
        row.bytes_in = row.bytes_in or 0  # the reader of a stored run reads from no upstream
        row.bytes_out = row.bytes_out or 0  # a run in the background has no client
        return row

    def without_stream(self, row_id: str, record: RequestRecord) -> PackedRow:
        """Return the row of a request that never became a stream: it was refused, its client left, or it was
        answered by the whole result of a stored run or a kept response. It has no capture.
        """
        began = round((record.began + clock_shift()) * 1000)
        endpoint, attempts = record.endpoint or record.run_endpoint, record.attempts or 0
        state: State = "ended" if record.reads_whole or record.code is None else "refused"
        row = PackedRow(
            *(began, endpoint, None, None, record.duration_ms, record.reason),
            *(row_id, state, attempts, *_RECORDED(record)),
        )
        row.bytes_in = 0
        if not _is_ours(record.request_id):
            row.request_id = self._mask.apply_to_text(record.request_id)
        if not record.reads_whole:
            row.events = 0
            if state == "ended":  # the client left, so nothing was sent
                row.bytes_out = 0
        row.hint = None if record.hint is None else shown_hint(record.hint, self._secrets)
        return row

    def _row(
        self, recorder: RecordedRequest, facts: TranslationFacts, state: State, shift: float
    ) -> PackedRow:
        """Return the row of a request that has a recorder, with the numbers in its record."""
        record, session_id, thread_id = recorder.record, facts.session_id, facts.thread_id
        is_chosen = session_id is not None and session_id != session_id_of(record.request_id)
        request_id = record.request_id
        if is_chosen or thread_id is not None or not _is_ours(request_id):  # chosen by upstream or client
            shown = recorder.own_mask().apply_to_text
            request_id = shown(request_id)
            session_id = None if session_id is None else shown(session_id)
            thread_id = None if thread_id is None else shown(thread_id)
        first = record.first_event_ms
        return PackedRow(
            round((record.began + shift) * 1000),
            record.endpoint or record.run_endpoint,
            first,
            None if first is None else round(record.longest_gap * 1000, 3),
            record.duration_ms,
            record.reason,
            recorder.row_id,
            state,
            recorder.attempt,
            request_id,
            record.trace_id,
            record.upstream,
            record.key,
            record.events,
            record.bytes_in,
            record.bytes_out,
            record.lost,
            record.code,
            record.status or recorder.status,
            facts.speaks or record.speaks,
            record.answers or recorder.answers,
            record.framing or recorder.framing,
            None if record.hint is None else shown_hint(record.hint, self._secrets),
            session_id,
            thread_id,
            facts.warnings,
            facts.repairs,
            facts.malformed,
            "content" if recorder.has_content else "metadata",
        )


def _is_ours(request_id: str) -> bool:
    """Return whether the gateway has made the id of a request. A client may send any other text."""
    return request_id.startswith(_PREFIX) and len(request_id) == _OUR_LENGTH


def _state(recorder: RecordedRequest) -> State:
    record, delivery = recorder.record, recorder.delivery
    if record.client_left or (delivery is not None and delivery.supervisor.dropped is not None):
        return "detached"
    has_begun = record.first_event_ms is not None or (
        record.resumes is not None and delivery is not None and delivery.is_started
    )
    return "streaming" if has_begun else "waiting"
