"""The log line of a run with `resume` holds the same facts as that of a request without."""

from collections.abc import Mapping
from typing import Any

import pytest

from cases import case
from faulty_upstreams import PATIENT, SILENT_SOON, faulty_gateway

pytestmark = pytest.mark.anyio

FAULTS = [
    *("refused", "accept-close", "reset-before-headers", "not-http", "status=503", "redirect", "html"),
    *("html-stream", "json-envelope", "empty", "wrong-type", "gzip-cut", "unknown-coding", "cut@8"),
    *("cut-within@8", "reset@8", "bad-chunk@8", "stall@8:2s", "stall@0:2s", "no-end", "error@8", "garbage@3"),
    *("badjson@3", "open-tools", "cut@999"),
]
DIFFERING = {
    *("run", "request_id", "trace_id", "span_id", "first_event_ms", "duration_ms", "bytes_in", "bytes_out"),
    "cause",
}
"""Fields that differ between two requests, or that only a run has; causes are compared without addresses."""


def facts_of(line: Mapping[str, Any]) -> dict[str, Any]:
    causes = [cause.partition(":")[0] for cause in line.get("cause", ())]
    return {**{name: value for name, value in line.items() if name not in DIFFERING}, "cause": causes}


@pytest.mark.parametrize("stalls", [False, True])
async def test_log_line_of_a_run_equals_that_of_a_request_without_resume(stalls: bool) -> None:
    timeouts = SILENT_SOON if stalls else PATIENT
    async with (
        faulty_gateway(timeouts=timeouts) as plain,
        faulty_gateway(timeouts=timeouts, resume="on") as resumable,
    ):
        for fault in (fault for fault in FAULTS if fault.startswith("stall") is stalls):
            with case(fault):
                await plain.ask("sse", fault)
                await resumable.ask("sse", fault)
                expected = facts_of(await plain.gateway.log.next_line())
                assert facts_of(await resumable.gateway.log.next_line()) == expected
                assert "attempts" in expected
