"""The conditions of a rule.

Source: the dialect-file contract, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamweir.codec.mapped.matches import Match, compile_match
from streamweir.codec.mapped.paths import MISSING, parse_path, value_at
from streamweir.codec.mapped.read_scope import ReadScope
from streamweir.codec.mapped.section import Section
from streamweir.codec.mapped.words import UNNAMED
from streamweir.expressions import Expression, Path, Reads, Vocabulary
from streamweir.expressions.values import is_true

__all__ = ["CONDITION_KEYS", "Conditions"]

CONDITION_KEYS: Final = ("event", "match", "has", "lacks", "text", "prefix", "when")

Test = Callable[[Any, ReadScope], bool]


class Conditions:
    """The conditions under which a rule takes a frame.

    Attributes:
        events: the SSE event names that fit; None: any name.
        match: the required values of fields.
        takes_text: whether a frame may fit whose data is no JSON.
        is_narrow: whether there are further conditions, so that a frame may fit `events` and `match` and
            still not be taken.
        takes: returns whether a frame fits.
    """

    def __init__(self, section: Section, names: Vocabulary, *, is_text_only: bool) -> None:
        self.events = frozenset(section.texts("event")) if "event" in section else None
        self.match = _match(section)
        self._has = _paths(section, "has")
        self._lacks = _paths(section, "lacks")
        self._texts = frozenset(section.texts("text")) if "text" in section else None
        self._prefix = section.text("prefix")
        self._when = section.expression("when", names)
        needs_json = any(key in section for key in ("match", "has", "lacks"))
        self.takes_text = (
            is_text_only
            or self._texts is not None
            or self._prefix is not None
            or (self.events is not None and not needs_json)
        )
        self.is_narrow = any(key in section for key in ("has", "lacks", "text", "prefix", "when"))
        self.takes = self._test(self.match)

    @property
    def reads(self) -> Reads:
        """The places of the message that the conditions read."""
        values: set[Path] = {*(self.match.reads() if self.match else ())}
        if self._texts is not None or self._prefix is not None:
            values.add(())
        own = Reads(frozenset(values), frozenset((*self._has, *self._lacks)))
        return own | self._when.truth_reads if self._when else own

    def takes_all_of(self, later: Conditions) -> bool:
        """Return whether each frame that fits `later` fits here, too; False if that is not certain."""
        if self.is_narrow:
            return False
        if self.events is None and self.match is None:
            return True
        if self.events is not None and not (later.events is not None and later.events <= self.events):
            return False
        if self.match is None:
            return True
        return later.match is not None and self.match.takes_all_of(later.match)

    def _test(self, match: Match | None) -> Test:
        tests = [
            *([_of_events(self.events)] if self.events is not None else []),
            *([_of_match(match)] if match is not None else []),
            *map(_of_presence, self._has),
            *map(_of_absence, self._lacks),
            *([_of_texts(self._texts)] if self._texts is not None else []),
        ]
        # what follows a prefix is what `when` sees
        last = self._prefix_and_when()
        return _all_of([*tests, *([last] if last else [])])

    def _prefix_and_when(self) -> Test | None:
        prefix, when = self._prefix, self._when
        if prefix is None:
            return _of_expression(when) if when else None
        begins = prefix

        def takes(message: Any, scope: ReadScope) -> bool:
            text = scope.frame.text
            if not text.startswith(begins):
                return False
            scope.rest = text[len(begins) :]
            if when is None or is_true(when.evaluate(message, scope)):
                return True
            scope.rest = None
            return False

        return takes


def _match(section: Section) -> Match | None:
    return (
        compile_match(section.values["match"], section.at("match"), section.report)
        if "match" in section
        else None
    )


def _paths(section: Section, key: str) -> list[Path]:
    found = []
    texts = section.texts(key)
    for index, text in enumerate(texts):
        path = parse_path(text)
        if path is None:
            place = section.at(key) if isinstance(section.values[key], str) else (*section.at(key), index)
            section.report.at_value(
                place, "must be names and indices, as `choices[0].delta`", f", not {text!r}"
            )
        else:
            found.append(path)
    return found


def _of_events(events: frozenset[str]) -> Test:
    if len(events) == 1:
        (only,) = events
        if only != UNNAMED:
            return lambda _, scope: scope.frame.event == only
    return lambda _, scope: (scope.frame.event or UNNAMED) in events


def _of_match(match: Match) -> Test:
    fits = match.fits
    return lambda message, _: fits(message)


def _of_presence(path: Path) -> Test:
    return lambda message, _: value_at(message, path) not in (None, MISSING)


def _of_absence(path: Path) -> Test:
    return lambda message, _: value_at(message, path) in (None, MISSING)


def _of_texts(texts: frozenset[str]) -> Test:
    return lambda _, scope: scope.frame.text in texts


def _of_expression(when: Expression) -> Test:
    evaluate = when.evaluate
    return lambda message, scope: is_true(evaluate(message, scope))


def _all_of(tests: list[Test]) -> Test:
    match tests:
        case []:
            return lambda _, __: True
        case [only]:
            return only
        case [first, second]:
            return lambda message, scope: first(message, scope) and second(message, scope)

    def takes(message: Any, scope: ReadScope) -> bool:
        for test in tests:  # noqa: SIM110 (a loop is half the cost of `all`)
            if not test(message, scope):
                return False
        return True

    return takes
