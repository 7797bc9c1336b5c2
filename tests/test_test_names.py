"""Names of tests read `test_<unit>_<condition>_<result>`.

A test cannot tell a unit from a condition. It refuses names that begin without a unit, are too short for a
result, or have a word by which they have to be read twice. CONTRIBUTING.md has the rule.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cases import for_each
from places import ROOT

FILES = [
    path for path in sorted((ROOT / "tests").rglob("*.py")) if not any(p.startswith(".") for p in path.parts)
]
NO_UNIT = re.compile(
    r"test_(?:an?|the|its?|what|who|where|whose|there|these|this|that|those|of|no|nothing|nobody|none|in|on|at|from|how|nor"
    r"|such|so|some|others|both|only|after|behind|before|outside"
    r"|prints|writes|explains|plays|replays|gives|does|is(?!_[a-z]+_with_)|has|leaks|refuses|ends|fails|says|follows|folds)_"
)
TWICE = re.compile(
    r"_(?:nobody|somebody|whoever|whatever|what|stands?|told|tells?|telling|says?|said|saying|hears"
    r"|go_on|goes_on|as_it_came|as_they_came)(?![a-z])"
)


def fault_of(name: str) -> str | None:
    """The rule that the name of a test breaks."""
    if NO_UNIT.match(name):
        return "begins without a unit"
    if TWICE.search(name):
        return "has a word to be read twice"
    return None if name.count("_") >= 3 else "is too short for a unit, a condition and a result"


def names_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


FAULTS = {
    "test_the_reader_keeps_ids": "begins without a unit",
    "test_prints_all_the_names": "begins without a unit",
    "test_reader_keeps_what_it_gets": "has a word to be read twice",
    "test_reader_goes_on_after_a_fault": "has a word to be read twice",
    "test_reader_works": "is too short for a unit, a condition and a result",
    "test_reader_of_a_cut_body_keeps_ids": None,
}


@for_each("name", FAULTS)
def test_fault_of_a_name_is_found(name: str) -> None:
    assert fault_of(name) == FAULTS[name]


def test_names_in_all_files_begin_with_a_unit_and_have_a_result() -> None:
    names = [(path, name) for path in FILES for name in names_of(path)]
    assert len(names) > 2000
    assert [
        f"{path.relative_to(ROOT)}: {name} {fault_of(name)}" for path, name in names if fault_of(name)
    ] == []
