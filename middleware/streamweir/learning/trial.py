"""Tries a draft on the recorded bodies, and removes the rules that are refused or fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.mapped.dialect import DialectSource, MappedDialect, compile_dialects
from streamweir.codec.mapped.problems import Problem, ProblemList
from streamweir.codec.mapped.reader import MappedDecoder
from streamweir.codec.registry import process_dialects
from streamweir.errors import MalformedEvent
from streamweir.events import Event
from streamweir.framing import Frame
from streamweir.learning.draft import Draft
from streamweir.learning.observed_frames import Observed
from streamweir.translation.dialect_examples import run_examples

__all__ = ["Trial", "compiled", "decoded", "problems_of", "sound_draft", "tried"]

NOT_TAKEN: Final = "no rule"
_NAME: Final = "learned"


class Trial(NamedTuple):
    """The outcome for all frames.

    Attributes:
        takers: how many frames each rule took, by its label; also `ignored`, `terminal`, `base`, `no rule`.
        malformed: how many of those frames could not be read.
    """

    takers: Counter[str]
    malformed: Counter[str]

    @property
    def explained(self) -> int:
        """How many frames were taken and could be read."""
        return self.takers.total() - self.takers[NOT_TAKEN] - self.malformed.total()


def compiled(dialect: dict[str, Any]) -> tuple[MappedDialect | None, list[Problem]]:
    """Compile the keys of a dialect; return it (None if faulty) and its problems."""
    report = ProblemList()
    found = compile_dialects([DialectSource(_NAME, dialect, report, folder=Path())], process_dialects())
    return (found[0] if found and not report.problems else None), report.problems


def problems_of(dialect: dict[str, Any]) -> list[Problem]:
    """Return the problems that `check` would report, those of examples included."""
    found, problems = compiled(dialect)
    if found is None:
        return problems
    run_examples(found)
    report = found.source.report
    assert isinstance(report, ProblemList)
    return report.problems


def sound_draft(draft: Draft) -> Draft:
    """Return the draft without the rules that would be refused."""
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
    trial = Trial(Counter(), Counter())
    for _, frames in _by_body(observed):
        decoder = found.dialect.make_decoder(NO_OPTIONS)
        assert isinstance(decoder, MappedDecoder)
        for frame in frames:
            try:
                for _ in decoder.decode_alone(frame):
                    pass
            except MalformedEvent:
                trial.malformed[decoder.taker] += 1
            trial.takers[decoder.taker] += 1
    return trial


def decoded(found: MappedDialect, frame: Frame) -> tuple[str, list[Event]] | None:
    """Decode one frame by itself; return its taker and events, or None if it cannot be read."""
    decoder = found.dialect.make_decoder(NO_OPTIONS)
    assert isinstance(decoder, MappedDecoder)
    try:
        events = [*decoder.decode_alone(frame)]
    except MalformedEvent:
        return None
    return decoder.taker, events


def _by_body(observed: Iterable[Observed]) -> list[tuple[int, list[Frame]]]:
    bodies: dict[int, list[Frame]] = {}
    for one in observed:
        bodies.setdefault(one.body, []).append(one.frame)
    return [*bodies.items()]
