"""YAML text -> plain values, with the place of every key and value.

The tree is built from ruamel's nodes and not by its constructors, for three reasons: all duplicate keys are
found and not only the first, no tag can build an object, and a `%YAML 1.1` line cannot turn `off` into false.

ruamel's plain reader gives the nodes of its round-trip reader, which also keeps comments and fails on some of
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from streamweir.yaml_files.faults import fault_in_words
from streamweir.yaml_files.report import KeyPath, Mark, Position, Report
from streamweir.yaml_files.unresolved import Unresolved

__all__ = ["read_tree"]

MAX_DEPTH: Final = 50
"""The deepest nesting, deeper than any configuration; later code walks the tree recursively."""
MANY_VALUES: Final = 100_000
"""The number of values beyond which aliases may only make up half of a tree: a few lines of aliases can
make billions of values.
"""

_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = _TAG + "merge"

_OTHER_SPACES: Final = ("\u00a0", "\u2007", "\u202f", "\u3000")
"""Characters that look like spaces, are copied from web pages, and count as part of a key."""

_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")

Pair: TypeAlias = tuple[ScalarNode, Node]


def read_tree(text: str, report: Report) -> dict[str, Any] | None:
    """Return the mapping in `text`, and give `report` the positions of all keys and values.

    The result is None if there is no mapping; the report then tells why. A tree may be returned in spite of
    problems, so that later checks can find more.
    """
    root = _compose(text, report)
    if root is None:
        return None
    if not isinstance(root, MappingNode):
        report.at(_start(root), "the file must be a mapping: keys such as `endpoints:` with values")
        return None
    builder = _Builder(report)
    try:
        tree = builder.build(root, (), ())
    except _TooBig as error:
        report.at(error.position, str(error))
        return None
    report.marks = builder.marks
    return tree if isinstance(tree, dict) else None


def _compose(text: str, report: Report) -> Node | None:
    """Return the root node; if there is none, report a problem and return None."""
    try:
        root: Node | None = YAML(typ="safe", pure=True).compose(text)
    except RecursionError:
        report.at(Position(1, 1), "is nested too deeply")
    except ReaderError as error:
        report.at(_position_of(text, error.position), f"not valid YAML: {error.reason}")
    except MarkedYAMLError as error:
        fault = fault_in_words(text, error)
        report.at(_marked(fault.mark), f"not valid YAML: {fault.words}")
    except (YAMLError, ValueError, OverflowError):
        # The last two come of an escape such as `\UFFFFFFFF`: ruamel does not say where it stands.
        report.at(Position(1, 1), "not valid YAML: an escape or a directive holds a number that is too large")
    else:
        if root is None or (isinstance(root, ScalarNode) and not root.value and root.style is None):
            report.at(Position(1, 1), "the file is empty: it needs at least `endpoints:`")
            return None
        return root
    return None


class _TooBig(Exception):
    def __init__(self, node: Node, message: str) -> None:
        self.position = _start(node)
        super().__init__(message)


@dataclass
class _Builder:
    report: Report
    marks: dict[KeyPath, Mark] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    """The nodes, by identity, that have been built at least once; their number measures the file's length."""
    values: int = 0

    def build(self, node: Node, path: KeyPath, inside: tuple[Node, ...]) -> Any:
        """Return the value of `node`, whose ancestors are `inside`."""
        self._bound(node, inside)
        deeper = (*inside, node)
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path, deeper)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [self._item(item, (*path, index), deeper) for index, item in enumerate(node.value)]
        if isinstance(node, ScalarNode) and node.tag in _SCALARS:
            return _scalar(node)
        self.report.at(_start(node), _unsupported(str(node.tag)), path)
        return Unresolved()

    def _bound(self, node: Node, inside: tuple[Node, ...]) -> None:
        self.values += 1
        self.seen.add(id(node))
        if any(node is ancestor for ancestor in inside):
            raise _TooBig(node, "an anchor holds an alias of itself")
        if len(inside) > MAX_DEPTH:
            raise _TooBig(node, "is nested too deeply")
        if self.values > max(MANY_VALUES, 2 * len(self.seen)):
            raise _TooBig(node, "stands for too many values once its aliases are filled in")

    def _item(self, node: Node, path: KeyPath, inside: tuple[Node, ...]) -> Any:
        self.marks[path] = Mark(_start(node), _start(node))
        return self.build(node, path, inside)

    def _mapping(self, node: MappingNode, path: KeyPath, inside: tuple[Node, ...]) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key, value in self._pairs(node, path, inside):
            here = (*path, key.value)
            # A value that is not written at all has no place of its own.
            empty = isinstance(value, ScalarNode) and not value.value and value.style is None
            self.marks[here] = Mark(_start(key), _start(key if empty else value))
            built[key.value] = self.build(value, here, inside)
        return built

    def _pairs(self, node: MappingNode, path: KeyPath, inside: tuple[Node, ...]) -> Iterator[Pair]:
        """Yield the usable pairs, then those that `<<` merges in and the mapping itself does not have."""
        first: dict[str, Node] = {}
        merged: list[Node] = []
        for key, value in node.value:
            if key.tag == _MERGE:
                merged.append(value)
            elif not _is_text(key):
                self.report.at(_start(key), "a key must be a string; put it in quotes", path)
            elif key.value[:1] in _OTHER_SPACES:
                self.report.at(_start(key), "a no-break space: YAML is indented with plain ones", path)
            elif _HALF_CHARACTER.search(key.value):
                self.report.at(_start(key), "a key is not valid Unicode: it holds half a character", path)
            elif key.value in first:
                line = _start(first[key.value]).line
                self.report.at(
                    _start(key), f"duplicate key; it stands in line {line} already", (*path, key.value)
                )
            else:
                first[key.value] = key
                yield key, value
        yield from self._merged(merged, path, inside, set(first))

    def _merged(
        self, values: list[Node], path: KeyPath, inside: tuple[Node, ...], taken: set[str]
    ) -> Iterator[Pair]:
        for value in values:
            for source in value.value if isinstance(value, SequenceNode) else [value]:
                if not isinstance(source, MappingNode):
                    self.report.at(_start(source), "`<<` merges a mapping or a list of mappings", path)
                    continue
                self._bound(source, inside)
                for key, inner in self._pairs(source, path, (*inside, source)):
                    if key.value not in taken:
                        taken.add(key.value)
                        yield key, inner


