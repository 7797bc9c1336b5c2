"""Requests built by a template tree (body or form, query, headers) from values that a client sent.

Source: the request contract, sections 1 (the tree that is laid over a body) and 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.expressions import Scope, Template, Vocabulary, compile_template
from streamweir.http_grammar import TOKEN
from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.written import Written

__all__ = [
    "RequestTemplate",
    "Tree",
    "compile_request",
    "compile_tree",
    "is_long_form",
    "leaves_of",
    "names_read",
    "overlay_root",
]

_LONG_FORM: Final = frozenset({"body", "query", "headers", "form"})
_EXPRESSION: Final = re.compile(r"\$\{\{(?:(?!\$\{\{).)*?\}\}", re.DOTALL)
_HYPHENATED: Final = re.compile(r"(?<![\w.'\"`])headers\.([A-Za-z]\w*(?:-\w+)+)")
_NO_NAMES: Final = Vocabulary()
_OF_CONNECTION: Final = re.compile(
    r"(?i:host|content-length|accept-encoding|connection|keep-alive|proxy-(?:authenticate|authorization"
    r"|connection)|te|trailer|transfer-encoding|upgrade)"
)
_FORBIDDEN: Final = re.compile(r"(?i:authorization|cookie|content-.*|proxy-.*|x-forwarded-.*|forwarded)")
"""Headers that must not contain a value of a client."""

_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")

Report = Callable[[tuple[str | int, ...], str], None]
"""Reports a problem with the value at a path in the tree."""


class Tree(NamedTuple):
    """A compiled tree of values.

    Attributes:
        template: evaluates it.
        source: the tree as it was written.
    """

    template: Template
    source: Any

    def value(self, root: Any) -> Any:
        """Return the value of the tree.

        Raises:
            RequestError: the expressions would process more data than is allowed for one request.
        """
        scope = Scope({})
        try:
            value = self.template.evaluate(root, scope)
            if self.template.repeats:
                scope.size_of(value)
        except MalformedEvent:
            raise RequestError("the body has more items than may be looked at") from None
        return value

    def overlay(self, root: Any) -> Mapping[str, Any]:
        """Return the mapping that is laid over a body: the value of the tree."""
        found = self.value(root)
        return found if isinstance(found, Mapping) else {}


class RequestTemplate(NamedTuple):
    """A whole request as a tree.

    Attributes:
        body: the JSON body; None if there is a form.
        form: the fields of a multipart form.
        query: parameters by name, added to the query of the upstream's URL.
        headers: headers by name, added to the upstream's headers.
    """

    body: Tree | None
    form: Tree | None
    query: Mapping[str, Tree]
    headers: Mapping[str, Tree]

    def written(self, root: Any) -> Written:
        """Return the request that results from the tree.

        Raises:
            RequestError: a value of the client cannot be put into a header.
        """
        query = {
            name: _as_text(value)
            for name, tree in self.query.items()
            if (value := tree.value(root)) is not None
        }
        return Written(
            self.body.value(root) if self.body else None,
            form=dict(self.form.overlay(root)) if self.form else None,
            query=query,
            headers=self._headers(root),
        )

    def _headers(self, root: Any) -> dict[str, str]:
        found = {}
        for name, tree in self.headers.items():
            if (value := tree.value(root)) is None:
                continue
            text = _as_text(value).strip(" \t")
            if not _HEADER_VALUE.fullmatch(text):
                raise RequestError("holds what no header can", field=f"headers.{name}")
            found[name] = text
        return found


def is_long_form(tree: Any) -> bool:
    """Return whether the tree is a mapping with `body` or `form` and otherwise only `query` and `headers`."""
    if not isinstance(tree, Mapping) or not tree.keys() <= _LONG_FORM:
        return False
    return ("body" in tree) != isinstance(tree.get("form"), Mapping)


def compile_request(tree: Any, report: Report, report_key: Report | None = None) -> RequestTemplate:
    """Compile the tree of a request; faults are reported with their path in the tree.

    Args:
        tree: the body, or the long form.
        report: called for values that cannot be compiled or are not allowed at their place.
        report_key: called for faulty keys; default: `report`.
    """
    if not is_long_form(tree):
        return RequestTemplate(compile_tree(tree, report), None, {}, {})
    parts = {name: _part(tree, name, report) for name in ("query", "headers")}
    for name, item in parts["headers"].items():
        _check_header(name, item, report, report_key or report)
    return RequestTemplate(
        compile_tree(tree["body"], report, ("body",)) if "body" in tree else None,
        compile_tree(tree["form"], report, ("form",)) if "form" in tree else None,
        parts["query"],
        parts["headers"],
    )


def compile_tree(tree: Any, report: Report, place: tuple[str | int, ...] = ()) -> Tree:
    """Compile a tree of values; `headers.x-user` is read as `headers."x-user"`."""
    return Tree(compile_template(_quoted(tree), _NO_NAMES, report, place), tree)


def names_read(tree: Tree) -> set[tuple[str, ...]]:
    """Return the beginnings of the paths that a tree's expressions read, such as `("headers", "x-user")`."""
    return {
        tuple(str(step) for step in path[:2])
        for expression in tree.template.expressions
        for path in expression.reads.values | expression.reads.kinds
    }


def leaves_of(tree: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts of a tree that hold expressions, each with its path."""
    if isinstance(tree, str):
        if "${{" in tree:
            yield place, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from leaves_of(value, (*place, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from leaves_of(value, (*place, index))


def _part(tree: Mapping[str, Any], name: str, report: Report) -> dict[str, Tree]:
    part = tree.get(name, {})
    if not isinstance(part, Mapping):
        report((name,), "must be a mapping")
        return {}
    return {str(key): compile_tree(value, report, (name, key)) for key, value in part.items()}


def _check_header(name: str, tree: Tree, report: Report, report_key: Report) -> None:
    place = ("headers", name)
    if not TOKEN.fullmatch(name):
        report_key(place, "must be an HTTP token: letters, digits and !#$%&'*+-.^_`|~")
    elif _OF_CONNECTION.fullmatch(name):
        report_key(place, "this header belongs to the connection: the gateway writes it itself")
    elif not tree.template.is_literal and _FORBIDDEN.fullmatch(name):
        report(place, "cannot be set from a client's values")
    elif tree.template.is_literal and not isinstance(tree.source, str):
        report(place, "must be a string; put it in quotes")
    elif tree.template.is_literal and not _HEADER_VALUE.fullmatch(tree.source):
        report(place, "must be printable ASCII")


def _quoted(tree: Any) -> Any:
    """Return the tree with quotes around header names that contain a hyphen."""
    if isinstance(tree, str):
        return _EXPRESSION.sub(
            lambda found: _HYPHENATED.sub(lambda name: f'headers."{name[1].lower()}"', found[0]), tree
        )
    if isinstance(tree, Mapping):
        return {key: _quoted(value) for key, value in tree.items()}
    return [_quoted(item) for item in tree] if isinstance(tree, list) else tree


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else write_json_text(value)


def overlay_root(request: Request, around: Mapping[str, Any]) -> dict[str, Any]:
    """Return the root value for the expressions in a tree that is laid over a body.

    Args:
        request: the canonical request: its fields are at the root, and win over those of the client's body.
        around: the other names; they include `body` if the body is known.
    """
    body = around.get("body")
    fields = body if isinstance(body, Mapping) else request.get("extra", {})
    return {**fields, **request, **around, "request": request}
