"""The rows of one serving process: one for each request, from its beginning to its end.

    state      entered by                                        next state
    ────────   ───────────────────────────────────────────────   ─────────────────────────────────────────
    unknown    a request arrives                                 open, ended (a row only if it was refused)
    open       `recorder`: the request may become a stream       ended
    ended      `ended`: its record is reported                   settled
    settled    `take`, `find`; many have ended                   —

A request that opens a second recorder keeps its row. A request that begins and ends between two calls of
`take` makes one row only. When requests are settled, their rows are made and their captures are kept: many
together, so that each takes less time.

Source: the console contract, section 1 (a row).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from secrets import token_hex
from typing import Any, Final, NamedTuple

from starlette.types import Scope

from streamweir.capture.masking import SecretMask
from streamweir_gateway.config import ConsoleConfig
from streamweir_gateway.console.capture_shelf import CaptureShelf
from streamweir_gateway.console.clock_shift import clock_shift
from streamweir_gateway.console.content_recorder import ContentRecorder
from streamweir_gateway.console.ended_capture import EndedCapture, RawCapture, packed_capture
from streamweir_gateway.console.masking_queue import MaskingQueue
from streamweir_gateway.console.noted_capture import NotedCapture
from streamweir_gateway.console.outline_recorder import OutlineRecorder
from streamweir_gateway.console.raw_captures import RawCaptures
from streamweir_gateway.console.recorded_request import CaptureSettings
from streamweir_gateway.console.request_recorder import MOST_NOTES, RequestRecorder
from streamweir_gateway.console.row import PackedRow
from streamweir_gateway.console.row_maker import RowMaker
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.secrets import Secrets

__all__ = ["MOST_COLLECTED", "Changes", "StreamRows"]

MOST_COLLECTED: Final = 512
"""The most ended rows that are collected before they are sent, so that no message is large."""
_MOST_UNSETTLED: Final = 128
"""The most requests that are settled together; as many captures may be kept beyond `keep.streams`."""
_UNSETTLED_SHARE: Final = 64
"""Requests are settled when they hold this part of the bytes that all captures may hold."""
MOST_WAITING: Final = 10_000
"""The most changes that wait for the console. If there are more, the oldest changes are dropped."""

_HELD_SHARE: Final = 4
"""The notes of a stream hold at most a quarter of the bytes that its log keeps; then the log takes them."""

SWEEP_SECONDS: Final = 1.0
"""The seconds between two looks at the notes of open requests."""

OPEN_SECONDS: Final = 3.0
"""The seconds after which an open row is sent to the console without a question of the console.

