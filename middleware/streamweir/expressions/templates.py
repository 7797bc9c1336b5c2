"""Trees of values: literals, expressions that keep their type, text with expressions in it.

    {text: "${{ body.text }}", note: "from ${{ who }}", n: 1}

Source: the dialect-file contract, section 3 (values).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from streamweir.expressions.compiler import Evaluate
from streamweir.expressions.expression import Expression, InvalidExpression, Path, compile_expression
from streamweir.expressions.scope import Scope, Vocabulary
from streamweir.jsontext import text_of

__all__ = ["Template", "bare_expression", "compile_template"]

_OPENING: Final = "${{"
_QUOTES: Final = "'\"`"
_VARIABLE: Final = re.compile(r"\$\{(?!\{|file:)(?=[^{}:a-z]*+[a-z])([^{}:]*+)(?::-[^{}]*+)?\}")
"""Matches a reference to an environment variable whose name has a lower-case letter."""
_BRACES: Final = re.compile(r"(?<!\$)\{\{\s*([^\W\d][\w.\[\]-]{0,200})\s*\}\}")
"""Matches the braces of an expression without the `$` before them."""

NO_LEAVES: Final[Mapping[Path, Expression]] = MappingProxyType({})

Place = tuple[str | int, ...]
Report = Callable[[Place, str], None]
"""Reports a problem with the leaf at a path in the tree."""


class Template:
    """A compiled tree.

    Attributes:
        evaluate: given the current value and the scope, returns the value.
        literal: the value of a tree without expressions; else `EVALUATED`.
        expression: the expression, if the tree consists only of it.
        expressions: all expressions in the tree.
        leaves: the expressions that are the whole value of a key, by the path of that key.
    """

    __slots__ = ("evaluate", "expression", "expressions", "leaves", "literal")

    EVALUATED: Final = object()

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        literal: Any = EVALUATED,
        expression: Expression | None = None,
        expressions: tuple[Expression, ...] = (),
        leaves: Mapping[Path, Expression] = NO_LEAVES,
    ) -> None:
        self.evaluate = evaluate
        self.literal = literal
        self.expression = expression
        self.expressions = (expression,) if expression else expressions
        self.leaves = {(): expression} if expression else leaves

    @property
    def is_literal(self) -> bool:
        """Whether the template holds no expression."""
        return self.literal is not Template.EVALUATED

    @property
    def path(self) -> Path | None:
        """The path in the current value, if the template only follows a path; else None."""
        return self.expression.path if self.expression else None

    @property
    def repeats(self) -> bool:
        """Whether the value may contain a part of the message many times."""
        return any(expression.repeats for expression in self.expressions)


def compile_template(tree: Any, vocabulary: Vocabulary, report: Report, place: Place = ()) -> Template:
    """Compile `tree`; a leaf that cannot be compiled is reported, and its value is null.

    Args:
        tree: scalars, lists and mappings.
        vocabulary: the names that exist at the place of the tree.
        report: called for each faulty leaf.
        place: the path of `tree`, for the report.
    """
    if isinstance(tree, str):
        try:
            return _leaf(tree, vocabulary)
        except InvalidExpression as error:
            report(place, str(error))
            return _literal(None)
    if isinstance(tree, Mapping):
        fields = {
            key: compile_template(item, vocabulary, report, (*place, key)) for key, item in tree.items()
        }
        return _mapping(fields)
    if isinstance(tree, list):
        return _list([compile_template(item, vocabulary, report, (*place, i)) for i, item in enumerate(tree)])
    return _literal(tree)


def bare_expression(text: str) -> str:
    """Return an expression without the `${{ }}` around it, if it has one.

    Raises:
        InvalidExpression: there is text outside of the `${{ }}`.
    """
    stripped = text.strip()
    if _OPENING not in stripped:
        return stripped
    pieces = [*_pieces(stripped)]
    if len(pieces) != 1 or not isinstance(pieces[0], _Source):
        raise InvalidExpression("must be one expression, with nothing beside `${{ }}`")
    return str(pieces[0])


class _Source(str):
    """The text of an expression, to distinguish it from literal text."""

    __slots__ = ()


def _leaf(text: str, vocabulary: Vocabulary) -> Template:
    if _OPENING not in text:
        return _literal(_checked(text))
    pieces = [
        compile_expression(piece, vocabulary) if isinstance(piece, _Source) else _checked(piece)
        for piece in _pieces(text)
    ]
    match pieces:
        case [Expression() as expression]:
            return Template(expression.evaluate, expression=expression)
        case [str() as literal]:
            return _literal(literal)
    return _text(pieces)


def _checked(text: str) -> str:
    """Return a literal text, unless a part of it is meant to be an expression.

    Raises:
        InvalidExpression: a field is written like a variable, or without the `$`.
    """
    if variable := _VARIABLE.search(text):
        raise InvalidExpression(
            f"`{variable[0]}` is a variable of the environment; "
            f"a field of the message is `${{{{ {variable[1].strip()} }}}}`"
        )
    if braces := _BRACES.search(text):
        raise InvalidExpression(f"`{braces[0]}` is text; a field of the message is `${{{{ {braces[1]} }}}}`")
    return text


def _literal(value: Any) -> Template:
    return Template(lambda _, __: value, literal=value)


def _text(pieces: list[str | Expression]) -> Template:
    found = tuple(piece for piece in pieces if isinstance(piece, Expression))

    literal = sum(len(piece) for piece in pieces if isinstance(piece, str))

    def evaluate(value: Any, scope: Scope) -> str:
        scope.make(literal)
        return "".join(
            [
                piece if isinstance(piece, str) else _counted_text(piece.evaluate(value, scope), scope)
                for piece in pieces
            ]
        )

    return Template(evaluate, expressions=found)


def _counted_text(value: Any, scope: Scope) -> str:
    """Return the text of `value`, which becomes a part of a longer text, and count its characters."""
    if isinstance(value, str):
        scope.make(len(value))
        return value
    if isinstance(value, dict | list):
        scope.make(scope.size_of(value))
    return text_of(value)


def _mapping(fields: Mapping[str, Template]) -> Template:
    if all(field.is_literal for field in fields.values()):
        return _literal({key: field.literal for key, field in fields.items()})
    steps = [(key, field.evaluate, field.expression is not None) for key, field in fields.items()]

    def evaluate(value: Any, scope: Scope) -> dict[str, Any]:
        built = {}
        for key, item, may_be_left_out in steps:
            found = item(value, scope)
            if found is not None or not may_be_left_out:
                built[key] = found
        return built

    leaves = {(key, *place): leaf for key, field in fields.items() for place, leaf in field.leaves.items()}
    return Template(evaluate, expressions=_all(fields.values()), leaves=leaves)


def _list(items: list[Template]) -> Template:
    if all(item.is_literal for item in items):
        return _literal([item.literal for item in items])
    steps = [(item.evaluate, item.expression is not None) for item in items]

    def evaluate(value: Any, scope: Scope) -> list[Any]:
        found = [(item(value, scope), may_be_left_out) for item, may_be_left_out in steps]
        return [item for item, may_be_left_out in found if item is not None or not may_be_left_out]

    return Template(evaluate, expressions=_all(items))


def _all(templates: Collection[Template]) -> tuple[Expression, ...]:
    return tuple(expression for template in templates for expression in template.expressions)


def _pieces(text: str) -> Iterator[str]:
    """Yield the literal texts and the expressions (`_Source`) of a leaf; neighbouring literals are joined."""
    literal, position = "", 0
    while (begin := text.find(_OPENING, position)) >= 0:
        if begin > position and text[begin - 1] == "$":
            literal += text[position : begin - 1] + _OPENING
            position = begin + len(_OPENING)
            continue
        literal += text[position:begin]
        if literal:
            yield literal
        end = _end_of_expression(text, begin + len(_OPENING))
        yield _Source(text[begin + len(_OPENING) : end].strip())
        literal, position = "", end + 2
    literal += text[position:]
    if literal:
        yield literal


def _end_of_expression(text: str, begin: int) -> int:
    """Return the position of the `}}` that closes the expression, outside of quotes and inner braces."""
    depth, quote, position = 0, "", begin
    while position < len(text):
        character = text[position]
        if quote:
            position += character == "\\"
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif text.startswith("}}", position):
            return position
        position += 1
    raise InvalidExpression("`${{` is not closed by `}}`")
