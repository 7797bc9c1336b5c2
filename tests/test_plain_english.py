"""Docstrings of product code avoid the words by which a sentence has to be read twice.

CONTRIBUTING.md has the rule. A test sees words only: most of the rule is for readers.
"""

import ast
import re
from collections.abc import Iterator

from cases import for_each
from source_tree import MODULES, PACKAGES

REFUSED = re.compile(
    r"""
    ^(?:[Ww]hat|[Ww]ho|[Ww]hatever|[Ww]hoever|[Ww]hose|none)\b  # a noun that begins a sentence or a field
    | \b(?:nobody|somebody|whoever|as\ (?:it|they)\ came|says\ nothing\ of)\b
    | \b(?<!there\ )(?:is|are)\ none\b(?!\ of)
    | \bstands?\b(?!-)
    """,
    re.VERBOSE | re.MULTILINE,
)


def room_of(module: str) -> str:
    package, _, rest = module.partition(".")
    folder = rest.split(".")[0]
    return folder if (PACKAGES[package] / folder).is_dir() and folder else package


ROOMS = sorted({room_of(module) for module in MODULES})


def docstrings_of(module: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, those of attributes and constants included."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield statement.lineno, value.value


@for_each("room", ROOMS)
def test_docstrings_of_a_room_have_no_refused_word(room: str) -> None:
    found = [
        f"{module}:{line}: {match[0]}"
        for module in MODULES
        if room_of(module) == room
        for line, text in docstrings_of(module)
        for match in [REFUSED.search(re.sub(r"(?m)^\s+(?:\w+: )?", "", text))]
        if match
    ]
    assert found == []