Then the console has it if this process is killed. Most streams are over before.
"""


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
        on_change: called when a row begins or ends, once before the next call of `take`, and then if many
            rows have ended.
        last_errors: the code of the last failed attempt, by the label of the upstream.
    """

    def __init__(self, workers: int, settings: ConsoleConfig, secrets: Iterable[str] = ()) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.last_errors: dict[str, str] = {}
        self._workers = workers
        self._masking = MaskingQueue()
        self._raw = RawCaptures(self._packed)
        self._config = ""
        self._shelf = CaptureShelf()
        self._take_settings(settings, secrets)
        self._open: dict[int, RequestRecorder] = {}
        """The recorders of open requests, by the identity of their records; the oldest first."""
        self._unsettled: list[RequestRecorder] = []
        """The requests that have ended and are not settled."""
        self._unsettled_bytes = 0
        """The bytes that they hold."""
        self._ended: deque[PackedRow] = deque(maxlen=MOST_WAITING)
        """The rows that have ended and were not returned before."""
        self._ended_late: deque[PackedRow] = deque(maxlen=MOST_WAITING)
        """The rows that have ended and were returned before."""
        self._gone: deque[str] = deque(maxlen=MOST_WAITING)
        self._sent: dict[str, tuple[Any, ...]] = {}
        """The facts of each open row as they were last returned, by the id of the row."""
        self._has_notified = False
        """Whether `on_change` has been called since the last call of `take`."""
        self._sweep: asyncio.TimerHandle | None = None
        self._ids = map(f"{token_hex(3)}-{{}}".format, count(1))

    def _take_settings(self, settings: ConsoleConfig, secrets: Iterable[str]) -> None:
        texts, most_bytes = frozenset(secrets), settings.keep.total_bytes // self._workers
        self._most_unsettled = most_bytes // _UNSETTLED_SHARE
        self._shelf.max_bytes, self._shelf.max_streams = most_bytes, settings.keep.streams
        mask = SecretMask(texts)
        self._recorder = ContentRecorder if settings.capture == "content" else OutlineRecorder
        self._capture = CaptureSettings(
            settings.keep.stream_bytes,
            settings.keep.stream_bytes // _HELD_SHARE,
            self._config,
            mask,
            self._masking.add,
        )
        self._maker = RowMaker(Secrets(texts), mask)

    @property
    def config(self) -> str:
        """The hash of the configuration in force."""
        return self._config

    @config.setter
    def config(self, fingerprint: str) -> None:
        self._config = fingerprint
        self._capture = self._capture._replace(config=fingerprint)

    def configure(self, settings: ConsoleConfig, secrets: Iterable[str]) -> None:
        """Apply changed settings. Streams under way keep the earlier settings."""
        self._take_settings(settings, secrets)
        self._settle()

    # --- called by requests ---------------------------------------------------------------------------------

    def recorder(self, record: RequestRecord, scope: Scope) -> RequestRecorder:
        """Begin the row of a request that may become a stream."""
        key = id(record)
        before = self._open.get(key)
        row_id = next(self._ids) if before is None else before.row_id
        made = self._open[key] = self._recorder(row_id, record, self._capture, scope)
        if before is not None:
            made.was_returned = before.was_returned
        elif not self._has_notified:
            self._notify()
        return made

    def ended(self, record: RequestRecord) -> None:
        """End the row of a request; a refused request gets its row here."""
        recorder = self._open.pop(id(record), None)
        if recorder is not None:
            recorder.end()
            self._unsettled.append(recorder)
            self._unsettled_bytes += recorder.held if recorder.mask is None else recorder.size
        elif record.reads_whole or _was_refused(record) or _was_left(record):
            self._settle()
            self._ended.append(self._maker.without_stream(next(self._ids), record))
        else:
            return
        if len(self._unsettled) >= _MOST_UNSETTLED or self._unsettled_bytes > self._most_unsettled:
            self._settle()
        if not self._has_notified or len(self._ended) >= MOST_COLLECTED:
            self._notify()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Note the code of the upstream's last failed attempt."""
        self.last_errors[upstream] = code

    # --- called by the link to the console ------------------------------------------------------------------

    @property
    def ended_count(self) -> int:
        """The number of ended rows that no call of `take` has returned yet."""
        return len(self._unsettled) + len(self._ended) + len(self._ended_late)

    @property
    def has_new(self) -> bool:
        """Whether there are rows that no call of `take` has returned yet."""
        return self.ended_count > 0 or any(
            not recorder.was_returned for recorder in reversed(self._open.values())
        )

    def take(self, *, with_open: bool) -> Changes:
        """Return the changes since the last call.

        A row that lost its capture because more than `keep.streams` have ended is not in `gone`: the
        console has dropped the row itself.

        Args:
            with_open: whether to return all open rows too whose facts have changed; False: only those that
                are open for `OPEN_SECONDS` and were not returned yet.
        """
        self._has_notified = False
        self._settle()
        if self._raw.has_work:
            self._masking.add(self._raw)
        rows, ended, gone = [*self._ended_late], [*self._ended], [*self._gone]
        self._ended_late.clear()
        self._ended.clear()
        self._gone.clear()
        rows += self._moved() if with_open else self._long_open()
        return Changes(rows, ended, gone)

    def _long_open(self) -> Iterator[PackedRow]:
        latest = time.monotonic() - OPEN_SECONDS
        for recorder in self._open.values():
            if recorder.record.began > latest:
                return
            if not recorder.was_returned:
                recorder.was_returned = True
                yield self._maker.open(recorder)

    def open_rows(self) -> list[PackedRow]:
        """Return all open rows, for a console that has just started."""
        for recorder in self._open.values():
            recorder.was_returned = True
        return [self._maker.open(recorder) for recorder in self._open.values()]

    def find(self, row_id: str) -> RequestRecorder | EndedCapture | None:
        """Return the capture of a row; None if it is not kept."""
        self._settle()
        found = self._shelf.get(row_id)
        if isinstance(found, NotedCapture) or (isinstance(found, RequestRecorder) and found.is_raw):
            return self._packed(found)
        return found or next((one for one in self._open.values() if one.row_id == row_id), None)

    # --------------------------------------------------------------------------------------------------------

    def _notify(self) -> None:
        self._has_notified = True
        self.on_change()
        if self._sweep is None:
            self._sweep_notes()

    def _sweep_notes(self) -> None:
        """Let the logs of open requests take their notes if there are many, now and after each second."""
        for recorder in self._open.values():
            if recorder.note_count > MOST_NOTES:
                recorder.move_notes()
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep_notes)

    def _moved(self) -> Iterator[PackedRow]:
        for recorder in self._open.values():
            recorder.was_returned = True
            row = self._maker.open(recorder)
            facts = (row.state, row.events, row.bytes_in, row.bytes_out, row.attempts, row.session_id)
            if self._sent.get(row.id) != facts:
                self._sent[row.id] = facts
                yield row

    def _settle(self) -> None:
        """Make the rows of the requests that have ended, and keep their captures."""
        recorders, self._unsettled, self._unsettled_bytes = self._unsettled, [], 0
        make, shift = self._maker.ended, clock_shift()
        for recorder in recorders:
            row = make(recorder, shift)
            if recorder.was_returned:
                self._sent.pop(row.id, None)
                self._ended_late.append(row)
            else:
                self._ended.append(row)
            if row.capture != "none":
                kept = recorder.kept()
                self._raw.add(kept)
                self._shelf.add(kept)
        self._give_way()

    def _packed(self, recorder: RawCapture) -> RequestRecorder | EndedCapture:
        """Keep the capture of an ended stream in a packed form, if possible, and return it."""
        kept = packed_capture(recorder)
        if kept is not recorder and recorder.mask is not None:
            self._masking.discard(recorder.mask)
        self._shelf.replace(kept)
        self._masking.add(kept.masking)
        return kept

    def _give_way(self) -> None:
        """Drop the oldest captures until the limits hold."""
        for capture, is_for_bytes in self._shelf.shrink():
            if isinstance(capture, EndedCapture):
                self._masking.discard(capture)
            else:
                self._raw.drop(capture)
                if capture.mask is not None:
                    self._masking.discard(capture.mask)
            if is_for_bytes:
                self._gone.append(capture.row_id)


def _was_left(record: RequestRecord) -> bool:
    """Return whether the client of a request without a recorder left before an upstream was asked.

    The dialect of a relayed request is unknown.
    """
    return record.reason == "client_gone" and record.speaks is not None


def _was_refused(record: RequestRecord) -> bool:
    """Return whether a request without a recorder was refused. A relayed request was not."""
    is_relayed = record.bytes_in is not None or record.close_code is not None
    return record.code is not None and not is_relayed
