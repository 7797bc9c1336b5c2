"""Recorded files that are empty, cut, from a newer version, binary or hostile: clear errors, no traceback."""

import gzip
import json
import re
from pathlib import Path

import pytest

from command_line import run
from places import RECORDED

HEAD = {"kind": "capture", "version": 1, "id": "r", "began": "2026-11-22T08:00:00.123Z", "speaks": "legacy"}
READ = {"kind": "read", "t": 1, "n": 0, "attempt": 1, "data": 'data: {"type":"token","content":"a"}\n\n'}


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


FILES = {
    "newer": (lines({**HEAD, "version": 2}), b"made by a newer streamweir"),
    "broken": (lines(HEAD) + b"garbage\n" + lines(READ), b"line 2 is no JSON object"),
    "base64": (lines(HEAD, {"kind": "read", "t": -5, "n": {}, "base64": "!!"}), b"line 2 holds no base64"),
    "cut": (lines(HEAD, READ) + b'{"kind":"re', b"line 3 broke off and was passed over"),
    "types": (
        lines(
            HEAD,
            {"kind": "read", "t": "x", "attempt": "x", "data": "a"},
            {"kind": "attempt", "ended": ["x"], "failure": {"code": 5}},
            {"kind": "response", "side": "upstream", "status": "x", "headers": [[1, 2], 3]},
            {"kind": "end", "t": [], "reason": {}, "status": []},
        ),
        b"",
    ),
    "empty": (b"", b""),
    "binary": (bytes(range(256)) * 50, b""),
}


@pytest.mark.parametrize("command", ["convert", "learn"])
@pytest.mark.parametrize("name", FILES)
def test_file_that_is_no_whole_capture_gives_a_clear_error(tmp_path: Path, command: str, name: str) -> None:
    content, sentence = FILES[name]
    file = tmp_path / f"{name}.capture.jsonl"
    file.write_bytes(content)
    ended = run(command, str(file))
    assert ended.returncode in (0, 1)
    assert sentence in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("command", [["detect"], ["learn"], ["convert", "--framing", "json"]])
def test_compressed_body_is_read_like_the_body(tmp_path: Path, command: list[str]) -> None:
    body = RECORDED / "legacy" / "happy.sse"
    packed = tmp_path / "happy.sse.gz"
    packed.write_bytes(gzip.compress(body.read_bytes()))
    options = ["--request-id", "r"] if command[0] == "convert" else []
    plain, compressed = (run(*command, *options, str(file)) for file in (body, packed))
    printed, expected = (re.sub(rb'"duration_ms":[0-9.]+', b"", done.stdout) for done in (compressed, plain))
    assert (compressed.returncode, printed) == (plain.returncode, expected)


def test_convert_of_a_cut_compressed_body_ends_the_stream_with_an_error(tmp_path: Path) -> None:
    packed = tmp_path / "cut.sse.gz"
    packed.write_bytes(gzip.compress((RECORDED / "legacy" / "happy.sse").read_bytes())[:-60])
    ended = run("convert", str(packed))
    assert ended.returncode == 1
    assert b"the compressed file is broken" in ended.stderr
    assert b'"tool_call_start"' in ended.stdout
    assert b"UPSTREAM_TRUNCATED" in ended.stdout
    assert b'"session_end"' in ended.stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("convert", b"no dialect claims"),
        ("detect", b"no dialect claims"),
        ("learn", b"larger than a stream may be"),
        ("replay", b"larger than a stream may be"),
    ],
)
def test_file_of_a_gigabyte_is_refused(tmp_path: Path, command: str, sentence: bytes) -> None:
    file = tmp_path / "large.capture.jsonl"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 30)
    ended = run(command, str(file))
    assert ended.returncode == 1
    assert sentence in ended.stderr
