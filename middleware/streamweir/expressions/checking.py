"""Checks an expression before it is first evaluated; the error shows an allowed form.

Source: the dialect-file contract, section 4.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jmespath.exceptions
from jmespath.lexer import Lexer
from jmespath.parser import Parser

from streamweir.errors import did_you_mean
from streamweir.expressions.functions import EXPRESSION, FUNCTIONS
from streamweir.expressions.scope import Vocabulary
from streamweir.expressions.syntax_tree import Node, all_nodes, constant_path, heads, parts

__all__ = ["InvalidExpression", "parsed"]

MAX_CHARACTERS: Final = 1000
MAX_NODES: Final = 200

_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(`)((?:[^`\\]|\\.)*)`", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|")
_COMPARATORS: Final = frozenset({"eq", "ne", "lt", "lte", "gt", "gte"})
_CONTINUATIONS: Final = frozenset({"dot", "lbracket", "flatten", "filter", "lparen"})
_WORDS: Final = frozenset({"true", "false"})

Token = Mapping[str, Any]


class InvalidExpression(ValueError):
    """An expression cannot be parsed, or is obviously a mistake; the text tells how to write it."""


def parsed(text: str, vocabulary: Vocabulary) -> Node:
    """Return the tree of an expression.

    Args:
        text: the expression.
        vocabulary: the names that exist at the place of the expression.

    Raises:
        InvalidExpression: the expression cannot be used.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidExpression(f"an expression may have {MAX_CHARACTERS} characters, not {len(text)}")
    if not text.strip():
        raise InvalidExpression("an expression is empty")
    _check_literals(text)
    tree = _tree(text)
    nodes = [*all_nodes(tree)]
    if len(nodes) > MAX_NODES:
        raise InvalidExpression(f"an expression may have {MAX_NODES} parts, not {len(nodes)}")
    _check_tokens([*Lexer().tokenize(text)])
    for node in nodes:
        _check_node(node)
    _check_names(tree, vocabulary)
    return tree


def _check_literals(text: str) -> None:
    """Refuse a literal in backticks that is not JSON; the package would accept any text, with a warning."""
    for match in _QUOTED.finditer(text):
        if match[1] is None:
            continue
        content = match[2].replace("\\`", "`")
        try:
            value = json.loads(content, parse_constant=_no_constant)
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            wanted = (
                f"; text is written '{content.strip()}'" if _PLAIN_NAME.fullmatch(content.strip()) else ""
            )
            raise InvalidExpression(f"`{content}` is no JSON{wanted}") from None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _tree(text: str) -> Node:
    try:
        tree: Node = Parser().parse(text).parsed
    except RecursionError:
        raise InvalidExpression("an expression is nested too deeply") from None
    except jmespath.exceptions.IncompleteExpressionError:
        raise InvalidExpression(f"the expression {text.strip()!r} is not complete") from None
    except jmespath.exceptions.LexerError as error:
        raise InvalidExpression(_unreadable(text, error.lexer_position, str(error.message))) from None
    except jmespath.exceptions.ParseError as error:
        if error.token_type == "NUMBER":
            raise InvalidExpression(_bare_number(text, error.lex_position)) from None
        raise InvalidExpression(_unreadable(text, error.lex_position, "")) from None
    except (jmespath.exceptions.JMESPathError, ValueError, IndexError):
        raise InvalidExpression(f"{text.strip()!r} is no JMESPath expression") from None
    return tree


def _unreadable(text: str, position: int, problem: str) -> str:
    if problem == "Unknown token '='":
        return f"{text.strip()!r} is no JMESPath expression: equality is written =="
    if problem.startswith("Unclosed"):
        return f"{text.strip()!r} is no JMESPath expression: a quote is not closed"
    rest = text[position : position + 20].strip()
    where = f" near {rest!r}" if rest else ""
    return f"{text.strip()!r} is no JMESPath expression: cannot be read{where}"


