"""`streamweir record` and `streamweir replay` as a user runs them: real HTTP, real files."""

import json
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from command_line import run, started
from places import RECORDED
from ports import free_port
from streams import events_of
from streamweir.capture import Capture, load

BODY = (RECORDED / "legacy" / "happy.sse").read_bytes()


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """A backend that a command runs, and its URL."""
    with started(*arguments, "--listen", "127.0.0.1:0") as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline().decode())
        assert found
        yield found[0]


def recorded(url: str, file: Path, *arguments: str) -> tuple[int, Capture]:
    done = run("record", *arguments, url, "-o", str(file))
    (found,) = load(file)
    return done.returncode, found


def test_replay_of_a_recorded_stream_gives_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "one.capture.jsonl"
    with serving("fake", "--dialect", "legacy", "--replay", str(RECORDED / "legacy" / "happy.sse")) as url:
        code, found = recorded(
            f"{url}/chat?key=abcdef99", file, "-d", '{"message": "Hi"}', "-H", "X-Api-Key: hunter22"
        )
    assert code == 0
    assert found.body == BODY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"hunter22" not in file.read_bytes()
    assert b"abcdef99" not in file.read_bytes()
    assert ["x-api-key", "[redacted]"] in found.requests[0]["headers"]
    assert found.requests[0]["body"] == {"data": '{"message": "Hi"}'}
    with serving("replay", "--speed", "max", str(file), str(RECORDED / "legacy" / "happy.sse")) as url:
        first, second = (httpx.post(url, json={}) for _ in range(2))
    assert first.content == second.content == BODY
    assert first.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_converting_a_capture_gives_its_events(tmp_path: Path) -> None:
    file = tmp_path / "one.capture.jsonl"
    with serving("fake", "--dialect", "ragflow", "--pace", "1ms", "--fault", "cut@9") as url:
        code, found = recorded(url, file, "-d", "{}")
    assert code == 1
    converted = run("convert", "--framing", "ndjson", str(file))
    types = [(event["type"], event["data"]) for event in found.events[:-1]]
    assert [(event["type"], event["data"]) for event in events_of(converted.stdout)[:-1]] == types
    assert found.end is not None
    assert found.end["code"] == "UPSTREAM_TRUNCATED"
    piped = run("convert", "--framing", "json", "--request-id", "req_other", input=file.read_bytes())
    assert json.loads(piped.stdout)["request_id"] == "req_other"
    assert run("detect", str(file)).stdout.decode().strip() == "ragflow"
    with serving("replay", "--speed", "max", str(file)) as url, pytest.raises(httpx.RemoteProtocolError):
        httpx.post(url, json={})


def test_replayed_reads_keep_their_distance_in_time(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"kind": "capture", "version": 1, "id": "req_1", "began": "2026-11-22T08:00:00Z"},
        {
            "kind": "response",
            "t": 10,
            "side": "upstream",
            "status": 201,
            "headers": [["content-type", "text/x"]],
        },
        {"kind": "read", "t": 20, "n": 0, "attempt": 1, "data": "a\n"},
        {"kind": "read", "t": 620, "n": 1, "attempt": 1, "data": "b\n"},
        {"kind": "attempt", "t": 621, "attempt": 1, "ended": "eof"},
    ]
    file = tmp_path / "two"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for speed, least, most in (("1", 0.55, 5.0), ("4", 0.12, 0.5)):
        with serving("replay", "--speed", speed, str(file)) as url, httpx.stream("GET", url) as answer:
            assert (answer.status_code, answer.headers["content-type"]) == (201, "text/x")
            arrived = [(time.monotonic(), piece) for piece in answer.iter_raw()]
        assert [piece for _, piece in arrived] == [b"a\n", b"b\n"]
        assert least < arrived[1][0] - arrived[0][0] < most


def test_record_of_a_refusal_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "no.capture.jsonl"
    with serving("fake", "--fault", "status:429") as url:
        code, found = recorded(url, file)
    assert (code, found.responses[0]["status"]) == (1, 429)
    assert found.end is not None
    assert (found.end["status"], found.end["code"]) == ("error", "RATE_LIMITED")
    with serving("replay", "--speed", "max", str(file)) as url:
        assert httpx.get(url).status_code == 429
    code, found = recorded("http://127.0.0.1:9/", tmp_path / "nobody.capture.jsonl")
    assert code == 1
    assert found.end is not None
    assert found.end["code"] == "UPSTREAM_UNREACHABLE"


def test_record_of_an_address_without_a_backend_prints_the_cause(tmp_path: Path) -> None:
    done = run("record", f"http://127.0.0.1:{free_port()}/", "-o", str(tmp_path / "nobody.capture.jsonl"))
    assert done.returncode == 1
    assert b"(UPSTREAM_UNREACHABLE): no connection: Connect call failed" in done.stderr


@pytest.mark.parametrize("option", ["--idle", "--speaks"])
def test_record_with_a_wrong_option_keeps_the_file(tmp_path: Path, option: str) -> None:
    file = tmp_path / "kept.capture.jsonl"
    file.write_text("kept")
    assert run("record", option, "martian", "-o", str(file), "http://127.0.0.1:9/").returncode == 2
    assert file.read_text() == "kept"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["record", "ftp://x/"], "http://"),
        (["record", "-H", "no header", "http://127.0.0.1/"], "NAME: VALUE"),
        (["record", "--idle", "long", "http://127.0.0.1/"], "--idle"),
        (["record", "--speaks", "martian", "http://127.0.0.1/"], "martian"),
        (["replay", "--speed", "0", "x"], "--speed 0"),
        (["replay", "--listen", "0.0.0.0:1", "x"], "loopback"),
    ],
)
def test_record_with_a_wrong_command_line_fails(arguments: list[str], why: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert why in done.stderr.decode()


def test_record_of_a_websocket_is_refused() -> None:
    done = run("record", "ws://127.0.0.1:9/chat")
    assert done.returncode == 2
    assert b"a WebSocket cannot be recorded" in done.stderr
