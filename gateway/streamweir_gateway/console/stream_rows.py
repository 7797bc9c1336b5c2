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
from typing import Any, Final, NamedTuple

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir_gateway.config import ConsoleConfig
from streamweir_gateway.console.capture_shelf import CaptureShelf
from streamweir_gateway.console.ended_capture import KeptCapture, kept_capture
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.masking_queue import MaskingQueue
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.row import PackedRow
from streamweir_gateway.console.row_maker import RowMaker
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["Changes", "StreamRows"]

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


class Changes(NamedTuple):
    """Changes of rows.

    Attributes:
        rows: the changed rows that are open, or that were returned when they were open.
        ended: the rows that have ended and were not returned before.
        gone: the ids of rows that lost their captures.
    """

    rows: list[PackedRow]
    ended: list[PackedRow]
    gone: list[str]


class StreamRows:
    """Makes the rows of one process, and keeps the recorders of its captures.

    Args:
        workers: the number of processes that share `keep.total_bytes`.
        settings: the settings of the console.
        secrets: texts that are removed from hints.

    Attributes:
        on_change: called when a row begins or ends.
        config: the hash of the configuration in force.
        last_errors: the code of the last failed attempt, by the label of the upstream.
    """

    def __init__(self, workers: int, settings: ConsoleConfig, secrets: Iterable[str] = ()) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.config = ""
        self.last_errors: dict[str, str] = {}
        self._workers = workers
        self._take_settings(settings, secrets)
        self._masking = MaskingQueue()
        self._open: dict[int, RequestRecorder] = {}
        """The recorders of open requests, by the identity of their records."""
        self._by_row: dict[str, RequestRecorder] = {}
        self._new: dict[str, None] = {}
        """The ids of open rows that no call of `take` has returned yet."""
        self._ended: deque[PackedRow] = deque(maxlen=MOST_WAITING)
        """The rows that have ended, in this order, until `take` returns them."""
        self._ended_late: deque[PackedRow] = deque(maxlen=MOST_WAITING)
        """The same for rows that `take` or `open_rows` has returned before."""
        self._gone: deque[str] = deque(maxlen=MOST_WAITING)
        self._sent: dict[str, tuple[Any, ...]] = {}
        """The facts of each open row as they were last returned, by the id of the row."""
        self._start = token_hex(3)
        self._count = 0
        keep = settings.keep
        self._shelf = CaptureShelf(keep.total_bytes // workers, keep.streams)

    def _take_settings(self, settings: ConsoleConfig, secrets: Iterable[str]) -> None:
        texts = frozenset(secrets)
        self._settings, self._mask = settings, SecretMask(texts)
        self._maker = RowMaker(settings.capture, self._mask, Secrets(texts))

    def configure(self, settings: ConsoleConfig, secrets: Iterable[str]) -> None:
        """Apply changed settings. Streams under way keep the earlier settings."""
        self._take_settings(settings, secrets)
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
            self._ended.append(self._maker.refused(self._new_id(), record))
            self.on_change()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Note the code of the upstream's last failed attempt."""
        self.last_errors[upstream] = code

    # --- called by the link to the console ------------------------------------------------------------------

    @property
    def ended_count(self) -> int:
        """The number of ended rows that no call of `take` has returned yet."""
        return len(self._ended) + len(self._ended_late)

    @property
    def has_new(self) -> bool:
        """Whether there are open rows that no call of `take` has returned yet."""
        return bool(self._new)

    def take(self, *, with_open: bool) -> Changes:
        """Return the changes since the last call.

        A row that lost its capture because more than `keep.streams` have ended is not in `gone`: the
        console has dropped the row itself.

        Args:
            with_open: whether to return all open rows too whose facts have changed; False: only those that
                are open for `OPEN_SECONDS` and were not returned yet.
        """
        rows, ended, gone = [*self._ended_late], [*self._ended], [*self._gone]
        self._ended_late.clear()
        self._ended.clear()
        self._gone.clear()
        if with_open:
            self._new.clear()
            rows += self._moved()
        else:
            rows += self._long_open()
        return Changes(rows, ended, gone)

    def _long_open(self) -> Iterator[PackedRow]:
        latest = time.monotonic() - OPEN_SECONDS
        while self._new:
            recorder = self._by_row[next(iter(self._new))]
            if recorder.record.began > latest:
                return
            del self._new[recorder.row_id]
            yield self._maker.open(recorder)

    def open_rows(self) -> list[PackedRow]:
        """Return all open rows, for a console that has just started."""
        self._new.clear()
        return [self._maker.open(recorder) for recorder in self._by_row.values()]

    def find(self, row_id: str) -> KeptCapture | None:
        """Return the recorder of a row; None if it is not kept."""
        return self._by_row.get(row_id) or self._shelf.get(row_id)

    # --------------------------------------------------------------------------------------------------------

    def _moved(self) -> Iterator[PackedRow]:
        for row_id, recorder in self._by_row.items():
            row = self._maker.open(recorder)
            facts = (row.state, row.events, row.bytes_in, row.bytes_out, row.attempts, row.session_id)
            if self._sent.get(row_id) != facts:
                self._sent[row_id] = facts
                yield row

    def _end(self, recorder: RequestRecorder) -> None:
        record = recorder.record
        row = self._maker.ended(recorder)
        recorder.end(_end_fields(record))
        self._by_row.pop(recorder.row_id, None)
        is_new = self._new.pop(recorder.row_id, False) is None
        self._sent.pop(recorder.row_id, None)
        kept = kept_capture(recorder)
        if kept is not recorder and recorder.has_content:  # only bytes are masked before the end
            self._masking.discard(recorder.mask)
        self._masking.add(kept.masking)
        self._shelf.add(kept)
        if self._shelf.is_full:
            self._give_way()
        (self._ended if is_new else self._ended_late).append(row)
        self.on_change()

    def _give_way(self) -> None:
        """Drop the oldest captures until the limits hold."""
        for capture, is_for_bytes in self._shelf.shrink():
            self._masking.discard(capture.masking)
            if is_for_bytes:
                self._gone.append(capture.row_id)

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._start}-{self._count}"


def _was_refused(record: RequestRecord) -> bool:
    """Return whether a request without a recorder was refused. Relayed requests and folded reads were not."""
    is_folded_read = record.resumes is not None and record.reason is not None
    is_relayed = record.bytes_in is not None or record.close_code is not None
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
