"""Regular expressions as they stand in modules, and texts that would make them dear."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

from streamweir.lazy_pattern import LazyPattern

__all__ = ["Expression", "HostileText", "builders_in", "expressions_of", "hostile_texts"]

_ALPHABET_OF = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_WORD: "a0_",
    sre.CATEGORY_NOT_WORD: " .",
    sre.CATEGORY_SPACE: " \n",
    sre.CATEGORY_NOT_SPACE: "a.",
}
_ANYTHING = " aA0_-.:/=\"'\\\n\u5bc6"
_ANCHORED = {"match", "fullmatch"}
_MOST_TEXTS = 200
_LONG_REPEAT = 64


def modules_of(*packages: str) -> Iterator[ModuleType]:
    """Every module of `packages`, found by walking them."""
    for name in packages:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


class Expression(NamedTuple):
    """A compiled expression, where it stands, and whether it may begin anywhere in a text."""

    place: str
    pattern: re.Pattern[Any]
    is_searched: bool = True


def expressions_of(*packages: str) -> list[Expression]:
    """The compiled expressions of all modules, also those in tables, tuples and classes; each once."""
    modules = list(modules_of(*packages))
    asked = _methods_by_name("\n".join(map(inspect.getsource, modules)))
    found: dict[tuple[Any, int], Expression] = {}
    for module in modules:
        asked_here = _methods_by_name(inspect.getsource(module))
        for name, value in vars(module).items():
            methods = (asked_here if name.startswith("_") else asked).get(name, set())
            for pattern in _patterns_in(value, module.__name__, depth=4):
                key, is_searched = (pattern.pattern, pattern.flags), not _is_anchored(methods)
                if key not in found or is_searched:
                    found[key] = Expression(f"{module.__name__}.{name}", pattern, is_searched)
    for expression in chain.from_iterable(map(_written_in_place, modules)):
        found.setdefault((expression.pattern.pattern, expression.pattern.flags), expression)
    return list(found.values())


def builders_in(*packages: str) -> set[str]:
    """The modules that compile an expression in a function: what it is is known to those only who run it."""
    return {
        module.__name__
        for module in modules_of(*packages)
        if "re.compile" in (source := inspect.getsource(module))
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.GeneratorExp | ast.ListComp)
        and any(_method_of_re(node) == "compile" for node in ast.walk(function))
    }


def _written_in_place(module: ModuleType) -> Iterator[Expression]:
    """The expressions that are written where they are used: `re.fullmatch("[a-z]+", text)`."""
    source = inspect.getsource(module)
    for node in ast.walk(ast.parse(source)) if re.search(r"\bre\.\w", source) else ():
        method = _method_of_re(node)
        match node:
            case ast.Call(args=[ast.Constant(value=str() | bytes() as pattern), *_]) if method:
                if method != "compile":  # that stands in the module, or its function is known as a builder
                    place = f"{module.__name__}:{node.lineno}"
                    yield Expression(place, re.compile(pattern), method not in _ANCHORED)


def _method_of_re(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method)) if method != "escape":
            return method
    return None


def _methods_by_name(sources: str) -> dict[str, set[str]]:
    """What the sources ask of each name."""
    found: dict[str, set[str]] = {}
    for name, method in re.findall(r"\b(\w+)(?=\.(\w+)\b)", sources):
        found.setdefault(name, set()).add(method)
    return found


def _is_anchored(methods: set[str]) -> bool:
    """Is an expression of which this is asked only tried at one place of a text?"""
    return bool(methods) and methods <= _ANCHORED


def _patterns_in(value: object, module: str, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, LazyPattern):
        value = re.compile(value.pattern, value.flags)
    if isinstance(value, re.Pattern):
        yield value
        return
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = (*value.keys(), *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif isinstance(value, type) and value.__module__ == module:
        inner = tuple(vars(value).values())
    for item in inner if depth else ():
        yield from _patterns_in(item, module, depth - 1)


class HostileText(NamedTuple):
    """What stands once, and what is repeated behind it."""

    before: str
    piece: str

    def of_length(self, length: int, end: str) -> str:
        return (self.before + self.piece * (length // len(self.piece) + 1))[:length] + end


def hostile_texts(pattern: re.Pattern[Any]) -> list[HostileText]:
    """Texts that keep `pattern` busy: its literals, its alphabet, what it (almost) matches, repeated."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    tree = sre_parser.parse(text, flags)
    found: dict[HostileText, None] = {}
    for example in _examples(tree):
        for piece in (example, example[:-1], f"{example} "):
            found[HostileText("", piece)] = None
    for piece in (*_literals(tree), *[*dict.fromkeys("".join(_characters(tree)))][:40]):
        found[HostileText("", piece)] = None
    for before, body in _pumps(tree, ""):
        found[HostileText(before, body)] = None
    texts = [text for text in found if text.piece]
    return texts[:: max(1, -(-len(texts) // _MOST_TEXTS))]


def _subtrees(operator: Any, argument: Any) -> list[Any]:
    match operator:
        case sre.SUBPATTERN:
            return [argument[3]]
        case sre.BRANCH:
            return list(argument[1])
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            return [argument[2]]
        case sre.ATOMIC_GROUP:
            return [argument]
        case sre.ASSERT | sre.ASSERT_NOT:
            return [argument[1]]
    return []


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """What can be repeated without end, and what stands in front of it."""
    for operator, argument in tree:
        is_repeat = operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
        if is_repeat and int(argument[1]) > _LONG_REPEAT:
            yield from ((before, body) for body in dict.fromkeys([*_examples(argument[2])][:6]))
            yield from ((before, body) for body in "".join(_characters(argument[2]))[:6])
        for subtree in _subtrees(operator, argument):
            yield from _pumps(subtree, before)
        before += _part(operator, argument)[0]


def _literals(tree: Any) -> Iterator[str]:
    run = ""
    for operator, argument in tree:
        if operator is sre.LITERAL:
            run += chr(argument)
            continue
        yield run
        run = ""
        for subtree in _subtrees(operator, argument):
            yield from _literals(subtree)
    yield run


def _characters(tree: Any) -> Iterator[str]:
    for operator, argument in tree:
        match operator:
            case sre.LITERAL:
                yield chr(argument)
            case sre.IN:
                yield _members(argument)
            case sre.ANY:
                yield "a"
        for subtree in _subtrees(operator, argument):
            yield from _characters(subtree)


def _members(items: Any) -> str:
    """Some characters of a class."""
    negated = items[0][0] is sre.NEGATE
    members = ""
    for operator, argument in items:
        match operator:
            case sre.LITERAL:
                members += chr(argument)
            case sre.RANGE:
                members += chr(argument[0])
            case sre.CATEGORY:
                members += _ALPHABET_OF[argument]
    return "".join(character for character in _ANYTHING if character not in members) if negated else members


def _examples(tree: Any) -> Iterator[str]:
    """Texts that `tree` matches but for its assertions: the shortest one, and each branch once."""
    parts = [_part(operator, argument) for operator, argument in tree]
    yield "".join(part[0] for part in parts)
    for index, part in enumerate(parts):
        for other in part[1:]:
            yield "".join(other if place == index else found[0] for place, found in enumerate(parts))


def _part(operator: Any, argument: Any) -> list[str]:
    match operator:
        case sre.LITERAL:
            return [chr(argument)]
        case sre.NOT_LITERAL:
            return [next(character for character in _ANYTHING if ord(character) != argument)]
        case sre.ANY:
            return ["a"]
        case sre.IN:
            return [_members(argument)[:1] or "a"]
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            least, most, body = argument
            examples = list(_examples(body))[:40]
            return [
                examples[0] * max(least, 1),
                *(example * max(least, 1) for example in examples[1:]),
                examples[0] * min(int(most), 30),
            ]
        case sre.SUBPATTERN | sre.BRANCH | sre.ATOMIC_GROUP:
            return [example for subtree in _subtrees(operator, argument) for example in _examples(subtree)][
                :200
            ]
    return [""]
