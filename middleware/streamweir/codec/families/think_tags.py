"""Reads reasoning within the text, between `<think>` and `</think>`, even if a tag is cut in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import NamedTuple

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME
from streamweir.errors import LimitExceeded

__all__ = ["Passage", "TaggedText"]


class Passage(NamedTuple):
    """A part of the text, and the tag around it (None: outside of all tags)."""

    tag: str | None
    text: str


@cache
def _marks_of(tags: tuple[str, ...]) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Return the marks that begin and end the tags, and the pattern that matches any of these marks."""
    marks = tuple(f"<{slash}{tag}>" for tag in tags for slash in ("", "/"))
    return marks, re.compile("|".join(map(re.escape, marks)))


class TaggedText:
    """Takes a text in pieces and returns the texts inside and outside of the tags.

    Only characters that may be the beginning of a tag are held back until the next piece. A closing tag
    without an opening tag is text. An opening tag within the tag of its own name is dropped.

    Args:
        tags: the names of the tags.

    Attributes:
        inside: the open tag; may be set if the upstream reports it in another way than by a tag.
    """

    def __init__(self, *tags: str) -> None:
        self.inside: str | None = None
        self._held = ""
        self._marks, self._pattern = _marks_of(tags)

    def feed(self, piece: str) -> list[Passage]:
        """Return the passages that `piece` adds; no passage is empty.

        Raises:
            LimitExceeded: there are more passages than one frame may hold.
        """
        text, self._held = self._held + piece, ""
        if "<" not in text:
            return [Passage(self.inside, text)] if text else []
        text, self._held = self._without_half_a_mark(text)
        passages = [*islice(self._passages(text), MAX_EVENTS_OF_A_FRAME + 1)]
        if len(passages) > MAX_EVENTS_OF_A_FRAME:
            raise LimitExceeded("one text has more tags than allowed")
        return [passage for passage in passages if passage.text]

    def accepts_text(self, piece: str) -> bool:
        """Return whether `piece` is a single passage inside the open tag, without further tags."""
        return "<" not in piece and not self._held

    def forget(self) -> None:
        """Forget the open tag and the text that is held back."""
        self.inside, self._held = None, ""

    def flush(self) -> list[Passage]:
        """End the text: return the part of the text that was held back."""
        text, self._held = self._held, ""
        return [Passage(self.inside, text)] if text else []

    def _passages(self, text: str) -> Iterable[Passage]:
        begin = position = 0
        while mark := self._pattern.search(text, position):
            position = mark.end()
            name = mark[0].strip("</>")
            closes = mark[0].startswith("</")
            if not (self.inside == name if closes else self.inside in (None, name)):
                continue
            yield Passage(self.inside, text[begin : mark.start()])
            self.inside = None if closes else name
            begin = position
        yield Passage(self.inside, text[begin:])

    def _without_half_a_mark(self, text: str) -> tuple[str, str]:
        start = text.rfind("<")
        tail = text[start:]
        if start >= 0 and any(len(tail) < len(mark) and mark.startswith(tail) for mark in self._marks):
            return text[:start], tail
        return text, ""
