"""How far a stream is: kept by the pipeline, read by the stages, so that these need not know it."""

from __future__ import annotations

__all__ = ["StreamPosition"]


class StreamPosition:
    """One stream's.

    Attributes:
        began: Unix milliseconds at which it did: when the request came, if that was known before.
        now: Unix milliseconds, the same for all events of one read.
        written: how many events have left.
        ended: nothing may follow.
    """

    __slots__ = ("began", "ended", "now", "written")

    def __init__(self, now: int, written: int = 0) -> None:
        self.began = self.now = now
        self.written = written
        self.ended = False
