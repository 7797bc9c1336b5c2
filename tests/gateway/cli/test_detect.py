"""`streamweir detect` as a user runs it."""

import json

import pytest

from command_line import run, started
from places import RECORDED


@pytest.mark.parametrize("name", ["legacy", "standard"])
def test_detect_of_a_body_prints_the_dialect(name: str) -> None:
    file = next(path for path in sorted((RECORDED / name).iterdir()) if path.suffix in (".sse", ".ndjson"))
    assert run("detect", str(file)).stdout.decode().strip() == name
    assert run("detect", input=file.read_bytes()).stdout.decode().strip() == name


def test_detect_with_scores_prints_each_score() -> None:
    done = run("detect", "--json", "-", input=b'data: {"type": "token", "content": "x"}\n\n')
    found = json.loads(done.stdout)
    assert found["dialect"] == "legacy"
    assert found["scores"]["legacy"] >= 0.5


@pytest.mark.parametrize("body", [b"", b"hello\n", b"<html></html>"])
def test_detect_of_an_unknown_body_fails(body: bytes) -> None:
    done = run("detect", input=body)
    assert done.returncode == 1
    assert done.stdout == b""
    assert b"no dialect claims standard input" in done.stderr
    assert json.loads(run("detect", "--json", input=body).stdout)["dialect"] is None


def test_detect_of_an_open_pipe_ends_once_it_knows() -> None:
    with started("detect") as process:
        assert process.stdin is not None
        process.stdin.write(b'data: {"type": "token", "content": "x"}\n\n')
        process.stdin.flush()
        assert process.wait(timeout=20) == 0


def test_detect_of_a_missing_file_fails() -> None:
    done = run("detect", "nowhere.sse")
    assert done.returncode == 1
    assert done.stderr.decode().strip() == "streamweir: cannot read nowhere.sse: No such file or directory"
