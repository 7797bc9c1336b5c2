"""`streamweir learn` as a user runs it: what it writes is checked and used by the other commands."""

import json
from pathlib import Path

import pytest

from command_line import run
from places import HOME_MADE, RECORDED
from streams import events_of

BODY = HOME_MADE / "agno" / "tool.sse"


def test_learn_writes_a_good_file_that_reads_the_stream(tmp_path: Path) -> None:
    file = tmp_path / "acme.yaml"
    done = run("learn", "--name", "acme", str(BODY), "-o", str(file))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"frames: 20, 20 of them explained (100%)" in done.stderr
    assert run("check", str(file)).returncode == 0
    read = run("convert", "--config", str(file), "--from", "acme", "--framing", "ndjson", str(BODY))
    types = [event["type"] for event in events_of(read.stdout)]
    assert types.count("tool_call_start") == types.count("tool_call_end") == 1
    assert types[-1] == "session_end"


def test_json_holds_everything() -> None:
    done = run("learn", "--json", "-", input=BODY.read_bytes())
    assert done.stderr == b""
    shown = json.loads(done.stdout)
    assert shown.keys() == {"yaml", "dialect", "report"}
    keys = ("framing", "frames", "explained", "share", "fields", "fields_used", "names", "unsure")
    assert tuple(shown["report"]) == keys
    assert all(tuple(name) == ("name", "count", "means", "sure") for name in shown["report"]["names"])
    assert shown["yaml"].startswith("dialects:\n  learned:\n")


def test_captures_are_read_as_well(tmp_path: Path) -> None:
    lines = [
        {"kind": "capture", "version": 1, "id": "req_1"},
        {"kind": "read", "t": 1, "n": 0, "data": '{"word": "Hel"}\n{"wo'},
        {"kind": "read", "t": 2, "n": 1, "data": 'rd": "lo there"}\n{"done": true}\n'},
    ]
    file = tmp_path / "one"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("learn", str(file), str(file))
    assert done.returncode == 0
    assert b'content: "${{ word }}"' in done.stdout


def test_learn_of_a_known_dialect_names_it() -> None:
    done = run("learn", str(RECORDED / "legacy" / "happy.sse"))
    assert b"# this is legacy: `speaks: legacy` reads it\n    extends: legacy" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["learn", "-"], 1, "nothing to learn from"),
        (["learn", "no such file"], 1, "cannot read"),
        (["learn", "--name", "legacy", "-"], 2, "there is a dialect 'legacy' already"),
        (["learn", "--name", "auto", "-"], 2, "auto"),
        (["learn"], 2, "CAPTURE"),
    ],
)
def test_learn_of_an_unusable_body_fails(arguments: list[str], code: int, why: str) -> None:
    done = run(*arguments)
    assert (done.returncode, why in done.stderr.decode()) == (code, True)


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Frames of which less than half can be understood."""
    words = [{"kind": "tok", "t": text} for text in ("Tea ", "is ", "better ", "than ", "coffee. ")]
    frames = [*words, *({"kind": f"k{n % 3}", "level": {"joy": n}} for n in range(9)), {"kind": "bye"}]
    file = tmp_path / "strange.sse"
    file.write_text("".join(f"data: {json.dumps(frame)}\n\n" for frame in frames))
    return file


def test_learn_if_less_than_half_is_explained_writes_questions_only(strange: Path, tmp_path: Path) -> None:
    done = run("learn", str(strange), "-o", str(tmp_path / "acme.yaml"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"frames: 15, 6 of them explained (40%)" in done.stderr
    assert b"unsure: k0: `k0` was not understood: what does it say?" in done.stderr
    assert not (tmp_path / "acme.yaml").exists()


def test_learn_if_less_than_half_is_explained_prints_the_report_as_json(strange: Path) -> None:
    done = run("learn", "--json", str(strange))
    assert done.returncode == 1
    shown = json.loads(done.stdout)
    assert shown["yaml"] is None
    assert shown["report"]["share"] == 0.4
    assert all({*item} == {"about", "question"} for item in shown["report"]["unsure"])
