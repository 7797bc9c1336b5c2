"""What the log line says of a request whose last upstreams were not asked, or whose first ones failed."""

import pytest

from loopback import ask, client, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, Call, answer, chunk, upstream

pytestmark = pytest.mark.anyio

NOBODY = "http://127.0.0.1:9"


async def held(call: Call) -> None:
    await call.send(SSE, chunk(b'data: {"type": "token", "content": "Hi"}\n\n'))
    await call.until_closed()


@pytest.mark.parametrize("last", ["open", "full"])
async def test_hint_names_the_upstreams_that_were_not_asked_behind_a_failure(last: str) -> None:
    async with upstream(answer(b"", status="404 No")) as first, upstream(held) as second:
        config = settled(
            upstreams={
                "first": {"url": first.url},
                "open": {"url": NOBODY, "breaker": {"failures": 1, "open_for": "1h"}},
                "full": {"url": second.url, "max_streams": 1},
            },
            defaults={"speaks": "legacy"},
            endpoints={
                "/chat": {"upstream": ["first", last]},
                "/first": {"upstream": [last, "first"]},
                "/alone": {"upstream": last},
            },
        )
        async with gateway(config) as running, client(running) as holding:
            holding.send(target="/alone")
            await holding.until(b"session_start")
            if last == "open":
                await running.log.next_line()
            lines = []
            for path in ("/chat", "/first"):
                await ask(running, target=path)
                lines.append(await running.log.next_line())
    expected = {
        "open": r"the breaker has been open for 0s, after 1 failures in a row",
        "full": r"the upstream has max_streams streams already",
    }[last]
    refused = "the upstream answered 404: it has nothing at this path"
    assert lines[0]["hint"] == f"attempt 1: {refused}; attempt 2: {expected}"
    assert lines[1]["hint"] == f"attempt 1: {expected}; {refused}"
    assert [(line["attempts"], line["upstream"], line["code"]) for line in lines] == [
        (1, "first", "NOT_FOUND")
    ] * 2


async def test_cause_of_a_failure_is_that_of_the_attempt_that_the_client_gets() -> None:
    async with upstream(answer(b"", status="404 No")) as server:
        config = settled(endpoints={"/chat": {"upstream": [NOBODY, server.url], "speaks": "legacy"}})
        async with gateway(config) as running:
            await ask(running)
            line = await running.log.next_line()
    assert (line["code"], line["upstream_status"], line["attempts"]) == ("NOT_FOUND", 404, 2)
    assert line["hint"].startswith("attempt 1: connection refused; the upstream answered 404")
    assert "cause" not in line


async def test_failure_in_an_opening_without_a_follower_has_its_bytes() -> None:
    opening = b'data: {"type": "error", "code": "RATE_LIMITED", "message": "wait"}\n\n'
    async with upstream(SSE + chunk(opening) + LAST_CHUNK) as server:
        config = settled(
            upstreams={
                "first": {"url": server.url},
                "open": {"url": NOBODY, "breaker": {"failures": 1, "open_for": "1h"}},
            },
            defaults={"speaks": "legacy"},
            endpoints={"/chat": {"upstream": ["first", "open"]}, "/alone": {"upstream": "open"}},
        )
        async with gateway(config) as running:
            await ask(running, target="/alone")
            await running.log.next_line()
            await ask(running)
            line = await running.log.next_line()
    assert (line["code"], line["attempts"], line["bytes_in"]) == ("RATE_LIMITED", 1, len(opening))
    assert line["first_event_ms"] <= line["duration_ms"]
