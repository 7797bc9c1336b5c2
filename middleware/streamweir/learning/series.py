"""The texts of one field in order, and how they relate: pieces, cumulative texts or repetitions."""

from __future__ import annotations

from itertools import pairwise, takewhile
from typing import Final, Literal, NamedTuple

from streamweir.learning.places import Place
from streamweir.learning.units import At, Unit

__all__ = ["Mode", "Series", "mirrors", "mode_of", "repeats", "texts_by_body"]

Mode = Literal["delta", "cumulative", "single"]

_GROWS_AT_LEAST: Final = 2
_DISTINCTIVE: Final = 12
"""The least length of a text whose repetition at the next text's beginning makes a series cumulative."""

_KEPT: Final = 0.6
"""The least share of a text that the next cumulative text repeats; the remaining part may be corrected."""


class Series(NamedTuple):
    """The texts of one place.

    Attributes:
        unit: the records that contain them.
        place: the field.
        texts: the texts that are not empty, each with its position.
        when: an expression that is true for the records of this series; None if the series has all records.
    """

    unit: Unit
    place: Place
    texts: list[tuple[At, str]]
    when: str | None = None

    @property
    def length(self) -> int:
        """The number of characters in all texts."""
        return sum(len(text) for _, text in self.texts)


def texts_by_body(series: Series) -> dict[int, list[tuple[At, str]]]:
    """Return the texts of the series, grouped by body."""
    found: dict[int, list[tuple[At, str]]] = {}
    for at, text in series.texts:
        found.setdefault(at.body, []).append((at, text))
    return found


def mode_of(series: Series) -> Mode:
    """Return whether the texts are pieces or cumulative."""
    grown = distinctive = others = 0
    for texts in texts_by_body(series).values():
        for (_, one), (_, other) in pairwise(texts):
            if one == other:
                continue
            if other.startswith(one) or _corrects(one, other):
                grown += 1
                distinctive += len(one) >= _DISTINCTIVE
            else:
                others += 1
    if grown >= _GROWS_AT_LEAST + others * 2 or (distinctive and not others):
        return "cumulative"
    return "single" if max(map(len, texts_by_body(series).values()), default=0) < 2 else "delta"


def _corrects(one: str, other: str) -> bool:
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return len(one) >= _DISTINCTIVE and common >= len(one) * _KEPT and len(other) * 5 >= len(one) * 4


def repeats(series: Series, given: Series, mode: Mode) -> bool:
    """Return whether each text of `series` repeats the preceding text of `given`, from any piece on."""
    is_distinctive = False
    given_by_body = texts_by_body(given)
    for body, texts in texts_by_body(series).items():
        pieces = given_by_body.get(body, [])
        for at, text in texts:
            before = [piece for piece_at, piece in pieces if piece_at <= at]
            count = _covers(before, text, mode)
            if not count:
                return False
            is_all = len(texts) == 1 and count == len(before) and series.unit.group is not given.unit.group
            is_long = count > 1 or len(text) >= _DISTINCTIVE or mode == "cumulative"
            is_distinctive = is_distinctive or is_long or is_all
    return is_distinctive


def _covers(pieces: list[str], text: str, mode: Mode) -> int:
    """Return how many of the last pieces join to the text; 0 if they do not."""
    wanted = text.strip()
    if mode == "cumulative":
        return int(any(piece.strip() == wanted for piece in pieces))
    length = 0
    for count, piece in enumerate(reversed(pieces), 1):
        length += len(piece)
        if length < len(wanted):
            continue
        tail = "".join(pieces[-count:]).strip()
        if tail == wanted:
            is_all = not any(map(str.strip, pieces[:-count]))
            return len(pieces) if is_all else count
        if len(tail) > len(wanted):
            return 0
    return 0


def mirrors(series: Series, given: Series) -> bool:
    """Return whether `series` has the pieces of `given`."""
    return len(series.texts) > 1 and [text for _, text in series.texts] == [text for _, text in given.texts]


def closing_repetitions(series: Series) -> list[At]:
    """Return the positions at which a field with pieces repeats all its pieces."""
    found: list[At] = []
    for texts in texts_by_body(series).values():
        pieces: list[str] = []
        for at, text in texts:
            if len(pieces) > 1 and _covers(pieces, text, "delta") > 1:
                found.append(at)
                pieces = []
            else:
                pieces.append(text)
    return found
