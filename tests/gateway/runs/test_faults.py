"""Every fault of the fake backend through the gateway: the right result, no secrets, no leaks."""

import asyncio
import gc
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from cases import case as naming
from faulty_upstreams import (
    FIRST_EVENT_SOON,
    IDLE_SOON,
    PATIENT,
    faulty_gateway,
    folded_status,
    leaks_to_log,
    outcome,
    warning_codes,
)
from streamweir.codec.registry import process_dialects
from streamweir_gateway.fake import FAULTS, parse_faults
from streamweir_gateway.fake.run import Run

pytestmark = pytest.mark.anyio

COMPLETED = "completed"
UNREACHABLE = "UPSTREAM_UNREACHABLE upstream_unreachable"
TRUNCATED = "UPSTREAM_TRUNCATED truncated"
INVALID = "UPSTREAM_INVALID_RESPONSE malformed"
FAILED = "UPSTREAM_ERROR upstream_error"
TOO_LARGE = "STREAM_LIMIT_EXCEEDED limit"
FIRST_EVENT = "UPSTREAM_TIMEOUT first_event_timeout"
IDLE = "UPSTREAM_TIMEOUT idle_timeout"
TOTAL = "UPSTREAM_TIMEOUT total_timeout"

HIGH_WATER = Path("/proc/self/clear_refs")


def forget_high_water() -> int:
    """Reset the peak of resident memory, and return it in bytes."""
    gc.collect()
    HIGH_WATER.write_text("5")
    return high_water()


