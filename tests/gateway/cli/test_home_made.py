"""Home-made dialects on the command line: `--config`, `--explain`, and files with nothing but dialects."""

import json
from pathlib import Path

import pytest

from command_line import run

ACME = """
dialects:
  acme:
    rules:
      - {match: {kind: chunk}, emit: {type: content, content: "${{ text }}"}}
      - {match: {kind: odd}, emit: {type: status, scope: node, state: "${{ state }}"}}
      - {match: {kind: bye}, emit: [{type: usage, total_tokens: 5}, {type: session_end}]}
    ignore: [{kind: ping}]
    terminal: ["[DONE]"]
  wrapped:
    extends: legacy
    unwrap: payload
    rules: [{match: {type: tok}, as: {type: token, content: "${{ txt }}"}}]
    write: {rules: [{on: content, when: content, send: "TOK ${{ content }}"}]}
"""
BODY = """\
data: {"kind": "chunk", "text": "Hi"}

data: {"kind": "ping"}

data: {"kind": "what"}

data: {"kind": "odd", "state": "begun"}

data: [DONE]

data: {"kind": "bye"}

"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acme.yaml").write_text(ACME)
    (tmp_path / "recorded.sse").write_text(BODY)
    return tmp_path


def test_explain_prints_the_reader_of_each_frame(folder: Path) -> None:
    ran = run("convert", "--config", "acme.yaml", "--from", "acme", "--explain", "recorded.sse", cwd=folder)
    assert ran.returncode == 0
    assert ran.stderr.decode().splitlines() == [
        "1 rules[0]: content",
        "2 ignored:",
        "3 no rule: data",
        "4 rules[1]: malformed",
        "5 terminal:",
        "6 rules[2]: session_end",
    ]
    assert b'"content":"Hi"' in ran.stdout


def test_many_texts_are_explained_one_by_one(folder: Path) -> None:
    body = "".join(f'{{"payload": {{"type": "tok", "txt": "w{number}"}}}}\n' for number in range(20))
    body += '{"type": "token", "content": "x"}\n{"payload": {"type": "done"}}\n'
    command = (
        "convert",
        "--config",
        "acme.yaml",
        "--from",
        "wrapped",
        "--to",
        "wrapped",
        "--no-verbatim",
        "--explain",
    )
    ran = run(*command, input=body.encode(), cwd=folder)
    lines = ran.stderr.decode().splitlines()
    assert lines[:20] == [f"{number} rules[0]: content" for number in range(1, 21)]
    assert lines[20:] == ["21 base: content", "22 base: session_end"]
    assert ran.stdout.count(b"TOK ") == 21


def test_explain_of_a_built_in_dialect_prints_its_name(folder: Path) -> None:
    body = b'data: {"type": "token", "content": "x"}\n\ndata: {"type": "done"}\n\n'
    for speaks in ("legacy", "auto"):
        ran = run("convert", "--from", speaks, "--explain", input=body, cwd=folder)
        assert ran.stderr == b"1 legacy: content\n2 legacy: session_end\n"


def test_dialects_lists_all_of_a_file(folder: Path) -> None:
    ran = run("dialects", "--config", "acme.yaml", "--json", cwd=folder)
    rows = {row["name"]: row for row in json.loads(ran.stdout)}
    assert (rows["acme"]["reads"], rows["acme"]["writes"]) == (True, False)
    assert (rows["wrapped"]["reads"], rows["wrapped"]["writes"]) == (True, True)
    assert "legacy" in rows
    one = run("dialects", "--config", "acme.yaml", "wrapped", cwd=folder)
    assert one.returncode == 0
    assert b"TOK" in one.stdout


def test_file_of_dialects_only_is_checked_and_not_served(folder: Path) -> None:
    ran = run("check", "acme.yaml", cwd=folder)
    assert (ran.returncode, ran.stdout.decode()) == (0, "acme.yaml is good: 2 dialects\n")
    facts = json.loads(run("check", "--json", "acme.yaml", cwd=folder).stdout)
    assert facts["dialects"] == ["acme", "wrapped"]
    served = run("serve", "acme.yaml", cwd=folder)
    assert (served.returncode, served.stderr) == (78, b"acme.yaml:1:1 the key 'endpoints' is missing\n")


def test_faulty_dialect_is_reported_by_every_command(folder: Path) -> None:
    (folder / "acme.yaml").write_text(ACME.replace("type: status", "type: stautus"))
    line = "acme.yaml:6:43 dialects.acme.rules[1].emit.type: unknown type 'stautus'; did you mean 'status'?"
    for command in (("check", "acme.yaml"), ("convert", "--config", "acme.yaml", "recorded.sse")):
        ran = run(*command, cwd=folder)
        assert ran.returncode == 78
        assert line in ran.stderr.decode()
    missing = run("convert", "--config", "no.yaml", "recorded.sse", cwd=folder)
    assert missing.returncode == 78
    (folder / "empty.yaml").write_text("endpoints: {}\n")
    none = run("dialects", "--config", "empty.yaml", cwd=folder)
    assert (none.returncode, "has no `dialects:`" in none.stderr.decode()) == (78, True)


def test_file_that_is_no_yaml_is_reported_without_missing_dialects(folder: Path) -> None:
    (folder / "open.yaml").write_text("dialects:\n  acme: [\n")
    ran = run("dialects", "--config", "open.yaml", cwd=folder)
    assert ran.returncode == 78
    assert "open.yaml:3:1 not valid YAML" in ran.stderr.decode()
    assert "has no `dialects:`" not in ran.stderr.decode()


def test_unknown_dialect_is_refused_with_the_names_of_the_file(folder: Path) -> None:
    ran = run("convert", "--config", "acme.yaml", "--from", "acne", "recorded.sse", cwd=folder)
    assert ran.returncode == 2
    assert "did you mean 'acme'?" in ran.stderr.decode()
