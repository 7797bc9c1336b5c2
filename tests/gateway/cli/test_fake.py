"""`streamweir fake` as a user runs it."""

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
from places import RECORDED
from streamweir_gateway.fake import FAULTS


@contextmanager
def faking(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str, list[str]]]:
    """A running fake backend on a free port, its URL and the curl lines that it printed."""
    with started("fake", "--listen", "127.0.0.1:0", "--pace", "off", *arguments) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().decode().strip()]
        while not lines[-1].startswith("Ctrl-C"):
            lines.append(process.stdout.readline().decode().strip())
            assert lines[-1], "it ended"
        found = re.search(r"http://\S+", lines[0])
        assert found
        yield process, found[0], [line for line in lines if line.startswith("curl")]


def test_fake_with_list_prints_every_fault() -> None:
    done = run("fake", "--list")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert all(f"  {kind.example} " in text for kind in FAULTS.values())
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_fake_prints_commands_that_work() -> None:
    with faking("--dialect", "ragflow") as (_, _url, lines):
        done = [
            subprocess.run(shlex.split(line), capture_output=True, timeout=30, check=False) for line in lines
        ]
    assert len(done) == 2
    assert (done[0].returncode, b"workflow_finished" in done[0].stdout) == (0, True)
    assert (done[1].returncode, done[1].stdout.count(b"data: ")) == (18, 3)  # curl: a partial file


def test_fake_plays_its_faults_and_logs_them() -> None:
    with faking("--dialect", "legacy", "--fault", "stop@3", "--fault", "badjson@2") as (process, url, _):
        body = httpx.post(f"{url}/chat", json={}).text
        assert body.count("data: ") == 5
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == "POST /chat: legacy as sse (stop@3, badjson@2)"


def test_fake_with_a_recorded_body_replays_it() -> None:
    file = RECORDED / "legacy" / "happy.sse"
    with faking("--dialect", "legacy", "--replay", str(file)) as (_, url, _lines):
        assert httpx.get(url).content == file.read_bytes()


def test_fake_writes_the_requested_dialect() -> None:
    asked = ("--dialect", "ragflow", "--option", "form=openai", "--framing", "ndjson", "--events", "100")
    with faking(*asked) as (_, url, _lines):
        answer = httpx.get(url)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "chat.completion.chunk" in answer.text
    assert len(answer.text.splitlines()) > 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_fake_after_a_signal_stops(number: signal.Signals) -> None:
    with faking("--fault", "stall@0") as (process, url, _), httpx.stream("GET", url):
        process.send_signal(number)
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fault", "ctu@4"], "unknown fault 'ctu'; did you mean 'cut'? (streamweir fake --list"),
        (["--fault", "cut@4", "--fault", "stall@5"], "contradict each other"),
        (["--dialect", "ragflwo"], "did you mean 'ragflow'?"),
        (["--events", "many"], "events must be a number"),
        (["--pace", "fast"], "pace must be a duration"),
        (["--option", "form=x", "--dialect", "ragflow"], "ragflow.form cannot be 'x'"),
        (["--listen", "0.0.0.0:9000"], "must be a loopback address"),
        (["--listen", "9000"], "must be a loopback address"),
    ],
)
def test_fake_with_a_wrong_command_line_fails(arguments: list[str], told: str) -> None:
    done = run("fake", *arguments)
    assert done.returncode == 2
    assert told in done.stderr.decode()


def test_fake_with_unusable_options_fails(tmp_path: Path) -> None:
    done = run("fake", "--replay", str(tmp_path / "nothing.sse"))
    assert (done.returncode, b"nothing.sse: No such file" in done.stderr) == (1, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("fake", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (done.returncode, b"Address already in use" in done.stderr) == (1, True)
