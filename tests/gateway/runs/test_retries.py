"""Retries of the same upstream: conditions, number and waits."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import pytest

from loopback import Answer, ask, client, gateway, settled
from patience import PROMPTLY
from ports import free_port
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, Script, Upstream, answer, chunk, upstream
from streamweir.errors import error_info
from streamweir_gateway.config import GatewayConfig, Retries
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.retry_plan import Failure, RetryPlan, seconds_before

pytestmark = pytest.mark.anyio

BUSY = answer(b"", status="503 Unavailable")
TOKEN, _, DONE = HELLO


def retrying(url: str, *, endpoint: dict[str, Any] | None = None, **retries: Any) -> GatewayConfig:
    """`/chat` before one upstream that is asked up to three times."""
    return settled(
        upstreams={
            "model": {
                "url": url,
                "speaks": "legacy",
                "retries": {"attempts": 3, "backoff": "10ms", **retries},
            }
        },
        endpoints={"/chat": {"upstream": "model", **(endpoint or {})}},
    )


def in_turn(*scripts: bytes | Script) -> Script:
    """The first connection plays the first script and so on; the last one stays."""
    left = list(scripts)

    async def script(call: Call) -> None:
        played = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(played, bytes):
            await call.send(played)
        else:
            await played(call)

    return script


async def asked(
    scripts: Iterable[bytes | Script], *, endpoint: dict[str, Any] | None = None, **retries: Any
) -> tuple[Answer, Upstream, dict[str, Any]]:
    """Return the client's answer, the upstream, and the log line."""
    async with (
        upstream(in_turn(*scripts)) as server,
        gateway(retrying(server.url, endpoint=endpoint, **retries)) as running,
    ):
        got = await ask(running, body=b'{"question": 1}')
        return got, server, await running.log.next_line()


async def test_duration_counts_from_the_request_over_all_attempts() -> None:
    got, *_ = await asked([BUSY, BUSY, WHOLE], backoff="150ms")
    assert got.assert_valid().end["summary"]["duration_ms"] >= 450  # 150 and 300 before the last attempt


async def test_temporary_status_is_not_seen_by_the_client() -> None:
    got, server, line = await asked([BUSY, answer(b"", status="429 Slow down"), WHOLE])
    assert got.assert_valid().text == "Hello"
    assert got.types.count("session_start") == 1
    assert [call.body for call in server.calls] == [b'{"question": 1}'] * 3
    assert len({call.header("x-request-id") for call in server.calls}) == 1
    assert (line["attempts"], line["reason"], line["upstream_status"]) == (3, "done", 200)
    assert "cause" not in line


async def test_attempts_are_limited_by_max() -> None:
    got, server, line = await asked([BUSY])
    assert got.assert_valid()
    assert got.error is not None
    assert len(server.calls) == line["attempts"] == 3


@pytest.mark.parametrize(
    "response",
    [
        answer(b"", status="500 Broken"),
        answer(b"", status="400 Bad"),
        answer(b"<html>", "Content-Type: text/html"),
        SSE + LAST_CHUNK,
        b"nonsense\r\n\r\n",
        b"",
    ],
    ids=["500", "400", "html", "empty", "not http", "closed"],
)
async def test_failure_that_is_not_retried_is_reported_at_once(response: bytes) -> None:
    got, server, _ = await asked([response])
    assert got.assert_valid()
    assert got.error is not None
    assert server.connections == 1


async def test_statuses_to_retry_are_configurable() -> None:
    got, server, _ = await asked([answer(b"", status="500 Broken"), WHOLE], on=[500])
    assert got.assert_valid().text == "Hello"
    got, server, _ = await asked([BUSY, WHOLE], on=["connect", 500])
    assert got.error is not None
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "first",
    [
        SSE + chunk(TOKEN),
        SSE + chunk(b'data: {"type": "error", "content": "no"}\n\n') + LAST_CHUNK,
        SSE + chunk(TOKEN.rstrip(b"\n")),
    ],
    ids=["broken off", "an error event", "an event without its blank line"],
)
async def test_attempt_is_not_repeated_after_the_first_event(first: bytes) -> None:
    got, server, line = await asked([first, WHOLE])
    assert got.assert_valid().end["status"] == "error"
    assert server.connections == line["attempts"] == 1


async def test_refused_connection_is_retried() -> None:
    port = free_port()
    async with gateway(retrying(f"http://127.0.0.1:{port}", attempts=10, backoff="40ms")) as running:
        asking = asyncio.create_task(ask(running))
        await asyncio.sleep(0.1)
        async with upstream(WHOLE, port=port) as server:
            got = await asking
            assert got.assert_valid().text == "Hello"
            assert server.connections == 1


