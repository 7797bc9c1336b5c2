"""Files and functions stay small.

A file over the limit is two concepts: it gets a better cut. The figures for functions are those of today.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from places import ROOT
from source_tree import MODULES

MAX_FILE_LINES = 400
MAX_BODY_LINES = 42
SMALL_BODY_LINES = 10
MIN_SMALL_SHARE = 0.78

CLIENTS = [
    *(ROOT / "clients/typescript/src").rglob("*.ts*"),
    *(path for path in (ROOT / "tests/clients").rglob("*") if path.suffix in (".py", ".mjs", ".ts")),
]


def body_lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The number of lines of each function, without its signature and docstring, and its place."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
            last = node.end_lineno or node.lineno
            yield last - body[0].lineno + 1, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def test_files_of_the_product_and_its_clients_have_at_most_400_lines() -> None:
    files = [*MODULES.values(), *CLIENTS]
    assert len(files) > 500
    lines = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in files}
    assert {name: count for name, count in lines.items() if count > MAX_FILE_LINES} == {}


def test_functions_of_the_product_are_small() -> None:
    sizes = [size for path in MODULES.values() for size in body_lines_of(path)]
    lines = [count for count, _ in sizes]
    assert [place for count, place in sizes if count > MAX_BODY_LINES] == []
    assert median(lines) <= 4
    assert sum(count < SMALL_BODY_LINES for count in lines) / len(lines) >= MIN_SMALL_SHARE