def _unsupported(tag: str) -> str:
    """Return the message about a tag that is not supported.

    The message names only YAML's own tags: another tag may be a secret that was written without quotes.
    """
    if tag.startswith(_TAG):
        return f"the tag {tag.replace(_TAG, '!!')} is not supported"
    return "tags such as `!NAME` are not supported; a text may begin with ! in quotes only"


def _is_text(key: Node) -> bool:
    """Return whether a key is a string; `on` is a string, even under `%YAML 1.1`."""
    return isinstance(key, ScalarNode) and key.tag in _SCALARS and isinstance(_scalar(key), str)


def _scalar(node: ScalarNode) -> Any:
    """Return the value of a scalar; a text if it has no other type of YAML 1.2."""
    if node.value == "" and node.style is not None:
        return ""
    try:
        return _SCALARS[str(node.tag)](node.value)
    except ValueError:
        return str(node.value)


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    return int(digits, 0) if digits.lstrip("+-").startswith(("0x", "0o")) else int(digits)


def _number(text: str) -> float:
    """Return the number in a text; `.inf` and `.nan` are spelled without the dot in Python."""
    digits = text.replace("_", "").lower()
    return float(digits.replace(".", "") if digits.endswith(("inf", "nan")) else digits)


def _boolean(text: str) -> bool:
    """Return the value of `true` or `false`, the only two booleans of YAML 1.2.

    Raises:
        ValueError: the text is another boolean of YAML 1.1, which stays a text.
    """
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return text.lower() == "true"


_SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    _TAG + "str": str,
    _TAG + "int": _integer,
    _TAG + "float": _number,
    _TAG + "bool": _boolean,
    _TAG + "null": lambda _text: None,
    # A date and `=` have no type of their own in YAML 1.2.
    _TAG + "timestamp": str,
    _TAG + "value": str,
}


def _start(node: Node) -> Position:
    return _marked(node.start_mark)


def _marked(mark: StringMark | None) -> Position:
    return Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)


def _position_of(text: str, index: int) -> Position:
    before = text[:index]
    return Position(before.count("\n") + 1, index - before.rfind("\n"))
