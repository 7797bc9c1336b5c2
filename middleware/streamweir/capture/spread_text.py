"""Finds secrets that a server has spread over the texts of several frames.

A model writes a text in pieces, and each piece is a frame: `{"content":"sk-ab"}`, then `{"content":"c123"}`.
The values of one key, one after the other, are one text here:

    line of a body                       part of a text
    ──────────────────────────────────   ──────────────────────────
    data: {"type":"token","text":"Te"}   `Te`, of the key `text`
    0:"Te"                               `Te`, of the key `0`
    data: Te                             `Te`, of the key `data`

The last characters of each text are kept for the next lines. Texts of JSON within a JSON text are not joined.

Source: the contract of capture files, section 3.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Final, NamedTuple

__all__ = ["Finders", "Found", "SpreadTexts"]

_STRING: Final = r'"((?:[^"\\\n]|\\[^\n])*)"'
_NAMED: Final = re.compile(rf'"([^"\\\n]{{1,64}})"[ ]?:[ ]?{_STRING}')
_PLAIN: Final = re.compile(rf'^(\w{{1,16}}):[ ]?(?:{_STRING}|([^"{{\[\s][^\r\n]*))', re.M)
_KEPT: Final = 512
"""The most characters that are kept of each text."""
_MOST_TEXTS: Final = 64
_REPEATED: Final = 4
"""A value of at least this length, without an escape, that equals the one before it, such as an id, is no
piece of a text.
"""


class Finders(NamedTuple):
    """Find secrets in a text.

    Attributes:
        spans: returns the spans of secrets in a text. The second argument is the first place within a word at
            which a frame begins; -1 if there is none, so that only secrets with blanks can be spread.
        begun: returns how many characters at the end of the text may be the beginning of a secret.
    """

    spans: Callable[[str, int], Iterable[tuple[int, int]]]
    begun: Callable[[str], int]


class Found(NamedTuple):
    """The secrets in several texts of one body.

    Attributes:
        spans: the spans in the body; a secret has one for each text that it is spread over.
        continued: the starts of those spans in which no secret begins.
        begun: for each text in which a secret may have begun of which more is to come, its spans.
    """

    spans: list[tuple[int, int]]
    continued: set[int]
    begun: list[list[tuple[int, int]]]


class _Text:
    """A text that is joined from several values."""

    __slots__ = ("first_cut", "is_repetition", "length", "pieces", "places")

    def __init__(self, kept: str, *, is_repetition: bool) -> None:
        self.pieces = [kept]
        self.is_repetition = is_repetition
        """Whether the first value equals the one before it."""
        self.length = len(kept)
        self.first_cut = -1
        """The first place within a word at which a value begins; -1: there is none."""
        self.places: list[tuple[int, int, int]] = []
        """For each value: its place in the text, its place in the body, and its length."""

    def add(self, value: str, place: int) -> None:
        if self.first_cut < 0 and self.pieces[-1][-1:].strip() and value[:1].strip():
            self.first_cut = self.length
        self.places.append((self.length, place, len(value)))
        self.pieces.append(value)
        self.length += len(value)

    def joined(self, end: int) -> str:
        """Return the text up to a place in the body."""
        return "".join(self.pieces[: 1 + bisect_left(self.places, end, key=itemgetter(1))])

    def in_body(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the spans in the body for a span of the text. What was kept of earlier lines has none."""
        for place, body, length in self.places:
            if place < end and start < place + length:
                yield body + max(0, start - place), body + min(length, end - place)


class SpreadTexts:
    """The texts of one body, read line by line."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        """The end of each text in the lines that `keep` has passed, by its key."""
        self._found: list[tuple[str, _Text]] = []
        """The texts that `find` has found, with their keys, in order."""

    def find(self, body: str, finders: Finders) -> Found:
        """Return the secrets that are spread over several texts.

        Args:
            body: the lines behind those that were kept, also an incomplete one.
            finders: find secrets in a text.
        """
        found = Found([], set(), [])
        self._found = self._texts(body)
        for _, text in self._found:
            _find_in(text, found, finders)
        for text in dict(self._found).values():  # the last one of each key
            _find_begun(text, found, finders)
        return found

    def keep(self, end: int) -> None:
        """Keep the ends of the texts in the lines before a place, which are not passed to `find` again.

        Args:
            end: the place, in the body that was passed to `find` last.
        """
        for key, text in self._found:
            if text.places[0][1] >= end:
                continue
            if len(self._kept) >= _MOST_TEXTS and key not in self._kept:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = text.joined(end)[-_KEPT:]
        self._found = []

    def forget(self) -> None:
        """Forget all texts, because lines were left out."""
        self._kept.clear()

    def _texts(self, body: str) -> list[tuple[str, _Text]]:
        """Return all texts in some lines with their keys, in order."""
        found: list[tuple[str, _Text]] = []
        texts: dict[str, _Text] = {}
        for key, value, place in _values_in(body):
            text = texts.get(key)
            before = self._kept.get(key, "") if text is None else text.pieces[-1]
            is_repetition = len(value) >= _REPEATED and before.endswith(value) and "\\" not in value
            if text is None or is_repetition:
                text = texts[key] = _Text("" if is_repetition else before, is_repetition=is_repetition)
                found.append((key, text))
            text.add(value, place)
        return found


def _values_in(body: str) -> Iterator[tuple[str, str, int]]:
    """Yield the key, the value and the place of each text."""
    for match in _NAMED.finditer(body):
        yield match[1], match[2], match.start(2)
    for match in _PLAIN.finditer(body):
        number = 2 if match[3] is None else 3
        yield match[1], match[number], match.start(number)


def _find_in(text: _Text, found: Found, finders: Finders) -> None:
    """Add the whole secrets in one text to those that were found before."""
    joined, kept = "".join(text.pieces), len(text.pieces[0])
    if len(text.places) > 1 or kept:
        for start, end in finders.spans(joined, text.first_cut):
            parts = [*text.in_body(start, end)]
            if len(parts) > 1 or start < kept:
                found.spans.extend(parts)
                found.continued.update(part[0] for part in parts[start >= kept :])


def _find_begun(text: _Text, found: Found, finders: Finders) -> None:
    """Add the secret that may have begun at the end of a text. A repeated value begins no secret."""
    if text.is_repetition and len(text.places) == 1:
        return
    joined = "".join(text.pieces)
    begun = finders.begun(joined)
    if begun and (parts := [*text.in_body(len(joined) - begun, len(joined))]):
        found.begun.append(parts)
