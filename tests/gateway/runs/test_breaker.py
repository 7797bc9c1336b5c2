"""The circuit breaker of an upstream, over sockets and alone."""

import asyncio
from typing import Any

import pytest

from loopback import ask, client, gateway, settled
from patience import PROMPTLY, until
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, Script, answer, chunk, upstream
from streamweir_gateway.config import Breaker, GatewayConfig
from streamweir_gateway.runs.breaker import CircuitBreaker

pytestmark = pytest.mark.anyio

BROKEN = answer(b"", status="500 Broken")
TOKEN, _, DONE = HELLO


def guarded(url: str, *, breaker: Any, **endpoint: Any) -> GatewayConfig:
    """`/chat` and `/other` before one upstream."""
    return settled(
        upstreams={"model": {"url": url, "speaks": "legacy", "breaker": breaker}},
        endpoints={path: {"upstream": "model", **endpoint} for path in ("/chat", "/other")},
    )


async def silent(call: Call) -> None:
    await call.until_closed()


@pytest.mark.parametrize(
    "script",
    [
        BROKEN,
        answer(b"", status="504 Late"),
        answer(b"<html>", "Content-Type: text/html"),
        b"",
        b"nonsense\r\n\r\n",
        SSE + LAST_CHUNK,
        SSE + chunk(b"data: {"),
        silent,
    ],
    ids=["500", "504", "html", "closed", "not http", "empty", "cut off", "silent"],
)
async def test_failures_in_a_row_open_the_breaker_for_all_endpoints(script: Script | bytes) -> None:
    config = {"failures": 2, "open_for": "30s"}
    timeouts = {"connect": "200ms", "first_event": "200ms", "idle": "200ms"}
    async with (
        upstream(script) as server,
        gateway(guarded(server.url, breaker=config, timeouts=timeouts)) as running,
    ):
        await ask(running)
        await ask(running, target="/other")
        connections = server.connections
        got = await ask(running)
        assert server.connections == connections
        assert got.assert_valid()
        assert got.error is not None
        assert got.error["code"] == "UPSTREAM_UNREACHABLE"
        assert 28_000 < got.error["retry_after_ms"] <= 30_000
        assert server.connections == 2
        assert running.log.lines[-1]["attempts"] == 0
        folded = await ask(running, headers=[("Accept", "application/json")])
        assert (folded.status, folded.header("retry-after")) == (502, "30")


@pytest.mark.parametrize(
    "script",
    [
        answer(b"", status="404 No"),
        answer(b"", status="429 Slow down"),
        answer(b"", status="408 Late"),
        SSE + chunk(b'data: {"type": "error", "content": "no"}\n\n') + LAST_CHUNK,
        SSE + chunk(TOKEN),
    ],
    ids=["404", "429", "408", "an error event", "broken off after an event"],
)
async def test_refusals_and_our_own_ends_do_not_count_for_the_breaker(script: Script | bytes) -> None:
    config = {"failures": 1, "open_for": "30s"}
    async with upstream(script) as server, gateway(guarded(server.url, breaker=config)) as running:
        for _ in range(3):
            await ask(running)
        assert server.connections == 3


async def test_client_that_leaves_does_not_count_for_the_breaker() -> None:
    config = {"failures": 1, "open_for": "30s"}
    async with upstream(silent) as server, gateway(guarded(server.url, breaker=config)) as running:
        for number in (1, 2):
            async with client(running) as connected:
                connected.send()
                await until(lambda calls=number: len(server.calls) == calls)  # type: ignore[misc]
                connected.leave()
                await running.log.next_line()
        assert server.connections == 2


async def test_breaker_can_be_off() -> None:
    async with upstream(BROKEN) as server, gateway(guarded(server.url, breaker="off")) as running:
        for _ in range(8):
            await ask(running)
        assert server.connections == 8


