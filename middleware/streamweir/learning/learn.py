"""Learns a dialect: sorts frames, finds their meanings, writes a draft and tries it on the same bodies.

Source: the dialect-file contract, section 10.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from streamweir.codec.detector import Detector
from streamweir.events import Event, Stamp
from streamweir.learning.draft import Draft, draft_of
from streamweir.learning.examples import MAX_TEXT, example_of, examples_of, shortened
from streamweir.learning.failing_texts import failing_beginning
from streamweir.learning.kinds import kinds_of, unwrapping
from streamweir.learning.meanings import meanings_of
from streamweir.learning.observed_frames import Observed, framing_of, observe
from streamweir.learning.questions import Question
from streamweir.learning.report import LearnedName, LearningReport, fields_in, names_in, used_fields
from streamweir.learning.trial import compiled, problems_of, sound_draft, tried
from streamweir.learning.unseen_frames import guarded
from streamweir.learning.yaml_text import yaml_of
from streamweir.redaction import redact
from streamweir.translation.sink import EventTap
from streamweir.translation.translator import Translator

__all__ = ["Learned", "NothingLearned", "learn"]

_WITH_ANSWER: Final = frozenset({"content", "thinking", "tool_call_start"})
_UNDERSTOOD: Final = frozenset({"content", "thinking", "tool_call_start", "tool_call_delta", "tool_call_end"})


_LEAST_SHARE: Final = 0.5
"""The least share of explained frames; if less is explained, no dialect is written."""


class NothingLearned(Exception):
    """No dialect can be learned from the bodies; `str()` returns the reason.

    Attributes:
        report: the counts and questions; None if there is no frame.
    """

    def __init__(self, reason: str, report: LearningReport | None = None) -> None:
        super().__init__(reason)
        self.report = report


class Learned(NamedTuple):
    """The result of learning.

    Attributes:
        yaml: the text of a file with one entry under `dialects:`.
        dialect: the keys of the dialect.
        report: tells which frames and fields the dialect explains.
    """

    yaml: str
    dialect: dict[str, Any]
    report: LearningReport


def learn(bodies: list[bytes], *, name: str = "learned", framing: str | None = None) -> Learned:
    """Return a dialect that reads the recorded bodies of one backend.

    Args:
        bodies: the recorded bodies; half a frame at the end of a body is left out.
        name: the name of the dialect.
        framing: sse, ndjson, lines or text; detected if not given.

    Raises:
        NothingLearned: the bodies have no frames, or neither text nor tools, or less than half of the frames
            are explained.
    """
    bodies = [body.removeprefix(BOM_UTF8) for body in bodies]
    bodies = [body for body in bodies if body.strip()]
    if not bodies:
        raise NothingLearned("there is nothing in it")
    framing = framing or framing_of(bodies[0])
    if framing is None:
        raise NothingLearned("it is no text")
    if framing == "text":
        return _text(bodies, name)
    observed = observe(bodies, framing)
    if not observed:
        raise NothingLearned("there is no frame in it")
    built_in = _built_in(bodies)
    return _extension(built_in, name, framing, observed) if built_in else _new(observed, name, framing)


# A dialect of its own


def _new(observed: list[Observed], name: str, framing: str) -> Learned:
    unwrap = unwrapping(observed) if framing != "lines" else None
    kinds = kinds_of(observed, framing, unwrap)
    draft = sound_draft(draft_of(meanings_of(kinds), kinds, framing, unwrap))
    draft = _without_failing_rules(draft, observed)
    trial = tried(draft.dialect, observed)
    fields = fields_in(kinds)
    report = LearningReport(
        framing,
        len(observed),
        trial.explained,
        fields,
        used_fields(draft, fields),
        names_in(draft, kinds, observed),
        draft.unsure,
    )
    if not _UNDERSTOOD & {type_ for meaning in draft.rules for type_ in meaning.types}:
        raise NothingLearned("there is no text and no tool in it", _with_question(report))
    if report.share < _LEAST_SHARE:
        raise NothingLearned("less than half of the frames is explained", _with_question(report))
    own = len(draft.rules)
    draft = guarded(draft, kinds)
    found, _ = compiled(draft.dialect)
    assert found is not None, "a sound draft can be compiled"
    dialect = _with_examples(draft.dialect, examples_of(found, observed, rules=own))
    return Learned(yaml_of(name, dialect, draft.comments), dialect, report)


def _with_question(report: LearningReport) -> LearningReport:
    """Return the report with at least one question that a person can answer to help."""
    if report.unsure:
        return report
    return report._replace(unsure=[Question("content", "which field has the text of the answer?")])


def _without_failing_rules(draft: Draft, observed: list[Observed]) -> Draft:
    """Return the draft without rules that cannot read most of their frames; those become `custom`."""
    trial = tried(draft.dialect, observed)
    labels = [f"rules[{number}]" for number in range(len(draft.rules))]
    failing = {
        number for number, label in enumerate(labels) if trial.malformed[label] * 2 > trial.takers[label] > 0
    }
    unused = {number for number, label in enumerate(labels) if not trial.takers[label]}
    return draft.without_rules(failing | unused) if failing | unused else draft


def _with_examples(dialect: dict[str, Any], examples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the dialect with those examples that pass."""
    whole = {**dialect, "examples": examples}
    failing = {problem.path[1] for problem in problems_of(whole) if problem.path[:1] == ("examples",)}
    held = [example for number, example in enumerate(examples) if number not in failing]
    return {**dialect, "examples": held} if held else dialect


