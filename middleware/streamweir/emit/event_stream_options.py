"""The options of a stream whose events an application makes itself.

Source: the library contract, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from streamweir.options.durations import Duration
from streamweir.options.heartbeats import AUTO
from streamweir.stages import FullText

__all__ = ["EVENT_STREAM_DEFAULTS", "EventStreamOptions"]


class EventStreamOptions(TypedDict, total=False):
    """The options that `EventStream` and `EventStreamResponse` have in common.

    Attributes:
        request_id: the id that every event carries; None: the current request's id, else a new one.
        session_id: the session's id if the content gives none; None: a new one.
        heartbeat: the longest silence, in seconds or as text such as `"15s"`, before a heartbeat is
            sent; `None` or `"off"` sends none.
        warnings: warnings to send right after `session_start`: messages, or mappings with `message` and
            `message_code`.
        full_text: the handling of text that repeats the whole answer: `dedupe` sends the part that is new,
            `append` sends all of it again, `replace` sends all of it as a replacement.
        debug: add details to errors and warnings, redacted; for trusted clients only.
    """

    request_id: str | None
    session_id: str | None
    heartbeat: Duration | None
    warnings: Sequence[str | Mapping[str, Any]]
    full_text: FullText
    debug: bool


EVENT_STREAM_DEFAULTS: Final[EventStreamOptions] = {
    "request_id": None,
    "session_id": None,
    "heartbeat": AUTO,
    "warnings": (),
    "full_text": "dedupe",
    "debug": False,
}
"""The default of each option."""
