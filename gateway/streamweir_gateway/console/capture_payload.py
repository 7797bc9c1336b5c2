"""The data of one stream that a serving process sends to the console: facts, and entries of its log.

Secrets are masked before this data leaves the process that serves the stream.
"""

from __future__ import annotations

from typing import Any

import msgspec

from streamweir_gateway.console.attempt_rows import attempt_rows
from streamweir_gateway.console.capture_source import CaptureSource, meta_of
from streamweir_gateway.console.clock_shift import clock_shift
from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.stream_log import LeftOut, NumberedEntry

__all__ = ["CapturePayload", "payload_of"]


class CapturePayload(msgspec.Struct, kw_only=True):
    """Facts and entries of one stream.

    Attributes:
        meta: the fields of the first line of the capture file, without `began`.
        began: the beginning of the stream, in Unix milliseconds.
        began_at: `time.monotonic` of the same moment, in the process that serves the stream.
        entries: the entries of the log with their numbers; see `stream_log.py`.
        count: the number of entries in the log; the next payload starts there.
        left_out: the sizes of entries that were left out, by kind.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        is_over: whether the stream has ended, so that its last entry is `end`.
        is_masking: whether the stream has ended, and some of its entries are still to be masked.
    """

    meta: dict[str, Any]
    began: float
    began_at: float
    attempts: list[AttemptRow]
    entries: list[NumberedEntry]
    count: int
    left_out: dict[str, LeftOut]
    first_event: int = 0
    is_over: bool
    is_masking: bool = False


def payload_of(source: CaptureSource, start: int = 0) -> CapturePayload:
    """Return the facts of a stream, and its masked entries from number `start` on.

    Attempts and session id of an ended stream are left out until all of its log is masked.
    """
    is_masking = source.is_over and source.masking.has_work
    facts, entries = source.facts(), [*source.entries(start)]
    return CapturePayload(
        meta=_shown_meta(source, is_masking=is_masking),
        began=(facts.began + clock_shift()) * 1000,
        began_at=facts.began,
        attempts=[] if is_masking else attempt_rows(source.entries(0), facts.began, facts.first_event_ms),
        entries=entries,
        count=entries[-1][0] + 1 if entries else start,
        left_out=dict(source.left_out),
        first_event=facts.first_event,
        is_over=source.is_over and not is_masking,
        is_masking=is_masking,
    )


def _shown_meta(source: CaptureSource, *, is_masking: bool) -> dict[str, Any]:
    meta = meta_of(source)
    session_id = meta.pop("session_id", None)
    if is_masking:
        return {**meta, "id": ""}
    shown = source.shown
    ids = {"id": shown(meta["id"])}
    return {**meta, **ids} if session_id is None else {**meta, **ids, "session_id": shown(session_id)}
