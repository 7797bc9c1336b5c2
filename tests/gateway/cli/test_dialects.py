"""`streamweir dialects` as a user runs it, and whether what it says is true."""

import json
from typing import Any

import pytest

from command_line import run
from streams import translate
from streamweir import list_dialects
from streamweir.codec.registry import process_dialects
from streamweir.testing import check_stream
from streamweir.translation.description import describe, examples_of


def test_dialects_without_a_name_lists_all() -> None:
    done = run("dialects")
    assert done.returncode == 0
    rows = done.stdout.decode().splitlines()[1:]
    assert [row.split()[0] for row in rows] == list_dialects()


def test_dialects_with_json_lists_all() -> None:
    rows = json.loads(run("dialects", "--json").stdout)
    assert [row["name"] for row in rows] == list_dialects()
    legacy = next(row for row in rows if row["name"] == "legacy")
    assert legacy["reads"]
    assert legacy["writes"]
    assert legacy["framings"] == ["sse", "ndjson"]


def test_dialects_with_a_name_explains_it() -> None:
    page = run("dialects", "legacy").stdout.decode()
    assert "  token " in page
    assert "tool_call_end failed" in page
    assert "What it cannot say, or not fully:" in page
    assert max(map(len, page.splitlines()[1:])) <= 100


def test_dialects_with_a_name_and_json_explains_it() -> None:
    facts = json.loads(run("dialects", "standard", "--json").stdout)
    assert facts["options"] == [
        {"name": "version", "values": ["1.1", "1.0"], "when": "writing"},
        {"name": "opaque", "values": ["on", "off"], "when": "writing"},
    ]
    assert facts["unsupported"] == []
    assert "session_end" in {row["event"] for row in facts["reading"]}


def test_dialects_with_an_unknown_name_suggests_one() -> None:
    done = run("dialects", "legcy")
    assert done.returncode == 2
    assert b"did you mean 'legacy'?" in done.stderr


@pytest.mark.parametrize("name", process_dialects().readable)
def test_example_of_each_dialect_is_decoded(name: str) -> None:
    """Each means something: a standard event, the end, or bookkeeping."""
    rows = {row.event: row for row in describe(name).reading}
    examples = [*examples_of(process_dialects().find(name))]
    assert examples
    assert len(rows) == len(examples)
    for example in examples:
        row = rows[example.event]
        assert any(map(is_custom, row.becomes)) == (example.becomes == "custom"), example.event
        assert (not row.becomes and not row.completes) == (example.becomes == "nothing"), example.event


@pytest.mark.parametrize("name", process_dialects().readable)
def test_examples_make_a_valid_stream(name: str) -> None:
    for row in describe(name).reading:
        output = translate([row.example.encode() + b"\n\n"], speaks=name)
        assert check_stream(output, framing="ndjson") == [], row.event


@pytest.mark.parametrize("name", process_dialects().writable)
def test_written_example_of_each_dialect_is_decoded(name: str) -> None:
    """A frame that is said to stand for a standard event is one of the dialect's own."""
    description = describe(name)
    assert description.summary
    said = {row.event for row in description.writing if row.becomes}
    assert {"content", "thinking", "error"} <= said


def is_custom(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "data" and event["data"]["data_type"] == "custom")
