"""Which dialect is this? Asked event by event, so that the answer does not depend on how the network cuts."""

from __future__ import annotations

from typing import Final

from streamweir.dialects.registry import decoder_class, decoder_names

__all__ = ["Detector", "detect_dialect"]

SURE: Final = 0.5
"""A dialect that claims this much, and more than every other, is taken at once."""

MAX_LINES: Final = 64
"""So many lines are looked at before the best guess has to do."""


class Detector:
    """Collects the first bytes of a body until a dialect claims them.

    Args:
        limit: the most bytes to look at.
    """

    def __init__(self, limit: int = 8 << 20) -> None:
        self._limit = limit
        self._lines = 0
        self._seen = 0
        self._guess: tuple[float, str] | None = None
        self.head = bytearray()

    def feed(self, data: bytes) -> str | None:
        """Return the dialect's name as soon as it is known, else None."""
        self.head += data
        while self._seen < len(self.head):
            end = self._line_end()
            if end < 0:
                return None
            self._seen = end
            self._lines += 1
            if name := self._judge(bytes(self.head[:end])):
                return name
        return None

    @property
    def exhausted(self) -> bool:
        """Enough has been seen: waiting for more will not help."""
        return self._lines >= MAX_LINES or len(self.head) > self._limit

    def finish(self) -> str | None:
        """Return the best guess, or None if no dialect claims the body at all."""
        name = self._judge(bytes(self.head))
        return name or (self._guess[1] if self._guess else None)

    def _line_end(self) -> int:
        ends = [
            end for end in (self.head.find(b"\n", self._seen), self.head.find(b"\r", self._seen)) if end >= 0
        ]
        return min(ends) + 1 if ends else -1

    def _judge(self, head: bytes) -> str | None:
        if not head.strip():
            return None
        scores = sorted(((decoder_class(name).detect(head), name) for name in decoder_names()), reverse=True)
        best, second = scores[0], scores[1]
        if best[0] > (self._guess[0] if self._guess else 0):
            self._guess = best
        return best[1] if best[0] >= SURE and best[0] > second[0] else None


def detect_dialect(data: bytes) -> str | None:
    """Return the name of the dialect that `data` (the beginning of a body, or all of it) is written in.

    None if no dialect claims it.
    """
    detector = Detector()
    return detector.feed(data) or detector.finish()