async def test_half_open_breaker_admits_one_trial_and_its_first_event_closes_it() -> None:
    scripts: list[Script | bytes] = [BROKEN, silent]

    async def script(call: Call) -> None:
        played = scripts.pop(0) if scripts else WHOLE
        await (call.send(played) if isinstance(played, bytes) else played(call))

    async with (
        upstream(script) as server,
        gateway(guarded(server.url, breaker={"failures": 1, "open_for": "300ms"})) as running,
    ):
        await ask(running)
        await asyncio.sleep(0.35)
        async with client(running) as trial:
            trial.send()
            await until(lambda: server.connections == 2)
            assert (await ask(running)).error is not None, "the trial is under way"
            assert server.connections == 2
            trial.leave()
            await until(lambda: len(running.streams) == 0, PROMPTLY)
        got = await ask(running)  # the permit of the trial that was given up
        assert got.assert_valid().text == "Hello"
        answers = await asyncio.gather(*(ask(running) for _ in range(5)))
        assert {got.text for got in answers} == {"Hello"}


async def test_open_breaker_lets_the_next_upstream_be_asked_at_once() -> None:
    async with upstream(BROKEN) as one, upstream(WHOLE) as two:
        config = settled(
            upstreams={
                "one": {"url": one.url, "speaks": "legacy", "breaker": {"failures": 1, "open_for": "30s"}},
                "two": {"url": two.url, "speaks": "legacy"},
            },
            endpoints={"/chat": {"upstream": ["one", "two"]}},
        )
        async with gateway(config) as running:
            for _ in range(3):
                assert (await ask(running)).assert_valid().text == "Hello"
    assert (one.connections, two.connections) == (1, 3)


async def test_earlier_failure_is_reported_rather_than_an_open_breaker() -> None:
    async with upstream(BROKEN) as one, upstream(answer(b"", status="404 No")) as two:
        config = settled(
            upstreams={
                "one": {"url": one.url, "speaks": "legacy", "breaker": {"failures": 1, "open_for": "30s"}},
                "two": {"url": two.url, "speaks": "legacy"},
            },
            endpoints={"/chat": {"upstream": ["two", "one"]}},
        )
        async with gateway(config) as running:
            await ask(running)
            got = await ask(running)
    assert got.assert_valid()
    assert got.error is not None
    assert got.error["code"] == "NOT_FOUND"


# --- the breaker alone --------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_breaker(clock: Clock) -> tuple[CircuitBreaker, list[str]]:
    breaker, seen = CircuitBreaker(Breaker(failures=2, open_for=10), clock=clock), list[str]()
    breaker.on_change = seen.append
    return breaker, seen


def test_breaker_goes_through_its_states() -> None:
    clock = Clock()
    breaker, seen = a_breaker(clock)
    assert breaker.enter() is False
    breaker.failed(is_trial=False)
    assert (breaker.state, breaker.blocked_for()) == ("closed", None)
    breaker.failed(is_trial=False)
    assert (breaker.state, breaker.blocked_for()) == ("open", 10)
    clock.now += 10
    assert (breaker.state, breaker.blocked_for()) == ("half_open", None)
    assert breaker.enter() is True
    assert breaker.blocked_for() is not None
    breaker.failed(is_trial=True)
    breaker.leave()
    assert (breaker.state, breaker.blocked_for()) == ("open", 10)
    clock.now += 10
    assert breaker.enter() is True
    breaker.succeeded()
    breaker.leave()
    assert (breaker.state, breaker.failures) == ("closed", 0)
    assert seen == ["open", "half_open", "open", "half_open", "closed"]


def test_first_event_resets_the_count_of_failures() -> None:
    breaker, _ = a_breaker(Clock())
    for _ in range(3):
        breaker.failed(is_trial=False)
        breaker.succeeded()
    assert breaker.state == "closed"


def test_failures_of_requests_under_way_do_not_keep_the_breaker_open() -> None:
    clock = Clock()
    breaker, _ = a_breaker(clock)
    breaker.failed(is_trial=False)
    breaker.failed(is_trial=False)
    clock.now += 9
    breaker.failed(is_trial=False)
    assert breaker.blocked_for() == 1
