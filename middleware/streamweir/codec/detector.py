"""Which dialect is this? Asked event by event, so that the answer does not depend on how the network cuts."""

from __future__ import annotations

import logging
import re
from typing import Final

from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.codec.registry import decoder_class, decoder_names

__all__ = ["Detector", "detect_dialect"]

logger = logging.getLogger("streamweir")

_LINE_END: Final = re.compile(rb"[\r\n]")
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"

SURE: Final = 0.5
"""A dialect that claims this much, and more than every other, is taken at once."""

MAX_LINES: Final = 64
"""So many lines that say something are looked at before the best guess has to do."""


class Detector:
    """Collects the first bytes of a body until a dialect claims them.

    Args:
        limit: the most bytes to look at.
    """

    def __init__(self, limit: int = 8 << 20) -> None:
        self._limit = limit
        self._lines = 0
        self._judged = 0
        self._searched = 0
        self._is_document = False
        """The first line is a bare bracket: a pretty-printed document, which says nothing before its end."""
        self._guess: tuple[float, str] | None = None
        self.head = bytearray()
        self.exhausted = False
        """Enough has been seen: waiting for more will not help."""

    def feed(self, data: bytes) -> str | None:
        """Return the dialect's name as soon as it is known, else None."""
        self.head += data
        while not self.exhausted and (line := self._next_line()):
            if not self._says_something(line):
                continue
            self._is_document = self._is_document or (not self._lines and line.strip(_BLANK) in (b"{", b"["))
            if self._is_document:
                continue
            if name := self._judge(bytes(self.head[: self._judged])):
                return name
            self._lines += 1
            self.exhausted = self._lines >= MAX_LINES
        self.exhausted = self.exhausted or len(self.head) > self._limit
        return None

    def finish(self) -> str | None:
        """Return the best guess, or None if no dialect claims the body at all."""
        name = None if self._lines >= MAX_LINES else self._judge(bytes(self.head[: self._limit]))
        if name or self._guess is None:
            return name or ("standard" if TOKEN_PREFIX in self.head else None)
        return self._guess[1]

    @property
    def blank(self) -> bool:
        """Nothing but white space and comments has come."""
        return not any(map(self._says_something, self.head.replace(b"\r", b"\n").split(b"\n")))

    def _next_line(self) -> bytes:
        """The next whole line within the limit, with its end; empty if there is none yet."""
        end = _LINE_END.search(self.head, self._searched, self._limit)
        if end is None:
            self._searched = min(len(self.head), self._limit)
            return b""
        line = bytes(self.head[self._judged : end.end()])
        self._judged = self._searched = end.end()
        return line

    @staticmethod
    def _says_something(line: bytes | bytearray) -> bool:
        line = line.strip(_BLANK)
        return bool(line) and not line.startswith(b":")

    def _judge(self, head: bytes) -> str | None:
        scores = sorted(((_score(name, head), name) for name in decoder_names()), reverse=True)
        best, second = scores[0], scores[1]
        if best[0] > (self._guess[0] if self._guess else 0):
            self._guess = best
        return best[1] if best[0] >= SURE and best[0] > second[0] else None


def _score(name: str, head: bytes) -> float:
    """How sure the dialect is; one whose own code fails claims nothing, so that the others are asked."""
    try:
        return decoder_class(name).detect(head)
    except Exception:
        logger.exception("the dialect %r failed to look at a body", name)
        return 0.0


def detect_dialect(data: bytes) -> str | None:
    """Return the name of the dialect that `data` (the beginning of a body, or all of it) is written in.

    None if no dialect claims it.
    """
    detector = Detector()
    return detector.feed(data) or detector.finish()
