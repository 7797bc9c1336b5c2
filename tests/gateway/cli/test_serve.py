"""`streamweir serve` as a user runs it."""

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from command_line import run, started

CONFIG = """\
endpoints:
  /legacy:
    upstream: demo:legacy
    answers: [standard, legacy]
  /chat/{id}:
    upstream: http://127.0.0.1:9/chat
    methods: [PUT]
  /events:
    upstream: http://127.0.0.1:9/events
    methods: [GET]
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    return str(file)


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], list[str]]]:
    """A running gateway on a free port, and the lines that it printed when it was ready."""
    with started("serve", "--listen", "127.0.0.1:0", *arguments) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("Another protocol"):
            line = process.stdout.readline().decode()
            assert line, "the gateway ended"
            lines.append(line.rstrip("\n"))
        yield process, lines


def test_serve_prints_every_endpoint_with_a_command(config: str) -> None:
    with serving(config) as (_, lines):
        assert re.match(r"streamweir \S+ listens on http://127\.0\.0\.1:\d+ ", lines[0])
        url = lines[0].split()[4]
        assert "/legacy: demo:legacy -> standard, legacy" in lines
        commands = [shlex.split(line) for line in lines if line.strip().startswith("curl")]
        assert [command[:4] for command in commands] == [
            ["curl", "-N", f"{url}/legacy", "-H"],
            ["curl", "-N", "-X", "PUT"],
            ["curl", "-N", "-X", "GET"],
        ]
        assert f"{url}/chat/id" in commands[1]
        assert isinstance(json.loads(commands[0][-1])["message"], str)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_serve_prints_a_command_that_works(config: str) -> None:
    with serving(config) as (_, lines):
        command = next(line for line in lines if "curl" in line)
        done = subprocess.run(command, shell=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert b'"status":"completed"' in done.stdout


def test_demo_that_fails_gives_a_safe_error(config: str) -> None:
    with serving(config) as (_, lines):
        answer = httpx.post(f"{lines[0].split()[4]}/legacy", json={"message": "fail"}, timeout=30)
    assert '"status":"error"' in answer.text
    assert "sk-demo" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_after_a_signal_stops(number: signal.Signals, config: str) -> None:
    with serving(config) as (process, _):
        process.send_signal(number)
        assert process.wait(timeout=20) == 0


def test_serve_without_a_file_reads_that_of_the_folder(config: str) -> None:
    with started("serve", "--listen", "127.0.0.1:0", cwd=Path(config).parent) as process:
        assert process.stdout is not None
        assert b"listens on" in process.stdout.readline()


def test_serve_with_a_bad_file_prints_all_problems(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("endpoints:\n  /chat: {upstrem: x}\nlistn: 1\n")
    done = run("serve", str(file))
    assert done.returncode == 78
    assert done.stdout == b""
    assert len(done.stderr.decode().splitlines()) == 2


def test_serve_with_a_missing_file_fails(tmp_path: Path) -> None:
    done = run("serve", cwd=tmp_path)
    assert done.returncode == 78
    assert done.stderr.decode().strip() == "config.yaml: cannot be read: No such file or directory"


@pytest.mark.parametrize("address", ["8080", "127.0.0.1", "0.0.0.0:8080", "127.0.0.1:99999"])
def test_listen_option_is_checked_like_the_key_of_the_file(address: str, config: str) -> None:
    done = run("serve", config, "--listen", address)
    assert done.returncode == 2
    assert f"--listen {address}: ".encode() in done.stderr


def test_serve_on_an_address_in_use_fails(config: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", config, "--listen", address)
    assert done.returncode == 1
    assert done.stderr.decode().strip() == f"streamweir: cannot listen on {address}: Address already in use"
