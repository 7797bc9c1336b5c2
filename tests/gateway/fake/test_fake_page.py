"""docs/fake-backend.md tells the truth: its table is the program's, its commands run."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from command_line import run, started
from places import DOCS
from streamweir_gateway.fake.faults import FAULTS

PAGE = (DOCS / "fake-backend.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def fault_tables() -> Iterator[str]:
    """The table of faults as the page has it, line by line."""
    for group, kinds in groupby(FAULTS.values(), key=lambda kind: kind.group):
        yield f"### {group}"
        yield ""
        yield "| fault | example | what happens |"
        yield "|---|---|---|"
        yield from (f"| `{kind.name}` | `{kind.example}` | {kind.explanation} |" for kind in kinds)
        yield ""


def test_table_of_the_page_equals_that_of_the_command() -> None:
    assert PAGE.endswith("\n".join(fault_tables()).rstrip() + "\n")


def test_page_names_every_option() -> None:
    options = set(re.findall(r"^  (--[a-z]+)", run("fake", "--help").stdout.decode(), re.MULTILINE))
    assert [option for option in sorted(options) if f"`{option}" not in PAGE] == []


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_commands_of_the_page_run() -> None:
    (lines,) = blocks("sh")
    with started("fake", "--listen", "127.0.0.1:0") as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().split()[-1]
        done = [
            subprocess.run(
                shlex.split(line.replace("http://127.0.0.1:9000", url)),
                capture_output=True,
                timeout=30,
                check=True,
            ).stdout
            for line in lines.splitlines()
        ]
    assert b'"type":"done"' in done[0]
    assert b'"error"' in done[1]
    assert done[2].count(b"chat.completion.chunk") > 100


def test_configuration_of_the_page_is_good(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(blocks("yaml")[0])
    done = run("check", str(file))
    assert done.returncode == 0, done.stderr
