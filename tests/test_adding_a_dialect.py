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
LEFT_OUT = shutil.ignore_patterns("*.pyc.*", ".*_cache")
"""Bytecode comes along, but for what is being written: it holds for files of the same time and size."""
FOLDERS = ("middleware/streamweir/dialects", "tests/dialects")
WHOLE, ONLY_READ = "zeta", "omicron"
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
CHOSEN = (
    f"{WHOLE} or {ONLY_READ} or nothing_is_recorded or of_the_dialects or page_and_a_row or endpoint_to_paste"
    " or (test_imports and not conformance_kit and not translating)"
    " or (test_dialects and not understood and not valid_stream and not read_again and not zip_file)"
)
"""What names the dialects, and what looks at all of them at once."""
FEW = ("--hypothesis-profile", "fast")
HERE = {"PYTHONDONTWRITEBYTECODE": "", "PYTEST_XDIST_AUTO_NUM_WORKERS": "0"}
"""These are few tests, and other workers run beside them."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def blocks(name: str) -> Iterator[tuple[str, str]]:
    """The path and the text of each file that the page shows, for a dialect of that name."""
    found = re.findall(r"^`(\S+/acme/\S+)`:\n\n(`{3,})\w+\n(.*?)^\2$", PAGE, re.MULTILINE | re.DOTALL)
    for path, _, text in found:
        yield renamed(path, name), renamed(text, name)


def renamed(text: str, name: str) -> str:
    return text.replace("acme", name).replace("Acme", name.title())


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
            env={**os.environ, **HERE, "PYTHONPATH": os.pathsep.join(path)},
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

    def folders(self, name: str) -> list[Path]:
        return [self.root / folder / name for folder in FOLDERS]

    def files(self, name: str) -> dict[str, str]:
        found = (path for folder in self.folders(name) for path in folder.iterdir() if path.is_file())
        return {str(path.relative_to(self.root)): path.read_text() for path in found}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def commands() -> list[str]:
    """The commands of the page, for both dialects at once."""
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [renamed(line, f"'{WHOLE} or {ONLY_READ}'") for line in block.splitlines()]


def row_of_the_readme(checkout: Checkout) -> None:
    """What the page asks for that no command does."""
    readme, above = checkout.root / "README.md", "| --- | --- | --- |\n"
    head, table, rest = readme.read_text().partition("## I run X")
    rows = "".join(f"| it | `/chat` | [`{name}`](docs/dialects/{name}.md) |\n" for name in (WHOLE, ONLY_READ))
    assert above in rest
    readme.write_text(head + table + rest.replace(above, above + rows, 1))


def check(checkout: Checkout) -> None:
    """Everything but the tests that know nothing of dialects."""
    *writing, checking = commands()
    assert checking == "make check"
    for line in writing:
        checkout.make(line)
    row_of_the_readme(checkout)
    folders = [str(checkout.folders(name)[0]) for name in (WHOLE, ONLY_READ)]
    checkout.run(str(BIN / "ruff"), "check", "--no-cache", *folders)
    checkout.run(str(BIN / "ruff"), "format", "--no-cache", "--check", *folders, "docs")
    checkout.run(str(BIN / "mypy"), *folders)
    checkout.python("-m", "streamweir_gateway", "check", "config.yaml")
    checkout.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *FEW, *TESTS, "-k", CHOSEN)
    listed = checkout.python("-m", "streamweir_gateway", "dialects")
    assert WHOLE in listed
    assert ONLY_READ in listed


def test_dialect_of_the_page_passes_every_check(checkout: Checkout) -> None:
    """Beside it is a dialect that is only read; begun by the command, which writes what the page shows."""
    checkout.python("-m", "streamweir_gateway", "dialects", "--new", ONLY_READ)
    assert checkout.files(ONLY_READ) == dict(blocks(ONLY_READ))
    only_read = checkout.folders(ONLY_READ)[0]
    (only_read / "encode.py").unlink()
    declaration = only_read / "__init__.py"
    encoder = f'    ".encode:{ONLY_READ.title()}Encoder",\n'
    assert encoder in declaration.read_text()
    declaration.write_text(declaration.read_text().replace(encoder, ""))
    for path, text in blocks(WHOLE):
        file = checkout.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    check(checkout)


def test_existing_folder_is_not_overwritten(checkout: Checkout) -> None:
    for name, problem in (
        ("legacy", "there is a dialect 'legacy' already"),
        ("auto", "cannot be the name of a dialect"),
        ("3com", "cannot be the name of a package"),
    ):
        with pytest.raises(AssertionError, match=problem):
            checkout.python("-m", "streamweir_gateway", "dialects", "--new", name)
