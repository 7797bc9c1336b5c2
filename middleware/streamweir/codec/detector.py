"""Detects the dialect of a body message by message, so that cuts of the network do not change the result."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import Final

from streamweir.codec.base import Decoder
from streamweir.codec.dialects import Dialects
from streamweir.codec.head_messages import Head, HeadMessage, head_message, head_parser
from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.codec.registry import process_dialects
from streamweir.errors import StreamweirError
from streamweir.framing import DOCUMENT_STARTS, Frame
from streamweir.framing.blank import BLANK
from streamweir.options.limits import EVENT_BYTES

__all__ = ["Detector", "detect_dialect"]

logger = logging.getLogger("streamweir")

_LINE_END: Final = re.compile(rb"[\r\n]")

SURE: Final = 0.5
"""A dialect with at least this score, and a higher score than all others, is chosen at once."""

MAX_LINES: Final = 64
"""The most lines with content that are read before the dialect with the best score is chosen."""


class Detector:
    """Collects the first bytes of a body until they show the dialect.

    Each message is parsed once, and shown to the dialects whose hints match it. A dialect that overrides
    `detect` looks at the whole head. It is asked at the first message, the second, the fourth and so on, so
    that the cost is linear in the head.

    Args:
        limit: the most bytes to read.
        dialects: the dialects that may be found; by default the dialects of the process.
    """

    def __init__(self, limit: int = EVENT_BYTES, dialects: Dialects | None = None) -> None:
        self._limit = limit
        self._index = (process_dialects() if dialects is None else dialects).hint_index
        self._parser = head_parser(limit)
        self._scores: dict[str, float] = {}
        self._shown_heads: dict[str, type[Decoder]] = {}
        """The decoders that have to see the whole head, by the name of the dialect."""
        self._lines = 0
        self._messages = 0
        self._first: HeadMessage | None = None
        """The first message."""
        self._taken = 0
        self._searched = 0
        self._is_document = False
        """Whether the first line is a bare bracket: a pretty-printed document, parsed only at its end."""
        self.head = bytearray()
        self.exhausted = False
        """Whether enough has been read: more bytes will not change the result."""

    def feed(self, data: bytes) -> str | None:
        """Take bytes; return the dialect's name as soon as it is known, else None."""
        self.head += data
        while not self.exhausted and (line := self._next_line()):
            if name := self._take(self._parser.feed(line)):
                return name
            self._count(line)
        self.exhausted = self.exhausted or len(self.head) > self._limit
        return None

    def finish(self) -> str | None:
        """Return the dialect with the best score at the end of the input; None if no dialect has a score."""
        if not self._has_read_enough:
            rest = bytes(self.head[self._taken : self._limit])
            self._take(chain(self._parser.feed(rest), self._parser.finish()))
            self._ask_about_head(self._whole_head())
        if not self._scores:
            return "standard" if TOKEN_PREFIX in self.head else None
        return max((score, name) for name, score in self._scores.items())[1]

    @property
    def blank(self) -> bool:
        """Whether only white space and comments have arrived."""
        rest = self.head[self._taken :].replace(b"\r", b"\n")
        return not self._lines and not any(map(_has_content, rest.split(b"\n")))

    @property
    def _has_read_enough(self) -> bool:
        return self._lines >= MAX_LINES and not self._is_document

    def _next_line(self) -> bytes:
        """Return the next whole line within the limit, with its end; empty if there is none yet."""
        end = _LINE_END.search(self.head, self._searched, self._limit)
        if end is None:
            self._searched = min(len(self.head), self._limit)
            return b""
        line = bytes(self.head[self._taken : end.end()])
        self._taken = self._searched = end.end()
        return line

    def _count(self, line: bytes) -> None:
        if _has_content(line):
            self._is_document = self._is_document or (
                not self._lines and line.strip(BLANK) in DOCUMENT_STARTS
            )
            self._lines += 1
            self.exhausted = self.exhausted or self._has_read_enough

    def _take(self, frames: Iterable[Frame]) -> str | None:
        """Ask the dialects about the messages in `frames`, one by one, until one dialect is clear."""
        try:
            for frame in frames:
                message = head_message(frame)
                if message is not None and (name := self._ask(message)):
                    return name
        except StreamweirError:  # markup
            self.exhausted = True
        return None

    def _ask(self, message: HeadMessage) -> str | None:
        for dialect in self._index.candidates(message):
            decoder = dialect.decoder
            if decoder is not None and dialect.looks_at_heads:
                self._shown_heads[dialect.name] = decoder
            elif decoder is not None and isinstance(message.value, dict):
                self._note(dialect.name, partial(decoder.score, message.value, message.event))
        self._messages += 1
        if self._messages == 1:  # nearly always the last that is asked
            self._first = message
            self._ask_about_head(Head.of_message(self.head[: self._taken], message))
        elif self._messages & (self._messages - 1) == 0:
            self._ask_about_head(self._head_to(self._taken))
        return self._clear_winner()

    def _whole_head(self) -> Head:
        """Return all that has been read; a single message, which may be as large as all of it, is not parsed
        again.
        """
        if self._first is None or self._messages != 1 or not self._shown_heads:
            return self._head_to(len(self.head))
        return Head.of_message(self.head[: self._limit], self._first)

    def _head_to(self, end: int) -> Head:
        return Head(self.head[: min(end, self._limit)] if self._shown_heads else b"")

    def _ask_about_head(self, head: Head) -> None:
        for name, decoder in self._shown_heads.items():
            self._note(name, partial(decoder.detect, head))

    def _note(self, name: str, ask: Callable[[], float]) -> None:
        """Note the score that `ask` returns for a dialect; a failed call or no number counts as no score."""
        try:
            score = float(ask() or 0.0)
        except Exception:
            logger.exception("the dialect %r failed to look at a body", name)
            return
        if score > self._scores.get(name, 0.0):
            self._scores[name] = score

    def _clear_winner(self) -> str | None:
        best = max(self._scores.values(), default=0.0)
        if best < SURE:
            return None
        surest = [name for name, score in self._scores.items() if score == best]
        return surest[0] if len(surest) == 1 else None


def _has_content(line: bytes | bytearray) -> bool:
    line = line.strip(BLANK)
    return bool(line) and not line.startswith(b":")


def detect_dialect(data: bytes, dialects: Dialects | None = None) -> str | None:
    """Return the name of the dialect of `data`, which is the beginning of a body or all of it.

    None if no dialect has a score. `dialects`: the dialects that may be found; by default the dialects of the
    process.
    """
    detector = Detector(dialects=dialects)
    return detector.feed(data) or detector.finish()
