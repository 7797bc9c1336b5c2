"""Writes the frames that a rule sends.

Source: the dialect-file contract, section 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.codec.mapped.paths import concerns_any
from streamweir.codec.mapped.problems import KeyPath, ProblemReport
from streamweir.codec.mapped.section import Section
from streamweir.expressions import Expression, Path, Scope, Template, Vocabulary, compile_template
from streamweir.expressions.reads import all_reads
from streamweir.expressions.values import is_true
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["FrameOut", "compile_frames"]

_KEYS: Final = ("data", "text", "event", "id", "when", "each")
_CONTENT: Final[Path] = ("content",)
_COUNTED: Final[tuple[Path, ...]] = (("sequence",), ("timestamp",))
_CHANGING: Final = frozenset({"_count", "_answer"})
_NO_LINE: Final = str.maketrans("\r\n\0", "   ")


class FrameOut:
    """One frame under `send`, compiled.

    Attributes:
        names: the names of the scope that the frame uses.
        numbers: the keys of its JSON whose values are numbers that change from frame to frame, with the name
            of the number.
        is_plain: whether only the text and `numbers` change between the frames of events that differ
            only in their text.
    """

    def __init__(self, section: Section, names: Vocabulary) -> None:
        self._each = section.expression("each", names)
        inner = names.below_each() if "each" in section else names
        self._when = section.expression("when", inner)
        self._data = section.template("data", inner) if "data" in section else None
        self._text = _text(section, "text", inner)
        self._event = _text(section, "event", inner)
        self._id = _text(section, "id", inner)
        parts = [part for part in (self._data, self._text, self._event, self._id) if part is not None]
        conditions = [found for found in (self._each, self._when) if found is not None]
        expressions = [*conditions, *(found for part in parts for found in part.expressions)]
        self.names = frozenset(name for found in expressions for name in found.names)
        self.numbers = _numbers(self._data)
        self.is_plain = (
            self._data is not None and not conditions and self._id is None and self._is_plain(expressions)
        )

    def write(self, message: Any, scope: Scope) -> Iterator[Frame]:
        """Yield the frames for an event: one frame, no frame, or one frame per item."""
        if self._each is None:
            yield from self._one(message, scope)
            return
        items = self._each.evaluate(message, scope)
        if items is None:
            return
        items = items if isinstance(items, list) else [items]
        scope.visit(len(items))
        for scope.index, scope.item in enumerate(items):
            yield from self._one(message, scope)
        scope.index = scope.item = None

    def _one(self, message: Any, scope: Scope) -> Iterator[Frame]:
        if self._when is not None and not is_true(self._when.evaluate(message, scope)):
            return
        event = _line(_counted(self._event, message, scope)) if self._event is not None else None
        frame_id = _line(_counted(self._id, message, scope)) if self._id is not None else None
        if self._data is not None:
            yield Frame(write_json(_counted(self._data, message, scope)), event, frame_id)
        elif self._text is not None:
            text = _lines(_counted(self._text, message, scope))
            yield Frame(text.encode("utf-8", "replace"), event, frame_id)
        elif event:
            yield Frame(b"", event, frame_id)

    def _is_plain(self, expressions: list[Expression]) -> bool:
        """Return whether the text is in one leaf, and no other value depends on the text or on a counter."""
        assert self._data is not None
        leaves = self._data.leaves.values()
        texts = [leaf for leaf in leaves if leaf.path == _CONTENT]
        counted = [leaf for leaf in leaves if leaf.path in _COUNTED or leaf.name == "_count"]
        others = [found for found in expressions if not any(found is leaf for leaf in (*texts, *counted))]
        reads = all_reads(found.reads for found in others)
        looked_at = reads.values | reads.kinds
        changing = any(found.names & _CHANGING for found in others)
        return (
            len(texts) == 1
            and not changing
            and not concerns_any(_CONTENT, looked_at)
            and not any(concerns_any(path, looked_at) for path in _COUNTED)
            and len(counted) == len(self.numbers)
        )


def compile_frames(value: Any, path: KeyPath, report: ProblemReport, names: Vocabulary) -> list[FrameOut]:
    """Return the frames under `send` that have no problem."""
    items = (
        [(item, (*path, index)) for index, item in enumerate(value)]
        if isinstance(value, list)
        else [(value, path)]
    )
    found = (_frame(item, place, report, names) for item, place in items)
    return [frame for frame in found if frame is not None]


def _frame(value: Any, path: KeyPath, report: ProblemReport, names: Vocabulary) -> FrameOut | None:
    if isinstance(value, str):
        # a text in place of a frame: its problems stand where it stands
        template = compile_template(value, names, report.at_value, path)
        return FrameOut(_TextFrame(value, path, report, template), names)
    section = Section.of(value, path, report, "a frame, as `{data: ...}` or `{text: ...}`, or text")
    if section is None:
        return None
    section.check_keys(_KEYS)
    if "data" in section and "text" in section:
        section.misplaced("text", "a frame has either `data` or `text`, not both")
    elif not {"data", "text", "event"} & section.values.keys():
        section.lacks("a frame needs `data`, `text` or `event`")
    return FrameOut(section, names)


class _TextFrame(Section):
    """The section `{text: VALUE}`, which sends a text in place of a frame."""

    __slots__ = ("_template",)

    def __init__(self, text: str, path: KeyPath, report: ProblemReport, template: Template) -> None:
        super().__init__({"text": text}, path, report)
        self._template = template

    def template(self, key: str, names: Vocabulary) -> Template:
        del key, names
        return self._template


def _text(section: Section, key: str, names: Vocabulary) -> Template | None:
    value = section.values.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        section.wrong(key, "must be text", value)
        return None
    return section.template(key, names)


def _counted(template: Template, message: Any, scope: Scope) -> Any:
    """Return the value of a part of a frame; its size counts towards the limit of one event's frames."""
    value = template.evaluate(message, scope)
    scope.make(scope.size_of(value))
    return value


def _lines(value: Any) -> str:
    """Return text with LF line ends: a lone CR would end a line in SSE."""
    text = text_of(value)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _line(value: Any) -> str | None:
    """Return a name or an id without line ends, so that it cannot begin another SSE field."""
    if value is None or value == "":
        return None
    return text_of(value).translate(_NO_LINE)


def _numbers(data: Template | None) -> dict[str, str]:
    """Return the name of each number in the JSON by its key; {} if a key occurs twice."""
    found: dict[str, str] = {}
    for place, leaf in data.leaves.items() if data else ():
        name = _number_name(leaf)
        if name is not None and place:
            if str(place[-1]) in found:
                return {}
            found[str(place[-1])] = name
    return found


def _number_name(leaf: Expression) -> str | None:
    if leaf.path in _COUNTED and leaf.path is not None:
        return str(leaf.path[0])
    return leaf.name if leaf.name == "_count" else None
