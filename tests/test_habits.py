"""The habits hold: what CI runs is what the README says and more, and the commands that pages name exist."""

import os
import re
import subprocess

import pytest

from places import ROOT
from source_tree import PACKAGES

PAGES = ["README.md", "CONTRIBUTING.md", "bench/README.md"]
MAKEFILE = (ROOT / "Makefile").read_text()


def recipe(*arguments: str) -> str:
    """What `make` would run, as if the environment stood."""
    command = ["make", "--dry-run", "--assume-old=.venv/.ready", *arguments]
    bare = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=ROOT, env=bare, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout


def test_ci_runs_the_commands_that_the_readme_names() -> None:
    assert re.findall(r"\bmake ([a-z-]+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE) == [
        "check",
        "long",
        "clients",
        "real",
        "browser",
        "image",
    ]
    checked = recipe("check")
    assert {*recipe("test").splitlines()} <= {*checked.splitlines()}  # parts of it run beside each other
    for tool in ("ruff format --check", "ruff check", "mypy"):
        assert tool in checked


def test_options_reach_pytest() -> None:
    assert "-k retries" in recipe("test", "ARGS=-k retries")


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_pages_name_exist(page: str) -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)(?=`| ARGS|$|  )", (ROOT / page).read_text(), re.MULTILINE))
    assert named
    assert not [name for name in named if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)]


@pytest.mark.parametrize(("tests", "package"), [("library", "streamweir"), ("gateway", "streamweir_gateway")])
def test_tests_lie_where_the_code_lies(tests: str, package: str) -> None:
    folders = {path.name for path in (ROOT / "tests" / tests).iterdir() if list(path.glob("test_*.py"))}
    assert len(folders) > 5
    assert not {name for name in folders if not (PACKAGES[package] / name / "__init__.py").exists()}
