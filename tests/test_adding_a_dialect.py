"""docs/adding-a-dialect.md, followed to the letter under a name that does not exist, gives a dialect."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import ROOT

PAGE = (ROOT / "docs/adding-a-dialect.md").read_text()
BIN = Path(sys.executable).parent
COPIED = ("middleware", "gateway", "tests", "docs")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*_cache")
FOLDERS = ("middleware/streamweir/dialects/zeta", "tests/dialects/zeta")
TESTS = (
    "tests/test_recorded_streams.py",
    "tests/test_written_streams.py",
    "tests/test_documentation.py",
    "tests/test_imports.py",
    "tests/library/codec",
    "tests/library/dialects",
    "tests/library/translation",
    "tests/gateway/cli/test_dialects.py",
)
CHOSEN = "zeta or nothing_is_recorded or of_the_dialects or page_and_a_row or test_imports or test_dialects"
"""What names the dialect, and what looks at all of them at once."""
FEW = ("--hypothesis-profile", "fast")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def blocks() -> Iterator[tuple[str, str]]:
    """The path and the text of each file that the page shows."""
    found = re.findall(r"^`(\S+/acme/\S+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for path, text in found:
        yield renamed(path), renamed(text)


def renamed(text: str) -> str:
    return text.replace("acme", "zeta").replace("Acme", "Zeta")


class Checkout:
    """A copy of the repository in which commands run against the copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=LEFT_OUT)
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, root / path.name)

    def run(self, *command: str) -> str:
        path = [str(self.root / place) for place in ("middleware", "gateway")]
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, *arguments: str) -> str:
        return self.run(sys.executable, *arguments)

    def make(self, line: str) -> str:
        """Run a command of the page, with the tools of this environment."""
        return self.run(*shlex.split(line), f"BIN={BIN}", "--assume-old=.venv/.ready")

    def files(self) -> dict[str, str]:
        found = (path for folder in FOLDERS for path in (self.root / folder).iterdir() if path.is_file())
        return {str(path.relative_to(self.root)): path.read_text() for path in found}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def commands() -> list[str]:
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [renamed(line) for line in block.splitlines()]


def check(checkout: Checkout) -> None:
    """Everything but types, and the tests that know nothing of dialects."""
    *writing, checking = commands()
    assert checking == "make check"
    for line in writing:
        checkout.make(line)
    checkout.run(str(BIN / "ruff"), "check", "--no-cache", FOLDERS[0])
    checkout.run(str(BIN / "ruff"), "format", "--no-cache", "--check", FOLDERS[0], "docs")
    checkout.python("-m", "streamweir_gateway", "check", "config.yaml")
    checkout.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *FEW, *TESTS, "-k", CHOSEN)
    assert "zeta" in checkout.python("-m", "streamweir_gateway", "dialects")


def test_what_the_page_shows_passes_every_check(checkout: Checkout) -> None:
    for path, text in blocks():
        file = checkout.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    check(checkout)
    checkout.run(str(BIN / "mypy"), FOLDERS[0])


def test_a_dialect_that_is_only_read_is_as_welcome(checkout: Checkout) -> None:
    """Begun by the command, which writes what the page shows."""
    checkout.python("-m", "streamweir_gateway", "dialects", "--new", "zeta")
    assert checkout.files() == dict(blocks())
    folder = checkout.root / FOLDERS[0]
    (folder / "encode.py").unlink()
    declaration = folder / "__init__.py"
    declaration.write_text(declaration.read_text().replace('    ".encode:ZetaEncoder",\n', ""))
    check(checkout)


def test_a_folder_is_not_written_over(checkout: Checkout) -> None:
    for name, problem in (
        ("legacy", "there is a dialect 'legacy' already"),
        ("auto", "cannot be the name of a dialect"),
        ("3com", "cannot be the name of a package"),
    ):
        with pytest.raises(AssertionError, match=problem):
            checkout.python("-m", "streamweir_gateway", "dialects", "--new", name)
