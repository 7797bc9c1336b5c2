"""Finds the fields with the answer and with thinking, and the fields that only repeat them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from streamweir.learning.field_names import (
    END_WORDS,
    FINISH,
    NO_ANSWER_WORDS,
    NO_TEXT,
    TEXT_RANKS,
    TEXT_WORDS,
    THINKING,
    THOUGHTS,
    plain,
    words_of,
)
from streamweir.learning.foreign_words import english
from streamweir.learning.groups import Condition
from streamweir.learning.kinds import is_end_mark
from streamweir.learning.places import Parsed, Place, value_at
from streamweir.learning.series import Mode, Series, closing_repetitions, mirrors, mode_of, repeats
from streamweir.learning.units import At, Unit

__all__ = ["Text", "texts_in"]

Kind = Literal["content", "thinking"]
How = Literal["delta", "cumulative", "whole", "again"]

SURE: Final = 4
"""The least score of a field that surely is text of the answer."""

WORTH_A_GUESS: Final = 0.5
_MANY: Final = 4
_PIECE: Final = 60
_ID: Final = re.compile(r"(?=[^ ]{0,64}\d)[\w:./-]{8,}|https?://\S+|[0-9]+|#?[0-9a-fA-F]{6,}")
_WIDE: Final = re.compile(r"[\u0e00-\u0eff\u1100-\u11ff\u3000-\u9fff\uac00-\ud7ff\uff00-\uffef]")


class Text(NamedTuple):
    """The meaning of one series.

    Attributes:
        series: the texts.
        kind: content or thinking.
        how: `delta`, `cumulative`, `whole` (repeats the whole text once), or `again` (only repeats).
        is_sure: a name or a comparison confirms the meaning.
        note: the question about the meaning.
    """

    series: Series
    kind: Kind
    how: How
    is_sure: bool = True
    note: str | None = None


class _Candidate(NamedTuple):
    series: Series
    kind: Kind
    score: float
    mode: Mode


def texts_in(units: Iterable[Unit], taken: set[tuple[int, Place]]) -> list[Text]:
    """Return the series of the answer and of thinking, and the series that repeat them.

    Args:
        units: all records.
        taken: fields with another meaning, by `id()` of the unit and place; fields below them are taken too.
    """
    candidates = [found for unit in units for found in _candidates(unit, taken)]
    thinking = _chosen([one for one in candidates if one.kind == "thinking"], may_guess=not taken)
    content = _chosen([one for one in candidates if one.kind == "content"], may_guess=not taken)
    spoken = [text.series for text in content if text.how == "delta"]
    thinking = [text for text in thinking if not any(mirrors(text.series, one) for one in spoken)]
    return [*thinking, *content]


# Which fields may hold text


def _candidates(unit: Unit, taken: set[tuple[int, Place]]) -> Iterator[_Candidate]:
    for place, found in unit.places.items():
        if any((id(unit), place[:length]) in taken for length in range(len(place) + 1)):
            continue
        texts = [(record.at, value) for record, value in found if isinstance(value, str) and _is_text(value)]
        if not texts or place in unit.group.named_places or place in {c.place for c in unit.conditions}:
            continue
        if len(texts) * 2 < sum(1 for _, value in found if value != ""):
            continue
        for series in _without_repetitions(Series(unit, place, texts)):
            kind = _kind_of(series)
            if unit.is_about_tools and kind == "content" and _score(series, kind) < SURE:
                continue
            yield _Candidate(series, kind, _score(series, kind), mode_of(series))


def _is_text(value: str) -> bool:
    """Return whether a value is a text that is neither empty nor an end mark such as `[DONE]`."""
    return bool(value) and (value.isalpha() or not is_end_mark(value))


def _without_repetitions(series: Series) -> list[Series]:
    """Split a series whose last text repeats all pieces, if another field distinguishes the repetition."""
    closing = set(closing_repetitions(series))
    if not closing:
        return [series]
    unit = series.unit
    again = [record.value for record in unit.records if record.at in closing]
    pieces = {at for at, _ in series.texts} - closing
    others = [record.value for record in unit.records if record.at in pieces]
    found = _separating_field(unit, series.place, again, others)
    if found is None:
        return [series]
    when_again, when_piece = found
    return [
        series._replace(texts=[text for text in series.texts if text[0] not in closing], when=when_piece),
        series._replace(texts=[text for text in series.texts if text[0] in closing], when=when_again),
    ]


def _separating_field(unit: Unit, text: Place, ones: list[Any], others: list[Any]) -> tuple[str, str] | None:
    """Return expressions, one true for `ones` and one for `others`, by a flag, a word or a presence."""
    best: tuple[int, str, str] | None = None
    for place in unit.places:
        if not place or place == text or isinstance(place[-1], Parsed):
            continue
        here = [value_at(value, place) for value in ones]
        there = [value_at(value, place) for value in others]
        found = _separating(unit, place, here, there)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best[1:] if best else None


def _separating(unit: Unit, place: Place, here: list[Any], there: list[Any]) -> tuple[int, str, str] | None:
    path = unit.express(place)
    if all(value is True for value in here) and not any(there):
        return 5, path, f"!({path})"
    if all(value is True for value in there) and not any(here):
        return 4, f"!({path})", path
    root = "_item" if unit.each is not None else ""
    first, second = here[0], there[0]
    if isinstance(first, str) and {*map(str, here)} == {first} and first not in there and len(first) < _PIECE:
        if not _ID.fullmatch(first) and not any(isinstance(value, str) for value in there):
            return 3, path, f"!({path})"
        if len({*map(str, there)}) * 2 <= len(there) + 1 and not unit.group.root(()).startswith("_text"):
            condition = Condition(place, first).when(root)
            return 2, condition, f"!({condition})"
    if isinstance(second, str) and {*map(str, there)} == {second} and not any(here) and len(there) > 1:
        return 2, f"!({path})", path
    if all(isinstance(value, dict) and value for value in here) and not any(there):
        return 1, path, f"!({path})"
    return None


# How likely a field is text of the answer


def _kind_of(series: Series) -> Kind:
    unit = series.unit
    if any(c.value is True and THINKING.search(english(str(c.place[-1]))) for c in unit.conditions):
        return "thinking"
    steps = [step for step in series.place if isinstance(step, str)]
    is_thought = any(map(THINKING.search, map(english, steps))) or any(
        map(THOUGHTS.search, map(english, unit.names))
    )
    return "thinking" if is_thought or _is_reason(series) else "content"


def _is_reason(series: Series) -> bool:
    """Return whether a field is called `reason` and has sentences rather than single words."""
    is_named = bool(series.place) and plain(series.place[-1]) in ("reason", "reasons")
    return is_named and any(" " in text.strip() for _, text in series.texts) and len(series.texts) > 1


def _score(series: Series, kind: Kind) -> float:
    unit, place = series.unit, series.place
    steps = [step for step in place if isinstance(step, str)]
    name = plain(steps[-1]) if steps and isinstance(place[-1], str) else ""
    if name in NO_TEXT - {"name"} and name not in TEXT_RANKS:
        return 0
    if name.endswith(("id", "ids", "url", "uri", "time", "at", "type", "name")) and name not in TEXT_RANKS:
        return 0
    if name in FINISH - {"final", "end", "last"}:
        return 0
    texts = [text for _, text in series.texts]
    if all(_ID.fullmatch(text) for text in texts) and not _looks_like_pieces(texts):
        return 0
    score = float(TEXT_RANKS.get(name, 1)) if steps else 4.0
    if isinstance(place[-1] if place else None, int):
        score = 2.0
    if kind == "thinking":
        score = max(score, 5.0) if (name and THINKING.search(english(name))) or _is_reason(series) else score
        score += 2
        parents = [word for word in words_of(steps[:-1]) if word in NO_ANSWER_WORDS]
        return score - 4 * bool(parents)
    spoken = set(unit.words)
    score -= 5 * (unit.group.is_text and len(texts) == 1 and spoken <= END_WORDS)
    score += 2 * bool(spoken & TEXT_WORDS)
    score -= 4 * bool((spoken | set(words_of(steps[:-1]))) & NO_ANSWER_WORDS)
    if any(plain(step) in TEXT_RANKS for step in steps[:-1]):
        score += 0.5
    if _looks_like_pieces(texts):
        score += 3
    elif _looks_like_words(texts):
        score -= 3
    return score - len(place) * 0.01


def _looks_like_pieces(texts: list[str]) -> bool:
    """Return whether there are many short texts that continue sentences."""
    if len(texts) < _MANY or sum(map(len, texts)) > len(texts) * _PIECE or len(set(texts)) * 2 < len(texts):
        return False
    open_ends = sum(1 for text in texts if text != text.strip() or _WIDE.search(text))
    return open_ends * 4 >= len(texts)


def _looks_like_words(texts: list[str]) -> bool:
    """Return whether a field has a few repeated words, or names."""
    if len(texts) > _MANY and len(set(texts)) * 3 < len(texts):
        return True
    return all(re.fullmatch(r"[a-z]+[_./-][a-z_./-]+|[A-Z_]{3,}", text) for text in texts)


# Which of them do


def _chosen(candidates: list[_Candidate], *, may_guess: bool) -> list[Text]:
    """Choose the likely fields, finest pieces first. A series that repeats a chosen one is no new text."""
    order = sorted(candidates, key=_fineness, reverse=True)
    backed = {id(one) for one in order if _is_repeated(one, order)}
    likely = [one for one in order if one.score >= SURE or (id(one) in backed and one.score >= WORTH_A_GUESS)]
    note = None
    if not likely:
        guesses = [one for one in candidates if one.score >= WORTH_A_GUESS]
        guesses = [one for one in guesses if may_guess or _has_many_pieces(one)]
        likely = sorted(guesses, key=lambda one: (one.score, one.series.length), reverse=True)[:1]
        note = "only its place among the other fields says so: is this the text of the answer?"
    likely = _without_last_words(likely)
    accepted: list[_Candidate] = []
    found: list[Text] = []
    for one in likely:
        text = _role_of(one, accepted, note)
        if text is not None:
            found.append(text)
            if text.how in ("delta", "cumulative"):
                accepted.append(one)
    known = {id(text.series) for text in found}
    for one in order:
        if id(one.series) not in known and one.score > 0:
            found += _repetition(one, accepted)
    return found


def _without_last_words(likely: list[_Candidate]) -> list[_Candidate]:
    """Leave out texts that may report failures.

    Such a text comes once in a body, after the pieces, in messages of another kind whose names are not words
    for text, and does not repeat the pieces.
    """
    pieces = [one for one in likely if one.mode != "single"]
    last: dict[int, int] = {}
    for one in pieces:
        for at, _ in one.series.texts:
            last[at.body] = max(at.frame, last.get(at.body, -1))
    groups = {id(one.series.unit.group) for one in pieces}
    kept = []
    for one in likely:
        unit = one.series.unit
        is_apart = one.mode == "single" and id(unit.group) not in groups and not TEXT_WORDS & {*unit.words}
        is_last = all(at.frame > last.get(at.body, -1) for at, _ in one.series.texts)
        may_fail = pieces and is_apart and is_last
        if not may_fail or any(repeats(one.series, other.series, other.mode) for other in pieces):
            kept.append(one)
    return kept


def _has_many_pieces(one: _Candidate) -> bool:
    """Return whether a field has many different texts in one stream."""
    texts = [text for _, text in one.series.texts]
    return one.mode != "single" and len(texts) >= _MANY and len(set(texts)) * 2 >= len(texts)


def _fineness(one: _Candidate) -> tuple[int, int, float]:
    """Return the sort key of a candidate: pieces, cumulative texts, single texts; many before few."""
    return {"delta": 2, "cumulative": 1, "single": 0}[one.mode], len(one.series.texts), one.score


def _is_repeated(one: _Candidate, others: list[_Candidate]) -> bool:
    if one.mode == "single":
        return False
    return any(
        other is not one and other.mode == "single" and repeats(other.series, one.series, one.mode)
        for other in others
    )


def _role_of(one: _Candidate, accepted: list[_Candidate], note: str | None) -> Text | None:
    repetition = _repetition(one, accepted)
    if repetition:
        return repetition[0]
    for other in accepted:
        if other.series.unit is one.series.unit and other.series.place != one.series.place:
            return None  # a message has one field with text
        if _is_nearly(one, other):
            return Text(
                one.series,
                one.kind,
                "again",
                is_sure=False,
                note="this is nearly the text before it: is it a copy?",
            )
    how: How = "cumulative" if one.mode == "cumulative" else "delta"
    if note is None and how == "cumulative" and len(one.series.texts) < _MANY:
        note = "each text begins with the one before: is each of them all of the text so far?"
    return Text(one.series, one.kind, how, note is None, note)


def _repetition(one: _Candidate, accepted: list[_Candidate]) -> list[Text]:
    for other in accepted:
        if other.kind != one.kind:
            continue
        if mirrors(one.series, other.series):
            return [Text(one.series, one.kind, "again")]
        if repeats(one.series, other.series, other.mode):
            is_closing = one.mode in ("single", "delta")
            return [Text(one.series, one.kind, "whole" if is_closing else "again")]
    joined = _joined(accepted)
    if len(accepted) > 1 and joined is not None and repeats(one.series, joined, "delta"):
        return [Text(one.series, one.kind, "whole" if one.mode == "single" else "again")]
    return []


def _joined(accepted: list[_Candidate]) -> Series | None:
    pieces = [one.series for one in accepted if one.mode != "cumulative"]
    if not pieces:
        return None
    texts: list[tuple[At, str]] = sorted(text for series in pieces for text in series.texts)
    return pieces[0]._replace(texts=texts)


def _is_nearly(one: _Candidate, other: _Candidate) -> bool:
    """Return whether two texts have equal letters, ignoring white space and punctuation."""
    if one.kind != other.kind or one.mode != "single" or other.mode == "single":
        return False
    given = "".join(text for _, text in other.series.texts)
    return all(_letters(text) and _letters(text) in _letters(given) for _, text in one.series.texts)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text)
