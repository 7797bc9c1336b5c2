"""The position of a stream: the pipeline keeps it, and the stages read it without knowing the pipeline."""

from __future__ import annotations

import msgspec

__all__ = ["StreamPosition"]


class StreamPosition(msgspec.Struct, eq=False, gc=False):
    """The position of one stream.

    Attributes:
        now: Unix milliseconds, the same for all events of one read.
        began: Unix milliseconds at which the stream began: the time of the request, if that is known.
        written: how many events have been given to the sinks.
        is_quiet: the last stage passes events on alone: the stream has started, no warning waits, and no
            error or end has come.
        ended: `session_end` has been given to the sinks; nothing may follow.
    """

    now: int
    began: int
    written: int = 0
    is_quiet: bool = False
    ended: bool = False