def _bare_number(text: str, position: int) -> str:
    match = _NUMBER.match(text, position)
    number = match[0] if match else text[position : position + 1]
    return f"a number is written in backticks: `{number}`"


# What parses and cannot be meant


def _check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse a single name in a comparison, which is a text in wrong quotes or a literal without quotes."""
    for before, token, after in zip(
        [{"type": ""}, *tokens], tokens, [*tokens[1:], {"type": ""}], strict=False
    ):
        compared = before["type"] in _COMPARATORS and after["type"] not in _CONTINUATIONS
        compared = compared or (after["type"] in _COMPARATORS and before["type"] != "dot")
        if not compared:
            continue
        value = token["value"]
        if token["type"] == "quoted_identifier" and _PLAIN_NAME.fullmatch(value):
            raise InvalidExpression(f"\"{value}\" is a field here; text is written '{value}'")
        if token["type"] == "unquoted_identifier" and value in _WORDS:
            raise InvalidExpression(f"{value} is a field here: write `{value}`")


def _check_node(node: Node) -> None:
    children = node["children"]
    match node["type"]:
        case "function_expression":
            _check_call(node["value"], children)
        case (
            "subexpression" | "projection" | "value_projection" | "filter_projection" | "index_expression"
        ) if children[0]["type"] == "not_expression":
            raise InvalidExpression(
                "`!` binds to what follows it at once: `!a.b` means `(!a).b`; write `!(a.b)`"
            )
        case "slice" if children[2] == 0:
            raise InvalidExpression("the step of a slice cannot be 0")
        case "literal" | "field" if isinstance(node["value"], str) and not _is_text(node["value"]):
            raise InvalidExpression("a text holds half a character (a lone surrogate)")
    if node["type"] != "function_expression" and any(_is_reference(child) for child in children):
        raise InvalidExpression("`&` stands only before an argument of map, sort_by, max_by and min_by")


def _check_call(name: str, arguments: Sequence[Node]) -> None:
    function = FUNCTIONS.get(name)
    if function is None:
        known = f" (known: {', '.join(sorted(FUNCTIONS))})"
        raise InvalidExpression(f"unknown function {name!r}{did_you_mean(name, FUNCTIONS) or known}")
    if not function.takes(len(arguments)):
        raise InvalidExpression(f"{name}() takes {function.arity} arguments, not {len(arguments)}")
    for place, argument in enumerate(arguments):
        wanted = function.types[min(place, len(function.types) - 1)] is EXPRESSION
        if wanted != _is_reference(argument):
            what = "has to begin with `&`" if wanted else "cannot begin with `&`"
            raise InvalidExpression(f"argument {place + 1} of {name}() {what}")


def _is_reference(node: Any) -> bool:
    return isinstance(node, Mapping) and node["type"] == "expref"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_names(tree: Node, vocabulary: Vocabulary) -> None:
    """Refuse unknown names, and fields that a known name never has."""
    if _is_reference(tree):
        raise InvalidExpression("`&` stands only before an argument of map, sort_by, max_by and min_by")
    for name in ("_item", "_index"):
        if name not in vocabulary.names and name in heads(tree):
            raise InvalidExpression(f"{name} is known only below `each`")
    for name, field in _fields_of_names(tree, is_head=True):
        known = vocabulary.members.get(name)
        if known is not None and field not in known:
            near = did_you_mean(field, known) or f" (known: {', '.join(sorted(known)) or 'none'})"
            raise InvalidExpression(f"{name} has no {field!r}{near}")


def _fields_of_names(node: Node, *, is_head: bool) -> Iterator[tuple[str, str]]:
    """Yield the first name of each path, and the field that is read from it."""
    match constant_path(node):
        case (str(name), str(field), *_) if is_head and name in heads(node):
            yield name, field
        case None:
            for part in parts(node, is_head=is_head):
                yield from _fields_of_names(part.node, is_head=part.is_head)
