"""docs/troubleshooting.md has every hint, code and reason that an operator or a client may read."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

from cases import case, for_each
from places import DOCS, ROOT
from streamweir.errors import CODES, TOOL_CODES, WARNINGS, Reason
from streamweir.refusal_codes import REFUSALS

PAGE: Final = (DOCS / "troubleshooting.md").read_text()
WORDS: Final = " ".join(PAGE.split())
SOURCES: Final = (
    ROOT / "middleware/streamweir/translation/operator_hint.py",
    ROOT / "gateway/streamweir_gateway/runs/operator_hints.py",
    ROOT / "gateway/streamweir_gateway/observability/cookie_hint.py",
)
"""The modules whose texts are hints, docstrings aside."""

STATUSES: Final = {row.status for row in REFUSALS.values()} | {row.status for row in CODES.values()}


def hint_texts(source: Path) -> Iterator[str]:
    """Yield the texts of several words in the code of a module: the constant parts of its hints."""
    tree = ast.parse(source.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            text = node.value.strip(" ;,.:")
            if re.search(r"[a-z] [a-z]", text):
                yield text


HINTS: Final = sorted({text for source in SOURCES for text in hint_texts(source)})


def test_hints_are_found_in_the_code() -> None:
    assert "connection refused" in HINTS
    assert "ended within a tool call" in HINTS
    assert len(HINTS) > 35


@for_each("hint", HINTS)
def test_page_has_hint(hint: str) -> None:
    assert hint in WORDS


@for_each("word", [*REFUSALS, *CODES, *TOOL_CODES, *WARNINGS, *get_args(Reason)])
def test_page_has_code_and_reason(word: str) -> None:
    assert f"`{word}`" in PAGE


@for_each("code", [*REFUSALS])
def test_page_has_status_of_refusal(code: str) -> None:
    row = re.search(rf"^\| {REFUSALS[code].status} \|.*`{code}`.*$", PAGE, re.MULTILINE)
    assert row is not None


@for_each("title", ["A status in place of a stream", "Every hint", "A page cannot read it"])
def test_rows_of_table_have_cause_and_cure(title: str) -> None:
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 5
    for row in rows:
        with case(row[0]):
            assert len(row) == len(rows[0])
            assert all(cell.strip() for cell in row)


def test_page_has_each_status_in_ascending_order() -> None:
    shown = [int(number) for number in re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE)]
    assert shown == sorted(shown)
    assert {*shown} >= STATUSES


def test_readme_names_the_page() -> None:
    assert "(docs/troubleshooting.md)" in (ROOT / "README.md").read_text()
