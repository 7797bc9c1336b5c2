"""The entries of a rule: each is an event or a group, with conditions and repetitions.

Source: the dialect-file contract, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from streamweir.codec.mapped.event_builders import BUILDERS, Build
from streamweir.codec.mapped.event_fields import ENTRIES, META_FIELDS, EntryKind
from streamweir.codec.mapped.field_kinds import FieldKind
from streamweir.codec.mapped.problems import KeyPath, ProblemReport, suggestion
from streamweir.codec.mapped.read_scope import ReadScope
from streamweir.codec.mapped.section import Section
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, Thinking
from streamweir.expressions import Expression, Path, Reads, Template, Vocabulary
from streamweir.expressions.compiler import Evaluate
from streamweir.expressions.reads import all_reads
from streamweir.expressions.values import is_true

__all__ = ["Emission", "Emit", "compile_emission"]

MAX_EVENTS: Final = 1000
"""The most events of one frame. A frame with more events is malformed."""

MAX_DEPTH: Final = 3
"""The deepest nesting of groups."""

_ENVELOPE: Final = 160
"""The bytes of an event in addition to its fields."""

_ANY_ENTRY: Final = ("type", "when", "each")
_GROUP_KEYS: Final = ("emit", "when", "each")

Emit = Callable[[Any, ReadScope, list[Event]], None]
"""Adds the events for a message to a list."""


class Emission(NamedTuple):
    """The compiled entries of a rule.

    Attributes:
        emit: adds the events of the entries.
        types: the types of the entries, nested ones included.
        reads: the places of the message that the entries read, except the places of plain texts.
        texts: the places of plain texts.
        completes_messages: whether an event of the entries may end a message.
    """

    emit: Emit
    types: frozenset[str] = frozenset()
    reads: Reads = Reads()
    texts: frozenset[Path] = frozenset()
    completes_messages: bool = False


def compile_emission(
    value: Any, path: KeyPath, report: ProblemReport, names: Vocabulary, depth: int = 1
) -> Emission:
    """Return an entry, or a list of them, compiled; a faulty entry is reported and emits nothing.

    Args:
        value: the value of `emit`.
        path: the path of `value`.
        report: gets the problems.
        names: the names of the scope that expressions may use.
        depth: the number of groups around the entry, including the entry itself.
    """
    if isinstance(value, list):
        items = [(item, (*path, index)) for index, item in enumerate(value)]
        return _joined([_entry(item, place, report, names, depth) for item, place in items])
    return _entry(value, path, report, names, depth)


def _entry(value: Any, path: KeyPath, report: ProblemReport, names: Vocabulary, depth: int) -> Emission:
    section = Section.of(value, path, report, "an event, as `{type: content, ...}`, or a list of them")
    if section is None:
        return _joined([])
    each = section.expression("each", names)
    inner = names.below_each() if "each" in section else names
    when = section.expression("when", inner)
    if "emit" in section and "type" not in section:
        emission = _group(section, inner, depth)
    else:
        emission = _event(section, inner)
    return _repeated(_conditional(emission, when), each)


def _group(section: Section, names: Vocabulary, depth: int) -> Emission:
    section.check_keys(_GROUP_KEYS)
    if depth > MAX_DEPTH:
        section.misplaced("emit", f"groups nest at most {MAX_DEPTH} deep")
        return _joined([])
    return compile_emission(section.values["emit"], section.at("emit"), section.report, names, depth + 1)


def _joined(emissions: list[Emission]) -> Emission:
    steps = tuple(emission.emit for emission in emissions)

    def emit(message: Any, scope: ReadScope, out: list[Event]) -> None:
        for step in steps:
            step(message, scope, out)

    if len(emissions) == 1:
        return emissions[0]
    return Emission(
        emit,
        _union(emission.types for emission in emissions),
        all_reads(emission.reads for emission in emissions),
        _union(emission.texts for emission in emissions),
        any(emission.completes_messages for emission in emissions),
    )


def _union(sets: Iterable[frozenset[Any]]) -> frozenset[Any]:
    return frozenset[Any]().union(*sets)


# Conditions and repetitions


def _conditional(emission: Emission, when: Expression | None) -> Emission:
    if when is None:
        return emission
    holds, inner = when.evaluate, emission.emit

    def emit(message: Any, scope: ReadScope, out: list[Event]) -> None:
        if is_true(holds(message, scope)):
            inner(message, scope, out)

    return emission._replace(emit=emit, reads=emission.reads | when.truth_reads)


def _repeated(emission: Emission, each: Expression | None) -> Emission:
    if each is None:
        return emission
    items_of, inner = each.evaluate, emission.emit

    def emit(message: Any, scope: ReadScope, out: list[Event]) -> None:
        items = items_of(message, scope)
        if items is None:
            return
        items = items if isinstance(items, list) else [items]
        scope.visit(len(items))
        outer = scope.item, scope.index
        try:
            for scope.index, scope.item in enumerate(items):
                inner(message, scope, out)
        finally:
            scope.item, scope.index = outer

    # a text in an item has no place of its own: it is read as part of the list
    texts = Reads(values=emission.texts)
    return emission._replace(emit=emit, reads=emission.reads | texts | each.reads, texts=frozenset())


# Events


class _Field(NamedTuple):
    name: str
    evaluate: Evaluate
    convert: Callable[[Any], Any]


def _event(section: Section, names: Vocabulary) -> Emission:
    type_name = section.values.get("type")
    kind = ENTRIES.get(type_name) if isinstance(type_name, str) else None
    if kind is None or not isinstance(type_name, str):
        _report_type(section)
        return _joined([])
    known = [*_ANY_ENTRY, *kind.fields, *(META_FIELDS if kind.has_meta else ())]
    section.check_keys(known, "field")
    for name in kind.required:
        if name not in section:
            section.lacks(f"the field {name!r} is missing: {type_name} needs it")
    fields = {**(META_FIELDS if kind.has_meta else {}), **kind.fields}
    templates = {name: section.template(name, names) for name in section.values if name in fields}
    return _emission(section, type_name, kind, fields, templates)


def _report_type(section: Section) -> None:
    if "type" not in section:
        section.lacks("an event needs a 'type', a group an 'emit'")
        return
    value = section.values["type"]
    if isinstance(value, str):
        section.wrong("type", f"unknown type {value!r}{suggestion(value, ENTRIES)}")
    else:
        section.wrong("type", "must be a type of event", value)


def _emission(
    section: Section,
    type_name: str,
    kind: EntryKind,
    kinds: dict[str, FieldKind],
    templates: dict[str, Template],
) -> Emission:
    constant = _literals(section, kinds, templates)
    changing = {name: template for name, template in templates.items() if not template.is_literal}
    fields = [_Field(name, _sized(changing[name]), kinds[name].convert) for name in changing]
    own = [field for field in fields if field.name in kind.fields]
    meta = [field for field in fields if field.name not in kind.fields]
    weight = _weight(section, changing)
    is_text = type_name in ("content", "thinking")
    emit = _plain_text(type_name, constant, own, meta, weight) if is_text else None
    if emit is None:
        emit = _any_event(type_name, kind, constant, own, meta, weight)
    text = templates["content"].path if is_text and "content" in templates else None
    others = (
        expression
        for name, template in changing.items()
        if name != "content" or text is None
        for expression in template.expressions
    )
    return Emission(
        emit,
        frozenset({type_name}),
        all_reads(found.reads for found in others),
        frozenset() if text is None else frozenset({text}),
        completes_messages="is_complete" in templates,
    )


def _literals(
    section: Section, kinds: dict[str, FieldKind], templates: dict[str, Template]
) -> dict[str, Any]:
    """Return the fields whose value is equal in every event, converted to their types."""
    found: dict[str, Any] = {}
    for name, template in templates.items():
        if name == "text" and not template.is_literal:
            section.wrong(name, f"must be {kinds[name].what}, not an expression")
        elif template.is_literal and template.literal is not None:
            try:
                value = kinds[name].convert(template.literal)
            except MalformedEvent:
                section.wrong(name, f"must be {kinds[name].what}", template.literal)
                continue
            if value is not None:
                found[name] = value
    return found


def _sized(template: Template) -> Evaluate:
    """Return a function that evaluates a field, and refuses a value that is too large for a frame's events.

    The size is checked only for values that may contain a part of the message many times, because measuring a
    value may mean writing it as JSON.
    """
    evaluate = template.evaluate
    if not template.repeats:
        return evaluate

    def sized(message: Any, scope: Any) -> Any:
        value = evaluate(message, scope)
        scope.size_of(value)
        return value

    return sized


def _any_event(
    type_name: str,
    kind: EntryKind,
    constant: dict[str, Any],
    own: list[_Field],
    meta: list[_Field],
    weight: _Weight,
) -> Emit:
    build: Build = BUILDERS[type_name]
    required = [name for name in kind.required if name not in constant and name != "tool_name"]
    own_constant = {name: value for name, value in constant.items() if name in kind.fields}
    meta_constant: Any = {name: value for name, value in constant.items() if name not in kind.fields}

    def emit(message: Any, scope: ReadScope, out: list[Event]) -> None:
        fields = own_constant.copy()
        for name, evaluate, convert in own:
            value = evaluate(message, scope)
            if value is not None and (value := convert(value)) is not None:
                fields[name] = value
        for name in required:
            if name not in fields:
                return
        event = build(fields, _meta(message, scope, meta_constant, meta), scope)
        if event is not None:
            weight.add(event, scope, out)

    return emit


def _plain_text(
    type_name: str, constant: dict[str, Any], own: list[_Field], meta: list[_Field], weight: _Weight
) -> Emit | None:
    """Return a fast function for events in which only text and metadata change; None for other events."""
    if [field.name for field in own] != ["content"] or "is_complete" in constant:
        return None
    cls: type[Content] | type[Thinking] = Content if type_name == "content" else Thinking
    build = BUILDERS[type_name]
    own_constant = {name: value for name, value in constant.items() if name not in META_FIELDS}
    meta_constant: Any = {name: value for name, value in constant.items() if name in META_FIELDS}
    is_bare = not own_constant
    _, evaluate, convert = own[0]

    def emit(message: Any, scope: ReadScope, out: list[Event]) -> None:
        text = evaluate(message, scope)
        if text is None or text == "":
            return
        text = text if type(text) is str else convert(text)
        found = _meta(message, scope, meta_constant, meta)
        if is_bare:
            weight.add(cls(text, meta=found), scope, out)
        elif (event := build({**own_constant, "content": text}, found, scope)) is not None:
            weight.add(event, scope, out)

    return emit


def _meta(message: Any, scope: ReadScope, constant: Any, fields: list[_Field]) -> Any:
    if not fields:
        return constant or None
    meta = constant.copy()
    for name, evaluate, convert in fields:
        value = evaluate(message, scope)
        if value is not None and (value := convert(value)) is not None:
            meta[name] = value
    return meta or None


class _Weight(NamedTuple):
    """The parts of one entry's events, from which the largest size of an event follows.

    Attributes:
        expressions: the number of expressions.
        literal: the bytes of all literals in the entry.
        repeats: whether an expression may hold a part of the message many times.
    """

    expressions: int
    literal: int
    repeats: bool

    def add(self, event: Event, scope: ReadScope, out: list[Event]) -> None:
        """Add an event of the entry to those of the frame.

        Raises:
            MalformedEvent: the events are too many or too large for one frame.
        """
        if len(out) >= MAX_EVENTS:
            raise MalformedEvent("more events than one frame may give")
        if self.repeats:
            event = scope.measure_event(event, out)
        else:
            event = scope.count_event(event, out, expressions=self.expressions, literal=self.literal)
        out.append(event)


def _weight(section: Section, templates: Mapping[str, Template]) -> _Weight:
    expressions = sum(len(template.expressions) for template in templates.values())
    literal = _ENVELOPE + len(repr(section.values))
    return _Weight(expressions, literal, any(template.repeats for template in templates.values()))
