"""Makes conditions for frames that end a run or a call: only recorded values count as success.

The values that flags, codes and states had in these frames become conditions of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from streamweir.learning.field_names import TEXT_RANKS, USAGE, plain, words_of
from streamweir.learning.groups import Condition, Group, is_a_name
from streamweir.learning.outcome_signs import (
    DEEPEST,
    ID,
    MOST_VALUES,
    condition_of,
    has_sentence,
    is_failing_word,
    is_tool_data,
    kind_of,
    sign_of_word,
)
from streamweir.learning.places import Place, places_in, value_at

__all__ = ["seen_values", "shared_values"]

_COUNTERS: Final = frozenset(
    [
        *("count", "counts", "total", "tokens", "token", "ms", "sec", "secs", "seconds", "time"),
        *("times", "duration", "elapsed", "latency", "seq", "sequence", "index", "idx", "n", "i"),
        *("len", "length", "size", "cost", "price", "id", "ts", "timestamp", "created", "at"),
        *("usage", "num", "number", "version", "turn", "turns", "step", "steps", "page", "retries"),
        *("retry", "tools", "used", "chars", "words", "bytes", "millis", "offset", "pos"),
        *("position", "took"),
    ]
)
_LIKELY_CODES: Final = frozenset({0, 1, 200})


def seen_values(
    messages: Sequence[Any], named: set[Place], shared: set[tuple[Place, str]], failed: Sequence[Any] = ()
) -> list[Condition]:
    """Return a condition for each flag, number or word of frames that end a run or a call.

    Args:
        messages: the frames, or the items of their lists.
        named: the places that existing conditions already use.
        shared: the places and values that other frames also have.
        failed: the frames of this kind in streams that reported a failure.
    """
    held: dict[Place, list[Any]] = {}
    for message in messages:
        for place, value in places_in(message):
            if place and len(place) <= DEEPEST and isinstance(place[-1], str) and place not in named:
                held.setdefault(place, []).append(value)
    found = []
    for place, values in held.items():
        if is_tool_data(place) or not all(isinstance(value, bool | int | str | None) for value in values):
            continue
        if all(value is None for value in values):
            if kind_of(str(place[-1])):
                found.append(Condition(place, None, is_outcome=True))
            continue
        if len(values) != len(messages):
            continue
        if _separates_failures(place, values, failed) or _shows_outcome(place, values, shared):
            kept = _without_failures(messages, place, values)
            found.append(condition_of(place, kept))
    return found


def _separates_failures(place: Place, values: list[Any], failed: Sequence[Any]) -> bool:
    """Return whether a place has other flags or words in failed streams than in others."""
    others = [value_at(message, place) for message in failed]
    words = [*values, *others]
    if not others or any(not isinstance(value, bool) and not is_a_name(value) for value in words):
        return False
    return not {*map(str, values)} & {*map(str, others)}


def _shows_outcome(place: Place, values: list[Any], shared: set[tuple[Place, str]]) -> bool:
    name = str(place[-1])
    bare, kind = plain(name), kind_of(name)
    if len({str(value) for value in values}) > MOST_VALUES or any(value is None for value in values):
        return False
    if all(isinstance(value, bool) for value in values):
        return True
    is_counter = bare in USAGE or bool(_COUNTERS.intersection(words_of([name])))
    if all(isinstance(value, int) for value in values):
        return kind in ("code", "flag") or (not is_counter and _LIKELY_CODES.issuperset(values))
    if not all(isinstance(value, str) and is_a_name(value) for value in values):
        return False
    if kind in ("code", "state", "flag"):
        return not any(ID.fullmatch(value) for value in values)
    if is_counter or bare in TEXT_RANKS or any(ID.fullmatch(value) or " " in value for value in values):
        return False
    return not any((place, value) in shared for value in values) and (
        all(sign_of_word(value) is not None for value in values) or len(set(values)) < len(values)
    )


def _without_failures(messages: Sequence[Any], place: Place, values: list[Any]) -> list[Any]:
    """Return the values without those of frames with a text for people, if other frames lack such a text."""
    if len({str(value) for value in values}) < 2:
        return values
    spoken = [has_sentence(message, [place]) for message in messages]
    with_text = {str(value) for value, is_spoken in zip(values, spoken, strict=True) if is_spoken}
    kept = [value for value in values if str(value) not in with_text and not is_failing_word(value)]
    return kept or values


def shared_values(groups: Iterable[Group], but: Group) -> set[tuple[Place, str]]:
    """Return the places and texts of frames of other groups, without those in `but`."""
    return {
        (place, value)
        for group in groups
        if group is not but
        for message in group.messages[:50]
        for place, value in places_in(message.value)
        if isinstance(value, str)
    }
