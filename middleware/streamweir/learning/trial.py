"""Tries a draft on the recorded bodies, and removes the rules that are refused or fail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.coerce import is_custom
from streamweir.codec.mapped.dialect import DialectSource, MappedDialect, compile_dialects
from streamweir.codec.mapped.problems import Problem, ProblemList
from streamweir.codec.mapped.reader import MappedDecoder
from streamweir.codec.mapped.words import frame_name
from streamweir.codec.registry import process_dialects
from streamweir.errors import MalformedEvent
from streamweir.events import Event
from streamweir.framing import Frame
from streamweir.learning.draft import Draft
from streamweir.learning.observed_frames import NO_JSON, Observed
from streamweir.learning.places import Place, places_in
from streamweir.translation.dialect_examples import run_examples

__all__ = ["Trial", "compiled", "decoded", "problems_of", "sound_draft", "tried"]

_NAME: Final = "learned"


class Trial(NamedTuple):
    """The outcome for all frames.

    Attributes:
        takers: the number of frames that each rule took, by the rule's label; also `ignored`, `terminal`,
            `base`, `no rule`.
        malformed: by label, how many of these frames could not be read.
        explained_by: by label, how many of these frames gave an event other than `custom`, token counts, or
            the end.
        ignored: the frames that were ignored.
    """

    takers: Counter[str]
    malformed: Counter[str]
    explained_by: Counter[str]
    ignored: list[Observed]

    @property
    def explained(self) -> int:
        """The number of frames that gave events with their content, or that have no content."""
        return self.explained_by.total() + self.takers["terminal"] + _count_empty(self.ignored)


def compiled(dialect: dict[str, Any]) -> tuple[MappedDialect | None, list[Problem]]:
    """Compile the keys of a dialect; return the dialect (None if it is faulty) and its problems."""
    report = ProblemList()
    found = compile_dialects([DialectSource(_NAME, dialect, report, folder=Path())], process_dialects())
    return (found[0] if found and not report.problems else None), report.problems


def problems_of(dialect: dict[str, Any]) -> list[Problem]:
    """Return the problems that `check` would report, including those of examples."""
    found, problems = compiled(dialect)
    if found is None:
        return problems
    run_examples(found)
    report = found.source.report
    assert isinstance(report, ProblemList)
    return report.problems


def sound_draft(draft: Draft) -> Draft:
    """Return the draft without the rules that `check` would refuse."""
    while True:
        _, problems = compiled(draft.dialect)
        for key in {problem.path[0] for problem in problems if problem.path} & {"ignore", "unwrap"}:
            draft.dialect.pop(str(key), None)
        faulty = {
            problem.path[1] for problem in problems if problem.path[:1] == ("rules",) and problem.path[1:]
        }
        if not faulty:
            return draft
        draft = draft.without_rules({int(number) for number in faulty})


def tried(dialect: dict[str, Any], observed: Iterable[Observed]) -> Trial:
    """Decode all frames with a dialect that has no problems, and count the outcomes."""
    found, _ = compiled(dialect)
    assert found is not None, "a draft is tried when nothing is wrong with it"
    trial = Trial(Counter(), Counter(), Counter(), [])
    for held in _by_body(observed):
        decoder = found.dialect.make_decoder(NO_OPTIONS)
        assert isinstance(decoder, MappedDecoder)
        for one in held:
            _try_frame(decoder, one, trial)
    return trial


def _try_frame(decoder: MappedDecoder, one: Observed, trial: Trial) -> None:
    tokens = decoder.reported_tokens
    decoder.complete = False
    is_explained = False
    try:
        for event in decoder.decode_alone(one.frame):
            is_explained = is_explained or not is_custom(event)
    except MalformedEvent:
        trial.malformed[decoder.taker] += 1
        is_explained = False
    else:
        is_explained = is_explained or decoder.complete or decoder.reported_tokens != tokens
    trial.takers[decoder.taker] += 1
    if decoder.taker == "ignored":
        trial.ignored.append(one)
    elif decoder.taker != "terminal":
        trial.explained_by[decoder.taker] += is_explained


def _count_empty(ignored: Iterable[Observed]) -> int:
    """Return the number of ignored frames without content: only counters and times change in them."""
    held: dict[str, list[Observed]] = {}
    for one in ignored:
        held.setdefault(frame_name(one.frame, one.message) or one.text.strip(), []).append(one)
    return sum(len(found) for found in held.values() if not _has_content(found))


def _has_content(frames: list[Observed]) -> bool:
    given: dict[Place, set[str]] = {}
    for one in frames:
        message = one.text if one.message is NO_JSON else one.message
        for place, value in places_in(message):
            if isinstance(value, str) and not _TIME.fullmatch(value):
                given.setdefault(place, set()).add(value)
    return any(len(values) > 1 for values in given.values())


_TIME: Final = re.compile(r"[\d.:,/TZ+ -]{1,40}")
"""Matches a counter or a time that is written as text."""


def decoded(found: MappedDialect, frame: Frame) -> tuple[str, list[Event]] | None:
    """Decode one frame by itself; return its rule's label and its events; None if it cannot be read."""
    decoder = found.dialect.make_decoder(NO_OPTIONS)
    assert isinstance(decoder, MappedDecoder)
    try:
        events = [*decoder.decode_alone(frame)]
    except MalformedEvent:
        return None
    return decoder.taker, events


def _by_body(observed: Iterable[Observed]) -> list[list[Observed]]:
    bodies: dict[int, list[Observed]] = {}
    for one in observed:
        bodies.setdefault(one.body, []).append(one)
    return [*bodies.values()]
