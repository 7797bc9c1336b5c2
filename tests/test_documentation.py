"""The documents tell the truth: their commands run, their links lead somewhere, nothing is left out."""

import ast
import json
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pytest

import command_line
from cases import for_each
from places import DOCS, ROOT
from ports import free_port
from source_tree import PACKAGES
from streamweir import convert
from streamweir.codec.dialects import Dialects
from streamweir.codec.mapped.schema import dialect_definitions
from streamweir.errors import CODES, Reason
from streamweir.events import EVENT_TYPES
from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.config.schema import config_schema

README = (ROOT / "README.md").read_text()
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BIN = Path(sys.executable).parent


def code_blocks(text: str, language: str) -> list[str]:
    """The blocks of `language`, aside from those within the text of another page."""
    own = re.sub(r"^````.*?^````$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(rf"^```{language}\n(.*?)^```", own, re.MULTILINE | re.DOTALL)


def shell_lines() -> list[str]:
    return [line for block in code_blocks(README, "sh") for line in block.splitlines() if line.strip()]


def run(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        here(line), shell=True, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False
    )


def here(line: str) -> str:
    """A command of a checkout, in the environment that the tests run in."""
    return re.sub(r"(?<![^\s|])\.venv/bin/", f"{BIN}/", line)


@contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `command`, which serves config.yaml, on a free port until it is not needed any more."""
    address = f"127.0.0.1:{free_port()}"
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [part.replace("ADDRESS", address) for part in command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PATH": path, "CONSOLE_LISTEN": "127.0.0.1:0"},
        start_new_session=True,
    )
    try:
        wait_until_open(address)
        yield process, address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=90)
        assert process.stdout is not None
        process.stdout.close()


def wait_until_open(address: str) -> None:
    host, port = address.split(":")
    for _ in range(1800):
        with socket.socket() as probe:
            if probe.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on {address}")


@pytest.mark.parametrize(
    "line", [line for line in shell_lines() if line.startswith((".venv/bin/streamweir", "cat"))]
)
def test_every_command_of_the_readme_runs(line: str) -> None:
    if "serve" in line:
        with started([*shlex.split(here(line)), "--listen", "ADDRESS"]):
            return
    done = run(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_package_of_the_readme_installs() -> None:
    (line,) = [line for line in shell_lines() if line.startswith("pip install")]
    local = line.replace("streamweir", ".").replace(
        "pip install", f"{sys.executable} -m pip install -q --dry-run --no-deps"
    )
    done = run(local)
    assert done.returncode == 0, done.stderr


CONSOLE = re.compile(r"console: (http://127\.0\.0\.1:\d+)/#token=(\S+)\n")
CHAT_ENDS = ('"finish_reason":"stop"', '"type":"response.completed"', '"type":"message_stop"')


@pytest.mark.long
def test_make_run_serves_the_answer_of_the_readme() -> None:
    with started(["make", "-s", "run", "LISTEN=ADDRESS"]) as (process, address):
        shown = [line for line in shell_lines() if line.startswith("curl")]
        assert shown
        assert process.stdout is not None
        printed: list[str] = []
        served = re.findall(r"^  /\S*:", (ROOT / "config.yaml").read_text(), re.M)
        while len(printed) < len(served):
            line = process.stdout.readline()
            if line.strip().startswith("curl"):
                printed.append(line.strip())
        lines = [*(line.replace("127.0.0.1:8080", address) for line in shown), *printed]
        quiet = [line.replace("curl ", "curl -sS --fail --max-time 30 ", 1) for line in lines]
        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(run, quiet))
        for line, done in zip(lines, answers, strict=True):
            assert done.returncode == 0, (line, done.stderr)
            ends = CHAT_ENDS if "/v1/" in line else ('"type":"session_end","data":{"status":"completed"',)
            assert any(end in done.stdout for end in ends), (line, done.stdout)
        (url, token) = next(filter(None, map(CONSOLE.fullmatch, process.stdout))).groups()
        done = run(f"curl -sS --fail --max-time 30 -H 'Authorization: Bearer {token}' {url}/api/v1/info")
        assert json.loads(done.stdout)["capture"] == "content"


def test_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for block in code_blocks(README, "python"):
        exec(compile(block, "README.md", "exec"), {})
        printed.append(capsys.readouterr().out)
    assert printed[-1].endswith("done\n")


def configurations() -> list[str]:
    blocks = [block for page in PAGES for block in code_blocks(page.read_text(), "yaml")]
    return [block for block in blocks if re.search(r"^(endpoints|dialects):", block, re.MULTILINE)]


@pytest.mark.parametrize("block", configurations(), ids=range(len(configurations())))
def test_configurations_shown_are_good(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(block)
    done = command_line.run("check", str(file), cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_configurations_are_found() -> None:
    assert len(configurations()) >= 5


def test_every_key_of_the_configuration_is_documented() -> None:
    schema = config_schema()
    sections = schema.pop("$defs")
    of_dialects = [sections.pop(name) for name in dialect_definitions()]
    pages = {"configuration.md": [schema, *sections.values()], "home-made-dialects.md": of_dialects}
    for name, schemas in pages.items():
        page = (ROOT / "docs" / name).read_text()
        keys = set(keys_in(schemas))
        assert "heartbeat" in keys
        assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", page)] == [], name


def keys_in(schema: Any) -> Iterator[str]:
    """The keys that a schema knows, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from keys_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keys_in(inner)


def test_every_word_of_the_protocol_is_documented() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    words = [*EVENT_TYPES, *CODES, *REFUSALS, *get_args(Reason)]
    assert "UPSTREAM_TRUNCATED" in words
    assert [word for word in words if f"`{word}`" not in page] == []


def rows_of_protocol(title: str) -> dict[str, list[str]]:
    """The cells of each row of the table in a section, by each code of its first cell."""
    section = (DOCS / "protocol.md").read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {code: [cell.strip() for cell in row] for row in rows for code in re.findall(r"`(\w+)`", row[0])}


def test_protocol_page_has_each_error_with_its_type_and_status() -> None:
    rows = rows_of_protocol("Errors")
    assert rows.keys() == CODES.keys()
    for code, row in CODES.items():
        _, error_type, recoverable, statuses, _ = rows[code]
        assert (error_type, recoverable == "yes") == (row.error_type, row.recoverable), code
        assert str(row.status) in statuses.split(", "), code


def test_protocol_page_has_each_refusal_with_its_status() -> None:
    rows = rows_of_protocol("Refused requests")
    assert {code: int(cells[1]) for code, cells in rows.items()} == {
        code: row.status for code, row in REFUSALS.items()
    }


ARCHITECTURE = (DOCS / "architecture.md").read_text()


@pytest.mark.parametrize("package", PACKAGES.values(), ids=lambda package: package.name)
def test_architecture_page_has_every_room(package: Path) -> None:
    """A room is a folder or a module at the top of a package: the first column of the package's table."""
    section = ARCHITECTURE.partition(f"`{package.relative_to(ROOT)}/`\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([a-z_]+(?:/|\.py))` \|", section, re.MULTILINE)
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    modules = {path.name for path in package.glob("[a-z]*.py")}
    assert sorted(named) == sorted(folders | modules)


def test_folders_of_the_architecture_page_exist() -> None:
    named = {*re.findall(r"`([a-z0-9_/]+/)`", ARCHITECTURE)}
    assert "tests/support/" in named
    folders = [*PACKAGES.values(), ROOT / "tests", ROOT / "clients"]
    missing = [name for name in sorted(named) if not (ROOT / name).exists()]
    assert [name for name in missing if not any([*folder.rglob(name)] for folder in folders)] == []


@for_each("page", PAGES)
def test_modules_that_a_page_names_exist(page: Path) -> None:
    """All but the made-up ones of acme, and those of other people's projects."""
    named = {*re.findall(r"`([a-z0-9_/]+\.py)`", page.read_text())} - {"asgi.py"}
    folders = (*PACKAGES.values(), *(ROOT / name for name in ("tests", "bench", "docs", "examples")))
    files = [f"/{file}" for folder in folders for file in folder.rglob("*.py")]
    missing = [name for name in sorted(named) if not any(file.endswith(f"/{name}") for file in files)]
    assert [name for name in missing if "/acme/" not in name] == []


def test_words_of_the_glossary_are_in_use() -> None:
    """Its words are those of the code and of the other pages."""
    words = re.findall(r"\*\*([a-z ]+)\*\*", (DOCS / "glossary.md").read_text(), re.IGNORECASE)
    assert len(words) > 30
    files = [path for package in PACKAGES.values() for path in package.rglob("*.py")]
    pages = [page for page in PAGES if page.name != "glossary.md"]
    text = "".join(path.read_text().lower() for path in [*files, *pages])
    assert [word for word in words if not re.search(word.lower().replace(" ", "[ _]?"), text)] == []


@for_each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in targets if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_addresses_with_a_query_are_quoted_in_commands() -> None:
    """Because zsh, unlike sh, takes `?` in a word for a pattern that no file fits, and runs nothing."""
    pages = [*PAGES, *ROOT.glob("examples/*.md"), *ROOT.glob("clients/typescript/*.md")]
    found = [(page.name, line) for page in pages for line in page.read_text().splitlines() if "curl " in line]
    assert [line for line in found if re.search(r"(?<!['\"])\bhttps?://[^\s'\"`]*\?", line[1])] == []


def test_readme_leads_to_every_page() -> None:
    pages = [page.relative_to(ROOT) for page in (ROOT / "docs").glob("*.md")]
    assert [str(page) for page in pages if f"({page})" not in README] == []


def test_stream_of_the_readme_gives_its_output() -> None:
    before, after = code_blocks(README, "text")
    got = convert(before.replace("}\n", "}\n\n"), speaks="legacy", framing="ndjson").decode()
    events = [json.loads(line) for line in got.splitlines()]
    bare = [json.dumps({"type": event["type"], "data": event["data"]}) for event in events]
    for event, shown in zip(bare, after.splitlines(), strict=True):
        assert re.fullmatch(re.escape(shown).replace("…", ".*"), event)


GENERATED = runpy.run_path(str(ROOT / "docs/generate.py"))["documents"]()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_pages_of_dialects_equal_their_descriptions(path: Path) -> None:
    assert path.read_text() == GENERATED[path], "`make docs` writes it"


def test_every_dialect_has_a_page_and_a_row() -> None:
    pages = {path.stem for path in (ROOT / "docs/dialects").iterdir()} - {"README"}
    assert pages == {*Dialects.built_in()}
    for name in pages:
        assert f"[`{name}`](docs/dialects/{name}.md)" in README
        assert (ROOT / f"docs/dialects/{name}.md").read_text().startswith(f"# {name}\n")


def test_every_backend_has_an_endpoint_to_paste() -> None:
    table = README.partition("## I run X")[2].partition("\n## ")[0]
    for name in {*Dialects.built_in()} - {"standard"}:
        blocks = code_blocks((ROOT / f"docs/dialects/{name}.md").read_text(), "yaml")
        assert any(f"speaks: {name}\n" in block for block in blocks), name
        assert f"[`{name}`](docs/dialects/{name}.md)" in table, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_documents_is_python(page: Path) -> None:
    for block in code_blocks(page.read_text(), "python"):
        ast.parse(block)
