"""Compiles `match`: the required values of fields of the message.

Source: the dialect-file contract, section 3. Types count: `1` is neither `"1"` nor true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streamweir.codec.mapped.problems import KeyPath, ProblemReport
from streamweir.codec.mapped.section import Section
from streamweir.expressions import Path
from streamweir.jsontext import same_json

__all__ = ["Match", "compile_match"]

Test = Callable[[Any], bool]


class Match:
    """A compiled match.

    Attributes:
        fields: for each name, the allowed values of the field, or a match for the object in the field.
        fits: returns whether a message fits.
    """

    __slots__ = ("fields", "fits")

    def __init__(self, fields: Mapping[str, list[Any] | Match]) -> None:
        self.fields = fields
        self.fits: Test = _of_object({name: _test(wanted) for name, wanted in fields.items()})

    def words(self, name: str) -> frozenset[str] | None:
        """Return the texts that the field may have; None if it may have other values, too."""
        wanted = self.fields.get(name)
        if not isinstance(wanted, list) or not all(isinstance(value, str) for value in wanted):
            return None
        return frozenset(wanted)

    def reads(self) -> Iterator[Path]:
        """Yield the places of the message that are compared."""
        for name, wanted in self.fields.items():
            if isinstance(wanted, Match):
                yield from ((name, *path) for path in wanted.reads())
            else:
                yield (name,)

    def takes_all_of(self, other: Match) -> bool:
        """Return whether every message that fits `other` fits this match, too."""
        for name, wanted in self.fields.items():
            given = other.fields.get(name)
            if isinstance(wanted, Match):
                if not isinstance(given, Match) or not wanted.takes_all_of(given):
                    return False
            elif not isinstance(given, list) or not all(_is_among(value, wanted) for value in given):
                return False
        return True


def compile_match(value: Any, path: KeyPath, report: ProblemReport) -> Match | None:
    """Return the compiled match for `value`; None if `value` is no match, which is reported."""
    section = Section.of(value, path, report, "a mapping of fields and values")
    if section is None:
        return None
    if not section.values:
        section.lacks("a match needs a field")
        return None
    fields: dict[str, list[Any] | Match] = {}
    for name, wanted in section.values.items():
        if isinstance(wanted, Mapping):
            inner = compile_match(wanted, section.at(name), report)
            if inner is not None:
                fields[name] = inner
        else:
            fields[name] = _values(section, name, wanted)
    return Match(fields)


def _values(section: Section, name: str, wanted: Any) -> list[Any]:
    values = wanted if isinstance(wanted, list) else [wanted]
    if not values:
        section.wrong(name, "must hold a value: an empty list fits nothing")
    for index, value in enumerate(values):
        if isinstance(value, Mapping | list):
            section.report.at_value((*section.at(name), index), "must be text, a number, true, false or null")
    return [value for value in values if not isinstance(value, Mapping | list)]


def _is_among(value: Any, values: list[Any]) -> bool:
    return any(same_json(value, other) for other in values)


def _test(wanted: list[Any] | Match) -> Test:
    if isinstance(wanted, Match):
        return wanted.fits
    if all(isinstance(value, str) for value in wanted):
        if len(wanted) == 1:
            only = wanted[0]
            return lambda value: value == only
        words = frozenset(wanted)
        return lambda value: isinstance(value, str) and value in words
    return lambda value: _is_among(value, wanted)


def _of_object(tests: Mapping[str, Test]) -> Test:
    steps = tuple(tests.items())
    if len(steps) == 1:
        name, test = steps[0]
        return lambda message: isinstance(message, dict) and test(message.get(name))

    def fits(message: Any) -> bool:
        if not isinstance(message, dict):
            return False
        for name, test in steps:  # noqa: SIM110 (a loop is half the cost of `all`)
            if not test(message.get(name)):
                return False
        return True

    return fits