# A body that is the answer


def _text(bodies: list[bytes], name: str) -> Learned:
    texts = [body.decode("utf-8", "replace") for body in bodies]
    text = next((text for text in texts if failing_beginning(text, is_alone=True) is None), None)
    if text is None:
        raise NothingLearned("there is only a failure in it", _only_failures(len(bodies)))
    example = {"stream": redact(text, limit=MAX_TEXT) + "\n", "gives": {"status": "completed"}}
    dialect = _with_examples({"framing": "text"}, [example])
    notes = ["the lines have no form in common: is the whole body the answer?"]
    names = [LearnedName("(text)", len(bodies), "content", sure=False)]
    fields, unsure = ["(text)"], [Question("(text)", notes[0])]
    report = LearningReport("text", len(bodies), len(bodies), fields, fields, names, unsure)
    return Learned(yaml_of(name, dialect, {"framing": notes}), dialect, report)


def _only_failures(count: int) -> LearningReport:
    names = [LearnedName("(text)", count, "error", sure=False)]
    question = Question("(text)", "this looks like a failure: how does an answer look?")
    return LearningReport("text", count, 0, ["(text)"], [], names, [question])


# A dialect that is known


def _built_in(bodies: Iterable[bytes]) -> str | None:
    """Return the name of the built-in dialect that knows every event of all bodies; None if there is none."""
    found = {_dialect_of(body) for body in bodies}
    return found.pop() if len(found) == 1 else None


def _dialect_of(body: bytes) -> str | None:
    detector = Detector()
    name = detector.feed(body) or detector.finish()
    if name is None:
        return None
    translator, types = Translator(speaks=name), _EventTypes()
    translator.write_to(types)
    translator.feed(body)
    translator.close()
    counts = translator.counts
    is_read = not counts["unknown"] and not counts["malformed"] and bool(types.seen & _WITH_ANSWER)
    return name if is_read and translator.error is None else None


class _EventTypes(EventTap):
    """A sink that collects the types of the events of a stream."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def write(self, event: Event, stamp: Stamp) -> None:
        del stamp
        self.seen.add(event.type)


def _extension(base: str, name: str, framing: str, observed: list[Observed]) -> Learned:
    """Return the result for a dialect that extends a built-in dialect, with examples."""
    examples = _examples_of_base(base, observed)
    dialect = _with_examples({"extends": base}, examples)
    counts = Counter(_label(one) for one in observed)
    names = [LearnedName(label, count, base, sure=True) for label, count in counts.items()]
    fields = sorted({key for one in observed if isinstance(one.message, dict) for key in one.message})
    note = f"this is {base}: `speaks: {base}` reads it"
    report = LearningReport(framing, len(observed), len(observed), fields, fields, names, [])
    return Learned(yaml_of(name, dialect, {"extends": [note]}), dialect, report)


def _examples_of_base(base: str, observed: list[Observed]) -> list[dict[str, Any]]:
    """Return one example for each of the first few names of frames."""
    found, _ = compiled({"extends": base})
    assert found is not None, "a built-in dialect can be extended"
    examples: dict[str, dict[str, Any]] = {}
    for one in observed:
        label = _label(one)
        if label not in examples and len(examples) < _MOST_EXAMPLES and isinstance(one.message, dict):
            example = example_of(found, shortened(one.message), one.frame.event)
            if example is not None:
                examples[label] = example
    return [*examples.values()]


_MOST_EXAMPLES: Final = 4


def _label(one: Observed) -> str:
    """Return the name of a frame whose dialect is known."""
    if one.frame.event not in (None, "message"):
        return str(one.frame.event)
    fields = one.message if isinstance(one.message, dict) else {}
    return next(
        (fields[key] for key in ("type", "event", "kind") if isinstance(fields.get(key), str)), "message"
    )
