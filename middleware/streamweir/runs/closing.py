"""Makes the end of a run whose owner is gone: the stages close open calls and messages, as in any stream."""

from __future__ import annotations

from collections.abc import Sequence

from streamweir.errors import error_info
from streamweir.runs.event_log import EventLog
from streamweir.runs.stored_event import EventReader, Source
from streamweir.translation.items import SafeEvent, TextRun
from streamweir.translation.pipeline import Pipeline

__all__ = ["lost_end"]


def lost_end(lines: Sequence[bytes], *, request_id: str, code: str = "RUN_LOST") -> list[bytes]:
    """Return the events that end a run whose owner has lost it, in the form of the store.

    Args:
        lines: all stored events of the run.
        request_id: the id of the run.
        code: the error code of the end.

    Raises:
        UnreadableRun: the lines are not events of a run.
    """
    log, reader = EventLog(Source), EventReader()
    pipeline = Pipeline((log,), request_id=request_id, full_text="append", stream_tool_arguments=True)
    for timestamp, item in reader.items(lines):
        pipeline.position.now = timestamp
        pipeline.push(item if isinstance(item, TextRun) else SafeEvent(item))
    log.take()
    pipeline.position.written = len(lines)
    pipeline.tick()
    pipeline.end(error_info(code))
    closing = log.take()
    return [] if closing is None else [*closing.stored]