async def test_request_that_may_have_been_processed_is_not_retried() -> None:
    async def reset(call: Call) -> None:
        call.reset()

    got, server, _ = await asked([reset, WHOLE], on=["connect"])
    assert got.error is not None
    assert got.error["code"] == "UPSTREAM_UNREACHABLE"
    assert server.connections == 1


async def test_heartbeats_continue_over_attempts() -> None:
    got, _, _ = await asked([BUSY, WHOLE], backoff="300ms", endpoint={"heartbeat": "50ms"})
    assert got.assert_valid().text == "Hello"
    assert got.pieces[:3] == [b": ping\n"] * 3
    assert got.types.count("session_start") == 1


async def test_warnings_of_a_failed_attempt_are_not_sent() -> None:
    junk = SSE + chunk(b"data: {\n\n") * 3 + chunk(b": hello\n\n")
    async with upstream(junk) as first, upstream(WHOLE) as second:
        config = settled(endpoints={"/chat": {"upstream": [first.url, second.url], "speaks": "legacy"}})
        async with gateway(config) as running:
            got = await ask(running)
    assert got.assert_valid().text == "Hello"
    assert "warning" not in got.types


# --- how long -----------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_short_retry_after_is_waited_for() -> None:
    began = time.monotonic()
    got, _, _ = await asked([answer(b"", "Retry-After: 1", status="429 Slow down"), WHOLE])
    assert got.assert_valid().text == "Hello"
    assert time.monotonic() - began >= 1


async def test_long_retry_after_is_not_waited_for() -> None:
    got, server, _ = await asked([answer(b"", "Retry-After: 11", status="503 Busy"), WHOLE])
    assert got.assert_valid()
    assert got.error is not None
    assert got.error["retry_after_ms"] == 11_000
    assert len(server.calls) == 1


def test_wait_doubles_and_is_at_least_retry_after() -> None:
    retries = Retries(attempts=9, backoff=0.1)
    waits = [seconds_before(tries, retries, None) for tries in range(1, 9)]
    for wait, least in zip(waits, (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10), strict=True):
        assert wait is not None
        assert least <= wait <= 1.25 * least
    assert seconds_before(1, retries, error_info("RATE_LIMITED", retry_after_ms=10_000)) == 10
    assert seconds_before(1, retries, error_info("RATE_LIMITED", retry_after_ms=10_001)) is None


@pytest.mark.slow
async def test_total_timeout_ends_a_wait() -> None:
    timeouts = {"connect": "1s", "first_event": "1s", "idle": "1s", "total": "1s"}
    got, server, _ = await asked([BUSY], backoff="60s", endpoint={"timeouts": timeouts})
    assert got.assert_valid().end["reason"] == "total_timeout"
    assert len(server.calls) == 1


async def test_client_that_leaves_ends_a_wait() -> None:
    async with upstream(BUSY) as server, gateway(retrying(server.url, backoff="9s")) as running:
        async with client(running) as connected:
            connected.send()
            async with asyncio.timeout(PROMPTLY):
                await server.called.wait()
            await asyncio.sleep(0.1)
            connected.leave()
            async with asyncio.timeout(PROMPTLY):
                line = await running.log.next_line()
        assert line["reason"] == "client_gone"
        assert len(server.calls) == 1
        assert len(running.streams) == 0


async def test_drain_ends_a_wait() -> None:
    async with upstream(BUSY) as server, gateway(retrying(server.url, backoff="9s")) as running:
        asking = asyncio.create_task(ask(running))
        async with asyncio.timeout(PROMPTLY):
            await server.called.wait()
        await asyncio.sleep(0.1)
        running.streams.drain()
        got = await asking
    assert got.assert_valid().end["reason"] == "draining"


# --- the order of attempts ----------------------------------------------------------------------------------


def destinations(*attempts: int) -> list[Destination]:
    class Stub:
        def __init__(self, number: int) -> None:
            self.retries = Retries(attempts=number)

    stubs: list[Any] = [Stub(number) for number in attempts]
    return stubs


def test_each_upstream_has_its_attempts_before_the_next() -> None:
    course = RetryPlan(destinations(2, 1, 2))
    again = Failure(error_info("UPSTREAM_ERROR"), status=503)
    other = Failure(error_info("UPSTREAM_ERROR"), status=500)
    way = []
    for failure in (again, again, again, other):
        way.append((course.destination.retries.attempts, course.may_follow_stream()))
        seconds = course.advance(failure)
    assert way == [(2, True), (2, True), (1, True), (2, True)]
    assert seconds is None
