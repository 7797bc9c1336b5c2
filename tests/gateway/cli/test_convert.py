"""`streamweir convert` as a user runs it: a process, pipes, files."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from command_line import run, started
from places import RECORDED
from streams import events_of

STREAM = (RECORDED / "legacy" / "happy.sse").read_bytes()
TOKEN = b'data: {"type": "token", "content": "%d"}\n\n'
DONE = b'data: {"type": "done"}\n\n'


def types_of(ndjson: bytes) -> list[str]:
    return [event["type"] for event in events_of(ndjson)]


def test_convert_of_standard_input_detects_the_dialect() -> None:
    done = run("convert", input=STREAM)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.startswith(b'id: 0\ndata: {"type":"session_start"')
    assert b'"status":"completed"' in done.stdout


@pytest.mark.parametrize("name", ["-", None])
def test_convert_of_a_file_equals_convert_of_standard_input(name: str | None) -> None:
    options = ["convert", "--framing", "ndjson", "--request-id", "req_1"]
    from_file = run(*options, str(RECORDED / "legacy" / "happy.sse"))
    piped = run(*options, *([name] if name else []), input=STREAM)
    assert types_of(from_file.stdout) == types_of(piped.stdout)
    assert {event["metadata"]["request_id"] for event in events_of(piped.stdout)} == {"req_1"}


def test_convert_to_another_dialect_writes_its_framing() -> None:
    done = run("convert", "--from", "legacy", "--to", "legacy", input=STREAM)
    assert done.stdout == STREAM

    done = run("convert", "--from", "legacy", "--to", "legacy", "--no-verbatim", input=STREAM)
    assert done.stdout.endswith(b'data: {"type":"done"}\n\n')


@pytest.mark.parametrize("options", [(), ("--no-verbatim",)])
def test_convert_to_the_same_dialect_keeps_the_framing(options: tuple[str, ...]) -> None:
    lines = b'\n{"type":"token","content":"Hi"}\n{"type":"done"}\n'

    done = run("convert", "--from", "legacy", "--to", "legacy", *options, input=lines)
    assert (done.returncode, done.stdout.strip()) == (0, lines.strip())

    done = run("convert", "--from", "legacy", "--to", "legacy", "--framing", "sse", input=lines)
    assert done.stdout.startswith(b"data: {")


def test_convert_with_json_framing_folds_into_one_object() -> None:
    done = run("convert", "--framing", "json", input=STREAM)
    result = json.loads(done.stdout)
    assert result["message"]["content"] == "咖啡更好"
    assert result["status"] == "completed"


def test_convert_of_a_failed_stream_writes_it_and_exits_with_an_error() -> None:
    done = run("convert", "--framing", "ndjson", input=STREAM[: len(STREAM) // 2])
    assert done.returncode == 1
    assert events_of(done.stdout)[-1]["data"]["reason"] == "truncated"


def test_convert_of_an_unknown_dialect_fails() -> None:
    done = run("convert", "--framing", "ndjson", input=b"<html>502 Bad Gateway</html>\n")
    assert done.returncode == 1
    assert events_of(done.stdout)[-1]["data"]["reason"] == "malformed"
    assert b"--from" in done.stderr


def test_convert_writes_each_event_as_soon_as_it_is_complete() -> None:
    with started("convert", "--framing", "ndjson") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(TOKEN % number)
            process.stdin.flush()
            if number == 0:
                assert json.loads(process.stdout.readline())["type"] == "session_start"
            # Would hang here, for ever, if anything were held back.
            assert json.loads(process.stdout.readline())["data"]["content"] == str(number)


def test_half_an_event_waits_for_its_other_half() -> None:
    event = TOKEN % 1
    with started("convert", "--framing", "ndjson") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(event[:20])
        process.stdin.flush()
        time.sleep(0.3)
        process.stdin.write(event[20:])
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["type"] == "session_start"


def test_convert_of_an_open_pipe_ends_with_the_stream() -> None:
    with started("convert") as process:
        assert process.stdin is not None
        process.stdin.write(TOKEN % 1 + DONE)
        process.stdin.flush()
        assert process.wait(timeout=20) == 0


def test_convert_of_a_growing_file_follows_it(tmp_path: Path) -> None:
    log = tmp_path / "backend.log"
    log.write_bytes(TOKEN % 1)
    tail = subprocess.Popen(["tail", "-c", "+1", "-f", str(log)], stdout=subprocess.PIPE)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamweir_gateway", "convert", "--framing", "ndjson"],
            stdin=tail.stdout,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "session_start"
        with log.open("ab") as file:
            file.write(DONE)
        rest = process.communicate(timeout=20)[0]
    finally:
        tail.kill()
        tail.communicate()
    assert events_of(rest)[-1]["data"]["status"] == "completed"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_ctrl_c_ends_the_stream_as_cancelled() -> None:
    with started("convert", "--framing", "ndjson") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TOKEN % 1)
        process.stdin.flush()
        head = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=20) == 130
    assert len(head) == 2
    assert events_of(rest)[-1]["data"]["status"] == "cancelled"


def test_reader_that_leaves_ends_the_command_with_a_word() -> None:
    many = b"".join(TOKEN % number for number in range(20_000))
    with started("convert") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(TOKEN % 0)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(many)
            process.stdin.close()
        assert process.wait(timeout=20) == 1
        assert process.stderr.read() == b"streamweir: nobody reads the output any longer\n"


def test_convert_with_an_output_writes_a_file(tmp_path: Path) -> None:
    target = tmp_path / "out.ndjson"
    done = run("convert", "--framing", "ndjson", "--output", str(target), input=STREAM)
    assert done.stdout == b""
    assert types_of(target.read_bytes())[-1] == "session_end"


def test_convert_into_its_own_input_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "stream.sse"
    file.write_bytes(STREAM)
    done = run("convert", str(file), "--output", str(file))
    assert done.returncode == 2
    assert file.read_bytes() == STREAM


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.sse"], "cannot read nowhere.sse: No such file or directory"),
        (["."], "cannot read .: Is a directory"),
        (["--output", "nowhere/out.sse"], "cannot write nowhere/out.sse: No such file or directory"),
    ],
)
def test_convert_with_unusable_files_fails(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = run("convert", *arguments, input=STREAM, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode().strip() == f"streamweir: {told}"
    assert done.stdout == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_convert_to_a_full_disk_fails() -> None:
    done = run("convert", "--output", "/dev/full", input=STREAM)
    assert done.returncode == 1
    assert b"cannot write" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--from", "legcy"], "did you mean 'legacy'?"),
        (["--to", "standart"], "did you mean 'standard'?"),
        (["--to", "auto"], "unknown dialect"),
        (["--framing", "xml"], "invalid choice: 'xml'"),
        (["--option", "version"], "DIALECT.KEY=VALUE"),
        (["--option", "standard.version=3"], "one of: 1.1, 1.0"),
        (["--option", "standard.versoin=1.0"], "did you mean 'version'?"),
        (["--request-id", "not one"], "--request-id"),
        (["--full-text", "twice"], "invalid choice"),
        (["--frm", "legacy"], "unrecognized arguments"),
    ],
)
def test_convert_with_a_wrong_command_line_fails(arguments: list[str], told: str) -> None:
    done = run("convert", *arguments, input=STREAM)
    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert done.stdout == b""


def test_options_reach_the_translator() -> None:
    source = events_of(run("convert", "--framing", "ndjson", "--raw", input=STREAM).stdout)[1]
    assert source["metadata"]["source"]["dialect"] == "legacy"
    failing = b'data: {"type": "error", "message": "no such table: x"}\n\n'
    plain, debugged = (
        error_in(run("convert", "--framing", "ndjson", *more, input=failing).stdout)
        for more in ([], ["--debug"])
    )
    assert "details" not in plain
    assert "details" in debugged


def test_convert_with_full_text_append_keeps_the_repetition() -> None:
    twice = run("convert", "--framing", "json", "--full-text", "append", input=STREAM)
    assert json.loads(twice.stdout)["message"]["content"] == "咖啡更好咖啡更好"


def error_in(ndjson: bytes) -> dict[str, Any]:
    (error,) = [event["data"] for event in events_of(ndjson) if event["type"] == "error"]
    return dict(error)


def test_exit_code_is_that_of_the_stream() -> None:
    broken = STREAM[: len(STREAM) // 2]

    assert run("convert", "--from", "legacy", input=STREAM).returncode == 0
    done = run("convert", "--from", "legacy", input=broken)
    assert (done.returncode, b"UPSTREAM_TRUNCATED" in done.stdout) == (1, True)
    assert run("convert", "--from", "legacy", "--exit-zero", input=broken).returncode == 0


def test_backend_that_never_ends_its_answer_is_complete_where_that_is_given() -> None:
    half = b'data: {"type":"token","content":"Hi"}\n\n'

    assert run("convert", "--from", "legacy", input=half).returncode == 1
    assert run("convert", "--from", "legacy", "--eof", "complete", input=half).returncode == 0


def test_limits_of_a_long_stream_are_set() -> None:
    long = b'data: {"type":"token","content":"%s"}\n\n' % (b"x" * 500) * 50 + b'data: {"type":"done"}\n\n'

    done = run("convert", "--from", "legacy", "--framing", "json", "--limit", "stream_bytes=4KiB", input=long)
    assert (done.returncode, b"STREAM_LIMIT_EXCEEDED" in done.stdout) == (1, True)
    assert run("convert", "--from", "legacy", "--framing", "json", input=long).returncode == 0
    assert run("convert", "--limit", "stream_bytes", input=long).returncode == 2


def test_folded_answer_may_have_many_events() -> None:
    token = b'data: {"type":"token","content":"x"}\n\ndata: {"type":"thinking","content":"y"}\n\n'

    done = run("convert", "--from", "legacy", "--framing", "json", input=token * 60_000 + b"data: [DONE]\n\n")

    assert done.returncode == 0
    assert len(json.loads(done.stdout)["message"]["content"]) == 60_000
