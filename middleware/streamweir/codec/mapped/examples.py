"""The examples of a dialect: an input, and the expected output.

Source: the dialect-file contract, section 8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

from streamweir.codec.mapped.problems import KeyPath, suggestion
from streamweir.codec.mapped.section import Section
from streamweir.events import EVENT_TYPES

__all__ = ["EXAMPLE_KEYS", "Example", "compile_examples"]

EXAMPLE_KEYS: Final = (
    *("in", "event", "out", "stream", "gives", "events", "sends"),
    *("request", "writes", "request_body", "reads"),
)

_PAIRS: Final[dict[str, str]] = {
    "in": "out",
    "stream": "gives",
    "events": "sends",
    "request": "writes",
    "request_body": "reads",
}
_OBJECTS: Final = ("request", "request_body", "reads")
_LISTS: Final = frozenset({"out", "events", "sends"})

ExampleKind = Literal["in", "stream", "events", "request", "request_body"]


_FORMS: Final = (
    "`in` and `out`, `stream` and `gives`, `events` and `sends`, `request` and `writes`,"
    " or `request_body` and `reads`"
)
_MISSING: Final[dict[str, str]] = {
    "in": "the dialect is not read",
    "stream": "the dialect is not read",
    "events": "the dialect is not written",
    "request": "the dialect has no `request.write`",
    "request_body": "the dialect has no `request.read`",
}
"""The reason why a dialect cannot run an example, by the key of the example's input."""


class Example(NamedTuple):
    """One example.

    Attributes:
        kind: the key of the input.
        given: the input.
        wanted: the expected output.
        event: the SSE event name of the frames in the input.
        path: the place of the example.
    """

    kind: ExampleKind
    given: Any
    wanted: Any
    event: str | None
    path: KeyPath


def compile_examples(section: Section, kinds: Collection[str]) -> list[Example]:
    """Return the examples under `examples` that have no problem.

    Args:
        section: the mapping of the dialect.
        kinds: the kinds of examples that the dialect can run.
    """
    found = []
    for path, value in section.items("examples", "a list of examples"):
        inner = Section.of(value, path, section.report, "an example, as `{in: ..., out: [...]}`")
        example = _example(inner, kinds) if inner else None
        if example is not None:
            found.append(example)
    return found


def _example(section: Section, known: Collection[str]) -> Example | None:
    section.check_keys(EXAMPLE_KEYS)
    kinds: list[Any] = [key for key in _PAIRS if key in section]
    if len(kinds) != 1:
        section.lacks(f"an example is {_FORMS}")
        return None
    kind = kinds[0]
    if kind not in known:
        section.misplaced(kind, _MISSING[kind])
        return None
    wanted = _PAIRS[kind]
    if wanted not in section:
        section.lacks(f"an example with {kind!r} needs {wanted!r}")
        return None
    if not _has_right_types(section, kind, wanted):
        return None
    return Example(kind, section.values[kind], section.values[wanted], section.text("event"), section.path)


def _has_right_types(section: Section, kind: str, wanted: str) -> bool:
    for key in (kind, wanted):
        value = section.values[key]
        if key in _LISTS and not isinstance(value, list):
            section.wrong(key, "must be a list", value)
            return False
    if kind == "stream" and not isinstance(section.values[kind], str):
        section.wrong(kind, "must be a file, or text over several lines", section.values[kind])
        return False
    if kind in ("request", "request_body"):
        return _are_objects(section, [key for key in (kind, wanted) if key in _OBJECTS])
    events = section.values["events" if kind == "events" else "out"] if kind != "stream" else []
    found = [_is_event(section, item, path) for path, item in _placed(section, kind, events)]
    return all(found)


def _are_objects(section: Section, keys: list[str]) -> bool:
    wrong = [key for key in keys if not isinstance(section.values[key], Mapping)]
    for key in wrong:
        section.wrong(key, "must be a mapping", section.values[key])
    return not wrong


def _placed(section: Section, kind: str, events: list[Any]) -> list[tuple[KeyPath, Any]]:
    key = "events" if kind == "events" else "out"
    return [((*section.at(key), index), event) for index, event in enumerate(events)]


def _is_event(section: Section, value: Any, path: KeyPath) -> bool:
    event = Section.of(value, path, section.report, "an event, as `{type: content, ...}`")
    if event is None:
        return False
    name = event.values.get("type")
    if not isinstance(name, str):
        event.lacks("an event needs a 'type'")
        return False
    if name not in EVENT_TYPES:
        event.wrong("type", f"unknown type {name!r}{suggestion(name, EVENT_TYPES)}")
        return False
    return True
