"""The report of `learn`: which part of the recorded bodies the dialect explains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from streamweir.learning.draft import Draft
from streamweir.learning.found_meanings import Meaning
from streamweir.learning.kinds import Kinds
from streamweir.learning.observed_frames import Observed
from streamweir.learning.places import Parsed, Place
from streamweir.learning.questions import Question

__all__ = ["LearnedName", "LearningReport", "fields_in", "names_in", "used_fields"]


class LearnedName(NamedTuple):
    """The line of the report about the frames of one name.

    Attributes:
        name: the name of the frames.
        frames: the number of frames with this name.
        means: the types of the frames' events, or `ignored`, `the end`, `not understood: custom`.
        sure: there is no doubt about the meaning.
    """

    name: str
    frames: int
    means: str
    sure: bool

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of the entry, for `--json`."""
        return {"name": self.name, "count": self.frames, "means": self.means, "sure": self.sure}


class LearningReport(NamedTuple):
    """The whole report.

    Attributes:
        framing: the framing of the bodies.
        frames: the number of frames.
        explained: the number of frames that the dialect explains.
        fields: the paths of all fields.
        fields_used: the paths that a rule uses.
        names: one entry for each name of frames.
        unsure: the questions that are left open.
    """

    framing: str
    frames: int
    explained: int
    fields: list[str]
    fields_used: list[str]
    names: list[LearnedName]
    unsure: list[Question]

    @property
    def share(self) -> float:
        """The share of frames that the dialect explains."""
        return round(self.explained / self.frames, 4) if self.frames else 1.0

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of the report, for `--json`."""
        return {
            "framing": self.framing,
            "frames": self.frames,
            "explained": self.explained,
            "share": self.share,
            "fields": self.fields,
            "fields_used": self.fields_used,
            "names": [name.as_json() for name in self.names],
            "unsure": [question.as_json() for question in self.unsure],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report's readable form."""
        yield f"framing: {self.framing}"
        yield f"frames: {self.frames}, {self.explained} of them explained ({self.share:.0%})"
        yield f"fields: {len(self.fields)}, {len(self.fields_used)} of them used"
        width = max((len(name.name) for name in self.names), default=0)
        for name in self.names:
            yield f"  {name.frames:>6}  {name.name:{width}}  {name.means}{'' if name.sure else '  (unsure)'}"
        unused = [field for field in self.fields if field not in self.fields_used]
        if unused:
            yield f"unused: {', '.join(unused)}"
        for about, question in self.unsure:
            yield f"unsure: {about}: {question}"


def names_in(draft: Draft, kinds: Kinds, observed: list[Observed]) -> list[LearnedName]:
    """Return an entry for each name of frames."""
    found = [_name_of(meaning, draft) for meaning in (*draft.rules, *draft.ignored, *draft.custom)]
    for word in kinds.end_marks:
        count = sum(1 for one in observed if one.text.strip() == word)
        found.append(LearnedName(word, count, "the end", sure=True))
    idle = sum(1 for one in observed if _is_idle(one, kinds))
    found += [LearnedName(word, idle, "ignored", sure=True) for word in kinds.idle[:1] if idle]
    return found


def _is_idle(one: Observed, kinds: Kinds) -> bool:
    names = [one.frame.event, one.text.strip()]
    if isinstance(one.message, dict):
        names += [value for value in one.message.values() if isinstance(value, str)]
    return any(name in kinds.idle for name in names)


def _name_of(meaning: Meaning, draft: Draft) -> LearnedName:
    if meaning in draft.custom:
        means = "not understood: custom"
    elif meaning in draft.ignored:
        means = "ignored"
    else:
        means = ", ".join(meaning.types) or "nothing new"
    sure = not meaning.notes and meaning not in draft.custom
    return LearnedName(meaning.group.label, len(meaning.group.messages), means, sure)


def fields_in(kinds: Kinds) -> list[str]:
    """Return the paths of all fields."""
    found: dict[str, None] = {}
    for group in kinds.groups:
        for message in group.messages:
            for path in _leaves(message.value, ""):
                found[path or "(text)"] = None
    return [*found]


def _leaves(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _leaves(inner, f"{path}[]")
    else:
        yield path


def used_fields(draft: Draft, fields: list[str]) -> list[str]:
    """Return the paths that a rule reads, including all paths below them."""
    used: set[str] = set()
    for meaning in (*draft.rules, *draft.ignored):
        used |= {_path(condition.place) for condition in meaning.group.conditions}
        for entry in meaning.entries:
            start = f"{_path(entry.unit.each)}[]" if entry.unit.each is not None else ""
            for place in entry.places:
                inner = _path(place)
                used.add(f"{start}.{inner}" if start and inner else start or inner or "(text)")
    return [field for field in fields if any(_is_in(field, path) for path in used)]


def _is_in(field: str, path: str) -> bool:
    return field == path or field.startswith((f"{path}.", f"{path}["))


def _path(place: Place) -> str:
    path = ""
    for step in place:
        if isinstance(step, Parsed):
            break  # a field whose text is JSON counts as one field
        if isinstance(step, int):
            path += "[]"
        else:
            path += f".{step}" if path else step
    return path
