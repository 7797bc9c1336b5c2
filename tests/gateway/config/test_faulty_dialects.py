"""What is wrong with a dialect is said with file, line, column, path, and what to write.

`faulty_dialects.txt` holds the files, each followed by what `check` says of it. It is written anew where
STREAMWEIR_UPDATE_CASES is set: read the diff.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamweir.codec.registry import process_dialects
from streamweir_gateway.config import ConfigErrors, load_config

FILE = Path(__file__).with_name("faulty_dialects.txt")


def cases() -> Iterator[tuple[str, str, str]]:
    """Each case: its name, the file, and what is said of it."""
    for block in FILE.read_text(encoding="utf-8").split("=== ")[1:]:
        name, _, rest = block.partition("\n")
        text, _, said = rest.partition("---\n")
        yield name, text, said.strip()


def said_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    Path("acme.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigErrors) as refusal:
        load_config("acme.yaml", dialects=process_dialects(), check=True)
    return str(refusal.value)


@pytest.mark.parametrize(("name", "text", "said"), [*cases()], ids=[name for name, _, _ in cases()])
def test_faulty_dialect_is_refused_with_its_problem(
    name: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = said_of(text, tmp_path, monkeypatch)
    if os.environ.get("STREAMWEIR_UPDATE_CASES"):
        before = FILE.read_text(encoding="utf-8")
        block = f"=== {name}\n{text}---\n"
        end = before.find("\n=== ", before.index(block) + 1)
        rest = before[end:] if end >= 0 else ""
        FILE.write_text(before[: before.index(block)] + f"{block}{found}\n" + rest, encoding="utf-8")
        return
    assert found == said


def test_problem_in_a_separate_file_has_its_place_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dialects").mkdir()
    (tmp_path / "dialects" / "acme.yaml").write_text("rules:\n  - emit: {type: contnt}\nrulez: []\n")
    (tmp_path / "dialects" / "broken.yaml").write_text("rules: [\n")
    (tmp_path / "dialects" / "open.yaml").write_text("rules:\n  - emit: {type: content, content: x}\n")
    text = """\
dialects:
  acme: {file: dialects/acme.yaml}
  broken: {file: dialects/broken.yaml}
  open: {file: dialects/open.yaml}
  here: {rulez: []}
"""
    assert said_of(text, tmp_path, monkeypatch).splitlines() == [
        "acme.yaml:5:9 dialects.here: a dialect needs `rules`, `write`, `extends` or `framing: text`",
        "acme.yaml:5:10 dialects.here.rulez: unknown key; did you mean 'rules'?",
        "dialects/acme.yaml:2:18 rules[0].emit.type: unknown type 'contnt'; did you mean 'content'?",
        "dialects/acme.yaml:3:1 rulez: unknown key; did you mean 'rules'?",
        "dialects/broken.yaml:2:1 not valid YAML: expected the node content, but found '<stream end>'",
        "dialects/open.yaml:1:1 has no end: no rule emits session_end, error, complete or interaction,"
        " and there is no `terminal` (a backend that never says its end: `terminal: [eof]`)",
    ]


def test_unsuitable_dialect_is_refused_with_suitable_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
dialects:
  reads: {framing: text}
  writes: {write: {rules: [{on: content, send: x}]}}
  faulty: {rulez: []}
endpoints:
  /a: {upstream: "http://127.0.0.1:9000", speaks: writes, answers: [reads]}
  /b: {upstream: "http://127.0.0.1:9000", speaks: faulty, answers: [faulty]}
  /c: {upstream: "http://127.0.0.1:9000", speaks: raeds}
"""
    said = [line for line in said_of(text, tmp_path, monkeypatch).splitlines() if "dialects." not in line]
    assert said == [
        "acme.yaml:6:51 endpoints./a.speaks: is only written: the dialect has no `rules`",
        "acme.yaml:6:69 endpoints./a.answers[0]: is only read: the dialect has no `write`",
        "acme.yaml:8:51 endpoints./c.speaks: unknown dialect 'raeds'; did you mean 'reads'?",
    ]


def test_faulty_dialects_are_more_than_eighty() -> None:
    assert len([*cases()]) >= 80
