"""The rows of one serving process: one for each request, from its beginning to its end.

    state      entered by                                        next state
    ────────   ───────────────────────────────────────────────   ─────────────────────────────────────────
    unknown    a request arrives                                 open, ended (a row only if it was refused)
    open       `recorder`: the request may become a stream       ended
    ended      `ended`: its record is reported                   —

A request that opens a second recorder keeps its row. A row is made when `take` returns it or when the request
ends; a request that begins and ends between two calls of `take` makes one row only.

Source: the console contract, section 1 (a row).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from secrets import token_hex
from typing import Any, Final

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir.request_id import session_id_of
from streamweir_gateway.config import ConsoleConfig
from streamweir_gateway.console.capture_shelf import CaptureShelf
from streamweir_gateway.console.ended_capture import KeptCapture, kept_capture
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.masking_queue import MaskingQueue
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.row import Row, State
from streamweir_gateway.observability.observer import shown_hint
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["StreamRows"]

MOST_WAITING: Final = 10_000
"""The most changes that wait for the console. If there are more, the oldest changes are dropped."""

OPEN_SECONDS: Final = 3.0
"""The seconds after which an open row is sent to the console without a question of the console.

Then the console has it if this process is killed. Most streams are over before.
"""

_STATUS_OF_REASON: Final = {
    "done": "completed",
    "interaction": "suspended",
    "cancelled": "cancelled",
    "client_gone": "cancelled",
    "slow_client": "cancelled",
}


class StreamRows:
    """Makes the rows of one process, and keeps the recorders of its captures.

    Args:
        worker: the number of the process, from 1.
        workers: the number of processes that share `keep.total_bytes`.
        settings: the settings of the console.
        secrets: texts that are removed from hints.

    Attributes:
        on_change: called when a row begins or ends.
        config: the hash of the configuration in force.
        last_errors: the code of the last failed attempt, by the label of the upstream.
    """

    def __init__(
        self, worker: int, workers: int, settings: ConsoleConfig, secrets: Iterable[str] = ()
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.config = ""
        self.last_errors: dict[str, str] = {}
        self._worker = worker
        self._workers = workers
        self._take_secrets(secrets)
        self._masking = MaskingQueue()
        self._open: dict[int, RequestRecorder] = {}
        """The recorders of open requests, by the identity of their records."""
        self._by_row: dict[str, RequestRecorder] = {}
        self._new: dict[str, None] = {}
        """The ids of open rows that no call of `take` has returned yet."""
        self._changed: deque[Row] = deque(maxlen=MOST_WAITING)
        """The rows that have ended, in this order, until `take` returns them."""
        self._gone: deque[str] = deque(maxlen=MOST_WAITING)
        self._sent: dict[str, tuple[Any, ...]] = {}
        """The facts of each open row as they were last returned, by the id of the row."""
        self._start = token_hex(3)
        self._count = 0
        keep = settings.keep
        self._shelf = CaptureShelf(keep.total_bytes // workers, keep.streams)
        self._settings = settings

    def _take_secrets(self, secrets: Iterable[str]) -> None:
        texts = frozenset(secrets)
        self._secrets, self._mask = Secrets(texts), SecretMask(texts)

    def configure(self, settings: ConsoleConfig, secrets: Iterable[str]) -> None:
        """Apply changed settings. Streams under way keep the earlier settings."""
        self._settings = settings
        self._take_secrets(secrets)
        self._shelf.max_bytes = settings.keep.total_bytes // self._workers
        self._shelf.max_streams = settings.keep.streams
        self._give_way()

    # --- called by requests ---------------------------------------------------------------------------------

    def recorder(self, record: RequestRecord, scope: Scope) -> RequestRecorder:
        """Begin the row of a request that may become a stream."""
        settings, before = self._settings, self._open.get(id(record))
        made = RequestRecorder(
            self._new_id() if before is None else before.row_id,
            record,
            scope,
            LogMask(self._mask, self._masking.add),
            has_content=settings.capture == "content",
            max_bytes=settings.keep.stream_bytes,
            config=self.config,
        )
        self._open[id(record)] = self._by_row[made.row_id] = made
        if before is None:
            self._new[made.row_id] = None
            self.on_change()
        return made

    def ended(self, record: RequestRecord) -> None:
        """End the row of a request; a refused request gets its row here."""
        recorder = self._open.pop(id(record), None)
        if recorder is not None:
            self._end(recorder)
        elif _was_refused(record):
            self._changed.append(self._refused(record))
            self.on_change()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Note the code of the upstream's last failed attempt."""
        self.last_errors[upstream] = code

    # --- called by the link to the console ------------------------------------------------------------------

    @property
    def ended_count(self) -> int:
        """The number of ended rows that no call of `take` has returned yet."""
        return len(self._changed)

    @property
    def has_new(self) -> bool:
        """Whether there are open rows that no call of `take` has returned yet."""
        return bool(self._new)

    def take(self, *, with_open: bool) -> tuple[list[Row], list[str]]:
        """Return the rows that have ended since the last call, and the ids of rows that lost their captures.

        A row that lost its capture because more than `keep.streams` have ended is not among these: the
        console has dropped the row itself.

        Args:
            with_open: whether to return all open rows too whose facts have changed; False: only those that
                are open for `OPEN_SECONDS` and were not returned yet.
        """
        rows, gone = [*self._changed], [*self._gone]
        self._changed.clear()
        self._gone.clear()
        if with_open:
            self._new.clear()
            rows += self._moved()
        else:
            rows += self._long_open()
        return rows, gone

    def _long_open(self) -> Iterator[Row]:
        latest = time.monotonic() - OPEN_SECONDS
        while self._new:
            recorder = self._by_row[next(iter(self._new))]
            if recorder.record.began > latest:
                return
            del self._new[recorder.row_id]
            yield self._row(recorder)

    def open_rows(self) -> list[Row]:
        """Return all open rows, for a console that has just started."""
        return [self._row(recorder) for recorder in self._by_row.values()]

    def find(self, row_id: str) -> KeptCapture | None:
        """Return the recorder of a row; None if it is not kept."""
        return self._by_row.get(row_id) or self._shelf.get(row_id)

    # --------------------------------------------------------------------------------------------------------

    def _moved(self) -> Iterator[Row]:
        for row_id, recorder in self._by_row.items():
            row = self._row(recorder)
            facts = (row.state, row.events, row.bytes_in, row.bytes_out, row.attempts, row.session_id)
            if self._sent.get(row_id) != facts:
                self._sent[row_id] = facts
                yield row

    def _end(self, recorder: RequestRecorder) -> None:
        record = recorder.record
        row = self._row(recorder)
        if recorder.attempts or record.reason is not None:
            row.state = "ended"
        else:
            row.state = "refused"
        row.duration_ms = record.duration_ms
        row.bytes_in, row.events = record.bytes_in, record.events
        row.bytes_out = record.bytes_out
        recorder.end(_end_fields(record))
        self._by_row.pop(recorder.row_id, None)
        self._new.pop(recorder.row_id, None)
        self._sent.pop(recorder.row_id, None)
        kept = kept_capture(recorder)
        if kept is not recorder:
            self._masking.discard(recorder.mask)
        self._masking.add(kept.masking)
        self._shelf.add(kept)
        self._give_way()
        self._changed.append(row)
        self.on_change()

    def _give_way(self) -> None:
        """Drop the oldest captures until the limits hold."""
        for capture, is_for_bytes in self._shelf.shrink():
            self._masking.discard(capture.masking)
            if is_for_bytes:
                self._gone.append(capture.row_id)

    def _row(self, recorder: RequestRecorder) -> Row:
        """Return the row of an open request as it is now."""
        record, stream, incoming = recorder.record, recorder.stream, recorder.incoming
        row = self._of_record(recorder.row_id, record, _state(recorder))
        row.capture = self._settings.capture
        row.attempts = len(recorder.attempts)
        if incoming is not None:
            row.answers, row.framing = record.answers or incoming.answers, record.framing or incoming.framing
        if recorder.delivery is not None:
            row.bytes_out = recorder.delivery.bytes
            row.status = record.status or (recorder.delivery.status if recorder.delivery.is_started else None)
        if stream is not None:
            pipeline = stream.pipeline
            row.events, row.bytes_in = pipeline.position.written, stream.bytes
            row.warnings, row.repairs = pipeline.lifecycle.warnings, pipeline.tools.repairs
            row.malformed = stream.reader.malformed
            if stream.reader.dialect is not None:
                row.speaks = stream.reader.dialect.name
            session_id, thread_id = pipeline.lifecycle.session_id, pipeline.lifecycle.thread_id
            is_ours = session_id == session_id_of(record.request_id)
            row.session_id = session_id if is_ours else self._shown(session_id)
            row.thread_id = self._shown(thread_id)
        return row

    def _shown(self, text: str | None) -> str | None:
        """Return a text that an upstream has chosen, with its secrets removed."""
        return None if text is None else self._mask.apply_to_text(text)

    def _refused(self, record: RequestRecord) -> Row:
        row = self._of_record(self._new_id(), record, "refused")
        row.duration_ms = record.duration_ms
        return row

    def _of_record(self, row_id: str, record: RequestRecord, state: State) -> Row:
        return Row(
            id=row_id,
            request_id=record.request_id,
            trace_id=record.trace_id,
            worker=self._worker,
            endpoint=record.endpoint,
            upstream=record.upstream,
            speaks=record.speaks,
            answers=record.answers,
            framing=record.framing,
            key=record.key,
            state=state,
            began=round((time.time() - (time.monotonic() - record.began)) * 1000),
            first_event_ms=record.first_event_ms,
            max_gap_ms=round(record.longest_gap * 1000, 3) if record.first_event_ms is not None else None,
            attempts=record.attempts,
            lost=record.lost,
            status=record.status,
            reason=record.reason,
            code=record.code,
            hint=None if record.hint is None else shown_hint(record.hint, self._secrets),
        )

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._start}-{self._count}"


def _state(recorder: RequestRecorder) -> State:
    delivery = recorder.delivery
    if recorder.record.client_left or (delivery is not None and delivery.supervisor.dropped is not None):
        return "detached"
    has_begun = recorder.record.first_event_ms is not None or (
        recorder.record.resumes is not None and delivery is not None and delivery.is_started
    )
    return "streaming" if has_begun else "waiting"


def _was_refused(record: RequestRecord) -> bool:
    """Return whether a request without a recorder was refused. Relayed requests and folded reads were not."""
    is_folded_read = record.resumes is not None and record.reason is not None
    is_relayed = record.bytes_out is not None or record.close_code is not None
    return record.code is not None and not is_relayed and not is_folded_read


def _end_fields(record: RequestRecord) -> dict[str, Any]:
    """Return the fields of the line `end` of a capture."""
    status = "error" if record.code is not None else _STATUS_OF_REASON.get(record.reason or "", "error")
    has_left = record.reason in ("client_gone", "slow_client") or bool(record.client_left)
    return {
        "reason": record.reason,
        "status": status,
        "code": record.code,
        "events": record.events,
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "client": "gone" if has_left else "read",
        "lost": record.lost,
    }
