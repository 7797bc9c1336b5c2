"""What no rule knows leaves without its texts where it reports a failure, whichever dialect it comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams import translate
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
    {"log": TRACE},
    {"a": [{"b": TRACE}]},
]

ENVELOPES: list[Any] = [
    lambda report: {"type": "acme_step", **report},
    lambda report: {"type": "acme_step", "data": report},
    lambda report: {"event": "acme_step", "data": report},
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


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("framing", ["{}\n", "data: {}\n\n"])
@pytest.mark.parametrize("speaks", process_dialects().readable)
def test_the_texts_of_a_failed_step_stay_inside(speaks: str, framing: str, raw: bool) -> None:
    for report in REPORTS:
        for envelope in ENVELOPES:
            events = [envelope(report), {"type": "acme_end"}]
            body = "".join(framing.replace("{}", json.dumps(event)) for event in events).encode()
            output = translate([body], speaks=speaks, raw=raw).decode()
            leaked = [secret for secret in ("hunter2", "weatherdb") if secret in output]
            assert not leaked, events[0]
