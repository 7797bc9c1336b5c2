"""The position of a stream: the pipeline keeps it, and the stages read it without knowing the pipeline."""

from __future__ import annotations

__all__ = ["StreamPosition"]


class StreamPosition:
    """The position of one stream.

    Attributes:
        now: Unix milliseconds, the same for all events of one read.
        began: Unix milliseconds at which the stream began: the time of the request, if that is known.
        written: how many events have been given to the sinks.
        is_quiet: the last stage passes events on alone: the stream has started, no warning waits, and no
            error or end has come.
        ended: `session_end` has been given to the sinks; nothing may follow.
    """

    __slots__ = ("began", "ended", "is_quiet", "now", "written")

    def __init__(self, now: int, began: int, written: int = 0) -> None:
        self.now, self.began, self.written = now, began, written
        self.is_quiet = self.ended = False
