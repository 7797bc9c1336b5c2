"""What no rule knows leaves without its texts where it reports a failure, whichever dialect it comes in."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import streamweir.dialects
from streams import events_of, translate
from streamweir.codec.registry import process_dialects

SECRET = "no such host weatherdb, password=hunter2 in /srv/app/x.py"
TRACE = f"boom\n\tat com.acme.Job.run(Job.java:10)\nCaused by: java.io.IOException: {SECRET}"

REPORTS: list[dict[str, Any]] = [
    {"errorMessage": SECRET},
    {"error": f"{SECRET}, which is all that is known of it"},
    {"stackTrace": SECRET},
    {"stacktrace": [SECRET]},
    {"err": {"msg": SECRET}},
    {"exc_info": SECRET},
    {"lastError": SECRET},
    {"ok": False, "why": SECRET},
    {"success": False, "why": SECRET},
    {"level": "error", "note": SECRET},
    {"status": "failed", "why": SECRET},
    {"state": "FAILED", "why": SECRET},
    {"outcome": "failure", "why": SECRET},
    {"statusCode": 500, "why": SECRET},
    {"result": {"success": False, "why": SECRET}},
    {"error": "it did not work", "why": SECRET},
    {"err": {"msg": "it did not work"}, "seen": {"why": SECRET}},
    {"exception": "it did not work", "seen": [SECRET]},
    {"log": TRACE},
    {"a": [{"b": TRACE}]},
]

ENVELOPES: list[Any] = [
    lambda report: {"type": "acme_step", **report},
    lambda report: {"type": "acme_step", "data": report},
    lambda report: {"event": "acme_step", "data": report},
    lambda report: {"event": "acme_step", **report},
    lambda report: {"event": "acme_step", "data": {"n": 1}, **report},
    lambda report: {"type": "acme_step", "data": {"name": "step", "value": report}},
    lambda report: {
        "type": "data",
        "data": {"data_type": "custom", "data": {"name": "step", "value": report}},
    },
    lambda report: {
        "type": "status",
        "data": {"scope": "node", "state": "finished", "name": "step", "detail": report},
        "metadata": {"node_name": "step"},
    },
    lambda report: {"event": "node_finished", "data": {"component_id": "a", "component_name": "b", **report}},
    lambda report: {"domain": "SYSTEM", "type": "STATUS", "payload": report},
    lambda report: {"mode": "updates", "data": {"step": report}},
    lambda report: {"type": "phase", "stage": "run", "detail": report},
]


WAYS = [*product(["{}\n", "data: {}\n\n"], [False, True])]
"""Framings, with and without `raw`."""


@pytest.mark.parametrize("speaks", process_dialects().readable)
def test_texts_of_a_failed_step_stay_inside(speaks: str) -> None:
    """Every report in every envelope; each of either comes in every way."""
    for at, report in enumerate(REPORTS):
        for way, envelope in enumerate(ENVELOPES, at):
            framing, raw = WAYS[way % len(WAYS)]
            events = [envelope(report), {"type": "acme_end"}]
            body = "".join(framing.replace("{}", json.dumps(event)) for event in events).encode()
            output = translate([body], speaks=speaks, raw=raw).decode()
            leaked = [secret for secret in ("hunter2", "weatherdb") if secret in output]
            assert not leaked, (events[0], framing, raw)


PIECES: dict[str, dict[str, Any]] = {
    "ag-ui": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "TEXT"},
    "agno": {"event": "RunContent", "content": "TEXT", "run_id": "r", "agent_id": "a"},
    "flowise": {"event": "token", "data": "TEXT"},
}


def planted(line: str) -> str:
    """A line of an example, its object with the report of a failure beside what it says."""
    prefix = line[: line.find("{")] if "{" in line else line
    try:
        value = json.loads(line[len(prefix) :])
    except ValueError:
        return line
    return prefix + json.dumps({**value, "stackTrace": SECRET}) if isinstance(value, dict) else line


@pytest.mark.parametrize("speaks", process_dialects().readable)
def test_report_of_a_failure_beside_an_event_stays_inside(speaks: str) -> None:
    folder = Path(streamweir.dialects.__file__).parent / speaks.replace("-", "_")
    for example in (folder / "examples.txt").read_text("utf-8").split("\n\n"):
        lines = [planted(line) for line in example.splitlines() if not line.startswith("#")]
        body = "".join(f"{line}\n" if ":" in line.split("{")[0] else f"data: {line}\n\n" for line in lines)
        for event in events_of(translate([f"{body}\n".encode()], speaks=speaks, framing="ndjson")):
            assert "hunter2" not in json.dumps(event.get("metadata"))


def test_failure_object_of_a_web_server_is_an_error() -> None:
    start = {"event": "on_chain_start", "name": "graph", "run_id": "r", "parent_ids": [], "data": {}}
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in (start, {"detail": SECRET})]
    output = translate(lines, speaks="langgraph-events")
    assert b"hunter2" not in output
    assert "error" in [event["type"] for event in events_of(output)]


def test_report_of_a_failure_beside_pieces_that_are_alike_stays_inside() -> None:
    for speaks, fields in PIECES.items():
        lines = [json.dumps({**fields, "stackTrace": SECRET}).replace("TEXT", f"w{at} ") for at in range(20)]
        output = translate([f"data: {line}\n\n".encode() for line in lines], speaks=speaks)
        assert b"w19" in output
        assert b"hunter2" not in output
