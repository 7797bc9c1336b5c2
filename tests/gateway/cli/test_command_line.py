"""The command `streamweir` as a whole: help, versions, exit codes, and what the library alone can do."""

import subprocess
import sys

import pytest

import streamweir
from command_line import run, started
from places import RECORDED

COMMANDS = ["convert", "detect", "dialects", "serve", "check", "fake", "learn", "record", "replay"]


def test_help_teaches() -> None:
    done = run("--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "examples:" in text
    assert all(f"    {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert f"  streamweir {command}" in text
    assert max(map(len, text.splitlines())) <= 110


def test_says_its_version() -> None:
    assert run("--version").stdout.decode().strip() == f"streamweir {streamweir.__version__}"


def test_nothing_to_do_is_a_wrong_command_line() -> None:
    done = run()
    assert done.returncode == 2
    assert b"COMMAND" in done.stderr


@pytest.mark.parametrize(
    ("word", "told"), [("cnovert", "did you mean 'convert'?"), ("dance", "known: serve")]
)
def test_an_unknown_command_is_told_with_a_suggestion(word: str, told: str) -> None:
    done = run(word)
    assert done.returncode == 2
    assert told in done.stderr.decode()


def test_the_library_alone_converts_detects_lists_and_fakes() -> None:
    stream = str(RECORDED / "legacy" / "happy.sse")
    for command in (f"convert {stream}", f"detect {stream}", "dialects", "dialects legacy", "fake --list"):
        done = without_gateway(*command.split())
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.parametrize("command", ["serve config.yaml", "check config.yaml"])
def test_the_gateway_says_what_to_install(command: str) -> None:
    name, *arguments = command.split()
    done = without_gateway(name, *arguments)
    assert done.returncode == 1
    told = f"streamweir: {name} needs the extra 'gateway': pip install 'streamweir[gateway]'"
    assert done.stderr.decode().strip() == told


def test_a_reader_that_leaves_is_no_news() -> None:
    with started("dialects", "standard") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=20) == 1
        assert process.stderr.read() == b""


def without_gateway(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command where none of the packages of the extra can be imported."""
    missing = ["httpx", "httptools", "pydantic", "ruamel", "structlog", "uvicorn", "uvloop"]
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({missing!r}))\n"
        f"from streamweir_gateway.cli import main\nsys.exit(main({list(arguments)!r}))"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