def high_water() -> int:
    """The peak of resident memory, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) << 10


FULL = ("legacy", "standard")
FRAMINGS = ("sse", "ndjson")
OTHERS = sorted({*process_dialects().readable} & {*process_dialects().writable} - {*FULL})


class Case(NamedTuple):
    """The expected result of some faults."""

    faults: str
    expected: str
    warning: str = ""
    options: Mapping[str, Any] = MappingProxyType({})

    def __str__(self) -> str:
        return self.faults.replace(" ", "+")


def limited(**limits: Any) -> dict[str, Any]:
    return {"limits": limits}


def timed(**timeouts: str) -> dict[str, Any]:
    return {"timeouts": {**PATIENT, **timeouts}}


NO_EVENT = {"timeouts": FIRST_EVENT_SOON}
SILENCE = {"timeouts": IDLE_SOON}
SMALL = limited(event_bytes="256KiB", stream_bytes="1MiB")
BRIEF = {"events": 0}
MALFORMED = "UPSTREAM_MALFORMED_EVENT"
INVALID_TEXT = "UPSTREAM_INVALID_TEXT"

CASES = [
    Case("refused", UNREACHABLE),
    Case("accept-close", UNREACHABLE),
    Case("reset-before-headers", UNREACHABLE),
    Case("no-headers", FIRST_EVENT, options=NO_EVENT),
    Case("cut-headers", UNREACHABLE),
    Case("not-http", INVALID),
    Case("drip-headers:1ms", COMPLETED),
    Case("drip-headers:50ms", FIRST_EVENT, options=NO_EVENT),
    Case("informational:20", COMPLETED),
    Case("informational:5000", f"{COMPLETED}|{INVALID}"),
    Case("long-header:8KiB", COMPLETED),
    Case("long-header:1MiB", INVALID),
    Case("many-headers:100", COMPLETED),
    Case("many-headers:20000", f"{COMPLETED}|{INVALID}"),
    Case("status:400", "UPSTREAM_REJECTED upstream_error"),
    Case("status:401", "AUTH_FAILED upstream_error"),
    Case("status:403", "AUTH_FAILED upstream_error"),
    Case("status:404", "NOT_FOUND upstream_error"),
    Case("status:408", "UPSTREAM_TIMEOUT upstream_error"),
    Case("status:418", "UPSTREAM_REJECTED upstream_error"),
    Case("status:429 retry-after:3s", "RATE_LIMITED upstream_error"),
    Case("status:500", FAILED),
    Case("status:503 retry-after:3s", FAILED),
    Case("status:504", "UPSTREAM_TIMEOUT upstream_error"),
    Case("status:599", FAILED),
    Case("status:201", FAILED),  # its body is read like that of 200, and is an error
    Case("status:206", INVALID),
    Case("status:304", INVALID),
    *(Case(f"redirect:{status}", INVALID) for status in (301, 302, 307)),
    Case("no-content", INVALID),
    Case("html", INVALID),
    Case("html-stream", INVALID),
    Case("json-envelope", "(INTERNAL|UPSTREAM)_ERROR upstream_error"),
    Case("empty", TRUNCATED),
    Case("wrong-type", INVALID),
    Case("bytewise", COMPLETED, options=BRIEF),
    Case("random-cuts", COMPLETED),
    Case("close-delimited", COMPLETED),
    Case("close-delimited cut@20", TRUNCATED),
    Case("length-short", TRUNCATED),
    Case("length-long", COMPLETED),
    Case("length-long no-end", TRUNCATED),
    Case("length-junk", INVALID),
    Case("two-lengths", INVALID),
    Case("no-last-chunk", COMPLETED),
    *(Case(name, COMPLETED, options=BRIEF) for name in ("gzip", "deflate", "br", "gzip bytewise")),
    *(Case(f"{name}-cut@20", TRUNCATED) for name in ("gzip", "deflate", "br")),
    *(Case(f"{name}-bomb@5:16MiB", TOO_LARGE, options=SMALL) for name in ("gzip", "deflate", "br")),
    Case("unknown-coding", INVALID),
    Case("cut@0", TRUNCATED),
    Case("cut@20", TRUNCATED),
    Case("cut-within@20", TRUNCATED),
    Case("cut-byte@1000", TRUNCATED),
    Case("stop@0", TRUNCATED),
    Case("stop@20", TRUNCATED),
    Case("stop-within@20", TRUNCATED),
    Case("reset@0", TRUNCATED),
    Case("reset@20", TRUNCATED),
    Case("bad-chunk@20", INVALID),
    Case("endless-line@20", TOO_LARGE, options=SMALL),
    Case("stall@0", FIRST_EVENT, options=NO_EVENT),
    Case("stall@20", IDLE, options=SILENCE),
    Case("stall@20:100ms", COMPLETED),
    Case("comments@0:30", FIRST_EVENT, options=NO_EVENT),
    Case("comments@20:15", COMPLETED, options=timed(idle="1s")),
    Case(
        "drip@20:10ms",
        TOTAL,
        options=timed(connect="1s", first_event="1s", idle="1s", total="1s"),
    ),
    Case("burst@20:2000", COMPLETED),
    Case("no-end", TRUNCATED),
    Case("open-tools@20:200", COMPLETED),
    Case("second-end", COMPLETED),
    Case("after-end:10", COMPLETED),
    Case("silence-after-end", COMPLETED),
    Case("error@20", FAILED),
    Case("error-then-more@20", FAILED),
    Case("failures@30", COMPLETED),
    Case("badjson@20", COMPLETED, MALFORMED),
    Case("badjson@end", COMPLETED),
    Case("badjson@end no-end", TRUNCATED),
    Case("garbage@20:4KiB", COMPLETED),
    Case("bad-utf8@20", COMPLETED, INVALID_TEXT),
    Case("nul@20", COMPLETED),
    Case("nul-byte@20", COMPLETED),
    Case("surrogate@20", COMPLETED, INVALID_TEXT),
    Case("nan@20", COMPLETED),
    Case("huge-int@20", COMPLETED),
    Case("duplicate-keys@20", COMPLETED),
    Case("wrong-types@20", COMPLETED),
    Case("nested@20:10000", COMPLETED),
    Case("long-line@20:100KiB", COMPLETED),
    Case("long-line@20:10MiB", TOO_LARGE, options=SMALL),
    Case("cut@12 stall@10:50ms badjson@5 bytewise", TRUNCATED, MALFORMED),
]

OWN_WORDS = {
    ("data-formulator", "error@20"): "LLM_SERVICE_ERROR upstream_error",
    ("data-formulator", "error-then-more@20"): "LLM_SERVICE_ERROR upstream_error",
    ("ag-ui", "open-tools@20:200"): "suspended",  # the client has to run a call without a result
    ("ag-ui", "nested@20:10000"): "suspended",
}
"""The expected results that hold for one dialect only, by dialect and faults."""


def depends_on_dialect(case: Case) -> bool:
    """Return whether the fault is about events, and not about HTTP."""
    faults = parse_faults(case.faults.split())
    return any(fault.kind.place in ("body", "ending") or fault.name in HTTP_FOR_ALL for fault in faults)


HTTP_FOR_ALL = ("html-stream", "json-envelope", "empty", "length-short", "gzip-cut", "random-cuts")


def test_every_fault_of_the_fake_backend_has_a_case() -> None:
    played = {re.split("[@:]", fault)[0] for case in CASES for fault in case.faults.split()}
    assert played == set(FAULTS)


def combinations() -> Iterator[Any]:
    """Faults of HTTP are tried once for each dialect and framing; all others in each combination."""
    for case in CASES:
        each = product(FULL, FRAMINGS) if depends_on_dialect(case) else zip(FULL, FRAMINGS, strict=True)
        for dialect, framing in each:
            yield pytest.param(case, dialect, framing, id=f"{case}-{dialect}-{framing}")


@pytest.mark.parametrize(("case", "dialect", "framing"), [*combinations()])
async def test_fault_gives_its_error_and_a_valid_stream(
    case: Case, dialect: str, framing: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with faulty_gateway(
        *case.faults.split(), dialect=dialect, framing=framing, **case.options
    ) as relay:
        answers = await asyncio.gather(*map(relay.ask, ("sse", "ndjson", "json")))
        await relay.settled()
        assert relay.backend.requests <= len(answers), "an agent must not run twice"
    expected = OWN_WORDS.get((dialect, case.faults), case.expected)
    for got in answers:
        assert re.fullmatch(expected, outcome(got)), got.body[-2000:]
        assert not case.warning or case.warning in warning_codes(got)
        assert got.status == (folded_status(got) if got.framing == "json" else 200)
    assert not leaks_to_log(caplog.records)


@pytest.mark.parametrize("dialect", OTHERS)
async def test_fault_in_another_dialect_gives_a_valid_stream(dialect: str, subtests: pytest.Subtests) -> None:
    """Faults about events. Limits and clocks do not depend on the dialect."""
    async with faulty_gateway(dialect=dialect) as relay:
        for case in filter(depends_on_dialect, CASES):
            if case.options or "silence" in case.faults:
                continue
            with subtests.test(faults=case.faults):
                got = await relay.ask("sse", *case.faults.split())
                await relay.settled()
                expected = OWN_WORDS.get((dialect, case.faults), case.expected)
                assert re.fullmatch(expected, outcome(got)), got.body[-2000:]


TALKATIVE = (
    "status:500",
    "status:401",
    "redirect:302",
    "not-http",
    "html",
    "html-stream",
    "json-envelope",
    "error@20",
    "error-then-more@20",
    "failures@30",
    "badjson@20",
    "badjson@end no-end",
    "unknown-coding",
)


@pytest.mark.parametrize("dialect", [*FULL, *OTHERS])
async def test_debug_and_raw_never_show_secrets(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with faulty_gateway(dialect=dialect, debug=True, raw=True) as relay:
        for faults in TALKATIVE:
            with naming(faults):
                await asyncio.gather(*(relay.ask(framing, *faults.split()) for framing in ("sse", "json")))
                await relay.settled()
    assert not leaks_to_log(caplog.records)


CODES_OF_STATUSES = {
    401: "AUTH_FAILED",
    403: "AUTH_FAILED",
    404: "NOT_FOUND",
    408: "UPSTREAM_TIMEOUT",
    429: "RATE_LIMITED",
    504: "UPSTREAM_TIMEOUT",
}


async def test_error_status_gives_its_code() -> None:
    async with faulty_gateway() as relay:
        for status in range(400, 600):
            got = await relay.ask("json", f"status:{status}")
            code = CODES_OF_STATUSES.get(status, "UPSTREAM_REJECTED" if status < 500 else "UPSTREAM_ERROR")
            assert outcome(got) == f"{code} upstream_error", status
            assert got.status == folded_status(got)
        await relay.settled()


CUTS = ("cut", "stop", "stop-within")


@pytest.mark.parametrize("dialect", [*FULL, *OTHERS])
async def test_cut_anywhere_is_never_a_success(dialect: str) -> None:
    events = list(Run(dialect, "sse", options={}).events())
    first_end = next(number for number, event in enumerate(events) if event.is_end)
    async with faulty_gateway(dialect=dialect) as relay:
        for position in range(first_end + 1):
            for fault in CUTS if dialect in FULL else [CUTS[position % len(CUTS)]]:
                assert outcome(await relay.ask("sse", f"{fault}@{position}")) == TRUNCATED, position
        assert outcome(await relay.ask("sse", f"cut@{len(events)}")) == COMPLETED
        await relay.settled()


@pytest.mark.parametrize("fault", ["status:429", "status:503"])
async def test_retry_after_is_passed_on(fault: str) -> None:
    async with faulty_gateway(fault, "retry-after:3s") as relay:
        streamed, folded = await asyncio.gather(*map(relay.ask, ("sse", "json")))
    assert streamed.error is not None
    assert streamed.error["retry_after_ms"] == folded.json["error"]["retry_after_ms"] == 3000
    assert folded.header("retry-after") == "3"


async def test_endless_malformed_events_end_the_stream() -> None:
    async with faulty_gateway(*["badjson@20"] * 60) as relay:
        got = await relay.ask()
        await relay.settled()
    assert outcome(got) == "STREAM_LIMIT_EXCEEDED malformed"


async def test_burst_arrives_complete() -> None:
    async with faulty_gateway("burst@20:100000") as relay:
        got = await relay.ask("json")
        await relay.settled()
    assert outcome(got) == COMPLETED
    assert got.json["message"]["content"].count("+") == 100_000


@pytest.mark.skipif(not HIGH_WATER.exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("faults", "expected", "options"),
    [
        ("gzip-bomb@5:512MiB", TOO_LARGE, SMALL),
        ("br-bomb@5:512MiB", TOO_LARGE, SMALL),
        ("endless-line@20", TOO_LARGE, SMALL),
        ("long-line@20:32MiB", TOO_LARGE, SMALL),
        ("gzip-bomb@5:64MiB", COMPLETED, {}),
        ("br-bomb@5:64MiB", COMPLETED, {}),
    ],
)
async def test_memory_of_a_fault_is_bounded(faults: str, expected: str, options: Mapping[str, Any]) -> None:
    async with faulty_gateway(*faults.split(), **options) as relay:
        await relay.ask()
        before = forget_high_water()
        got = await relay.ask()
        await relay.settled()
        grown = high_water() - before
    assert outcome(got) == expected
    # The fake backend in this process holds several copies of its line of 32 MiB.
    assert grown < (200 << 20 if "long-line" in faults else 24 << 20)
