"""The command `streamweir` as a whole: help, versions, exit codes, and what the library alone can do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamweir
from command_line import COMMAND, run, started
from places import RECORDED

STREAM = RECORDED / "legacy" / "happy.sse"

COMMANDS = ["convert", "detect", "dialects", "serve", "check", "fake", "learn", "record", "replay"]


def test_help_option_prints_examples_and_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "examples:" in text
    assert all(f"    {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_examples(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert f"  streamweir {command}" in text
    assert max(map(len, text.splitlines())) <= 110


def test_version_option_prints_the_version() -> None:
    assert run("--version").stdout.decode().strip() == f"streamweir {streamweir.__version__}"


def test_command_line_without_a_command_fails() -> None:
    done = run()
    assert done.returncode == 2
    assert b"COMMAND" in done.stderr


@pytest.mark.parametrize(
    ("word", "told"), [("cnovert", "did you mean 'convert'?"), ("dance", "known: serve")]
)
def test_unknown_command_fails_with_a_suggestion(word: str, told: str) -> None:
    done = run(word)
    assert done.returncode == 2
    assert told in done.stderr.decode()


def test_command_line_without_the_gateway_converts_detects_lists_and_fakes() -> None:
    stream = str(RECORDED / "legacy" / "happy.sse")
    for command in (f"convert {stream}", f"detect {stream}", "dialects", "dialects legacy", "fake --list"):
        done = without_gateway(*command.split())
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.parametrize("command", ["serve config.yaml", "check config.yaml"])
def test_serve_without_the_gateway_names_the_extra(command: str) -> None:
    name, *arguments = command.split()
    done = without_gateway(name, *arguments)
    assert done.returncode == 1
    told = f"streamweir: {name} needs the extra 'gateway': pip install 'streamweir[gateway]'"
    assert done.stderr.decode().strip() == told


def test_reader_that_leaves_ends_the_command_with_a_word() -> None:
    with started("dialects", "standard") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=20) == 1
        assert process.stderr.read() == b"streamweir: nobody reads the output any longer\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "command",
    ["--help", "help check", "version", "dialects", f"convert {STREAM}", f"detect {STREAM}", "check"],
)
def test_full_disk_ends_the_command_with_a_word(command: str, unbuffered: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("endpoints: {/a: {upstream: 'http://127.0.0.1:9'}}")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("streamweir: ")
    assert "No space left on device" in line


@pytest.mark.parametrize("arguments", [["help"], ["help", "check"], ["version"], ["-V"], ["-h"]])
def test_output_of_a_command_is_on_standard_output(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"streamweir" in done.stdout


@pytest.mark.parametrize("option", ["--port", "--host"])
def test_serve_names_the_option_for_its_address(option: str) -> None:
    done = run("serve", option, "9000")
    assert done.returncode == 2
    assert b"--listen HOST:PORT" in done.stderr


def test_library_as_a_module_names_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "streamweir"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"`streamweir`" in done.stderr


def without_gateway(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command where none of the packages of the extra can be imported."""
    missing = ["httpx", "httptools", "pydantic", "ruamel", "uvicorn", "uvloop"]
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({missing!r}))\n"
        f"from streamweir_gateway.cli import main\nsys.exit(main({list(arguments)!r}))"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize(
    "command", ["serve config.yaml", "fake --listen 127.0.0.1:0", f"replay --listen 127.0.0.1:0 {STREAM}"]
)
def test_full_disk_does_not_stop_a_command_that_serves(command: str, tmp_path: Path) -> None:
    text = "{listen: '127.0.0.1:0', endpoints: {/a: {upstream: 'http://127.0.0.1:9', speaks: legacy}}}"
    (tmp_path / "config.yaml").write_text(text)
    with (
        open("/dev/full", "wb") as full,
        subprocess.Popen(
            [*COMMAND, *command.split()], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path
        ) as process,
    ):
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line == b"streamweir: the output cannot be written: No space left on device\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.3)
        process.terminate()
        assert process.wait(timeout=20) == 0
        assert process.stderr.read().count(b"Traceback") == 0


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(
    "command",
    [
        "check -",
        "convert",
        "learn -",
        "request --from standard --to legacy",
        "record -d @- http://127.0.0.1:1/",
    ],
)
def test_closed_input_ends_the_command_with_a_word(command: str) -> None:
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, *command.split()]
    ended = subprocess.run(shell, capture_output=True, timeout=60, check=False)
    assert ended.returncode in (1, 78)
    assert b"read: Bad file descriptor" in ended.stderr or b"input: Bad file descriptor" in ended.stderr
    assert b"Traceback" not in ended.stderr
