"""The parts of one stream that a serving process hands to the console: facts, and entries of its log.

The bytes are raw here: the console masks the secrets in them before anything is shown.
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
        began: Unix milliseconds.
        began_at: `time.monotonic` of the same moment, in the process that serves the stream.
        entries: numbered; see `request_recorder.py`.
        count: the number of entries so far: where to go on.
        left_out: by lane.
        is_over: the stream has ended, and its last entry is `end`.
    """

    meta: dict[str, Any]
    began: float
    began_at: float
    attempts: list[AttemptRow]
    entries: list[NumberedEntry]
    count: int
    left_out: dict[str, LeftOut]
    is_over: bool


def payload_of(recorder: RequestRecorder, start: int = 0) -> CapturePayload:
    """Return the facts of a stream, and its entries from number `start` on."""
    record, log = recorder.record, recorder.log
    return CapturePayload(
        meta=recorder.meta(),
        began=time.time() * 1000 - (time.monotonic() - record.began) * 1000,
        began_at=record.began,
        attempts=recorder.attempts,
        entries=[*log.entries(start)],
        count=len(log),
        left_out=log.left_out,
        is_over=recorder.is_over,
    )
