"""The data of one stream that a serving process sends to the console: facts, and entries of its log.

Secrets are masked before this data leaves the process that serves the stream.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.row import AttemptRow
from streamweir_gateway.console.stream_log import LeftOut, NumberedEntry

__all__ = ["CapturePayload", "payload_of"]


class CapturePayload(msgspec.Struct, kw_only=True):
    """Facts and entries of one stream.

    Attributes:
        meta: the fields of the first line of the capture file, without `began`.
        began: the beginning of the stream, in Unix milliseconds.
        began_at: `time.monotonic` of the same moment, in the process that serves the stream.
        entries: the entries of the log with their numbers; see `request_recorder.py`.
        count: the number of entries in the log; the next payload starts there.
        left_out: the sizes of entries that were left out, by kind.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        is_over: whether the stream has ended, so that its last entry is `end`.
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


def payload_of(recorder: RequestRecorder, start: int = 0) -> CapturePayload:
    """Return the facts of a stream, and its masked entries from number `start` on."""
    record, log = recorder.record, recorder.log
    recorder.flush()
    entries = [*log.entries(start)]
    return CapturePayload(
        meta=_shown_meta(recorder),
        began=time.time() * 1000 - (time.monotonic() - record.began) * 1000,
        began_at=record.began,
        attempts=[_shown_attempt(recorder, attempt) for attempt in recorder.attempts],
        entries=entries,
        count=entries[-1][0] + 1 if entries else start,
        left_out=log.left_out,
        first_event=recorder.first_event,
        is_over=recorder.is_over and not recorder.mask.has_work,
    )


def _shown_meta(recorder: RequestRecorder) -> dict[str, Any]:
    meta = recorder.meta()
    if (session_id := meta.get("session_id")) is not None:
        meta["session_id"] = recorder.mask.shown(session_id)
    return meta


def _shown_attempt(recorder: RequestRecorder, attempt: AttemptRow) -> AttemptRow:
    url = None if attempt.url is None else recorder.mask.shown(attempt.url)
    return msgspec.structs.replace(attempt, url=url)
