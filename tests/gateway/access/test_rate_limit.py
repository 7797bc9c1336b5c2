"""So many requests per client, and what the one too many is told."""

from typing import Any

import pytest

from loopback import Gateway, ask, gateway, settled
from scripted_upstream import WHOLE, upstream
from streamweir_gateway.access.rate_limit import RateLimiter
from streamweir_gateway.config import GatewayConfig, RateLimit


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limiter(requests: int, seconds: float, **options: Any) -> tuple[RateLimiter, Clock]:
    clock = Clock()
    return RateLimiter(RateLimit(requests=requests, seconds=seconds), clock=clock, **options), clock


def admitted(limits: RateLimiter, times: int, client: str = "a") -> int:
    return sum(limits.wait(client) == 0 for _ in range(times))


def test_rate_limit_with_ten_calls_allows_its_number() -> None:
    limits, clock = limiter(3, 60)
    assert admitted(limits, 10) == 3
    clock.now += 59.9
    assert admitted(limits, 10) == 0


def test_rate_limit_counts_each_client_alone() -> None:
    limits, _ = limiter(3, 60)
    assert admitted(limits, 10, "a") == admitted(limits, 10, "b") == 3


def test_rate_limit_allows_a_request_after_retry_after() -> None:
    limits, clock = limiter(3, 60)
    for _ in range(20):
        while (wait := limits.wait("a")) == 0:
            clock.now += 0.001
        clock.now += wait - 0.01
        assert limits.wait("a") > 0
        clock.now += 0.011
        assert limits.wait("a") == 0


def test_rate_limit_window_does_not_restart_at_once() -> None:
    limits, clock = limiter(100, 60)
    clock.now += 59
    assert admitted(limits, 200) == 100
    clock.now += 75.001  # a quarter into the next window: three quarters of the first still count
    assert admitted(limits, 200) == 26  # what counts in part is rounded down


def test_rate_limit_of_a_client_that_never_stops_allows_its_share() -> None:
    limits, clock = limiter(10, 60)
    total = 0
    for _ in range(6000):
        total += admitted(limits, 1)
        clock.now += 0.1
    assert 90 <= total <= 110  # ten minutes


def test_rate_limit_after_a_silent_window_is_whole_again() -> None:
    limits, clock = limiter(5, 60)
    assert admitted(limits, 9) == 5
    clock.now += 120
    assert admitted(limits, 9) == 5


def test_rate_limit_memory_is_bounded_and_freed() -> None:
    limits, clock = limiter(1, 60, max_clients=100)
    for number in range(1000):
        assert limits.wait(f"{number}") == 0
    assert len(limits) == 100
    assert limits.wait("999") > 0
    clock.now += 121
    for number in range(60):
        limits.wait(f"later {number}")
    assert len(limits) == 60


def limited(url: str, **file: Any) -> GatewayConfig:
    chat = {"upstream": url, "speaks": "legacy"}
    return settled(
        **{
            "endpoints": {"/chat": chat, "/other": chat, "/own": {**chat, "rate_limit": "1/hour"}},
            "rate_limit": "3/hour",
            **file,
        }
    )


async def statuses(running: Gateway, times: int, target: str = "/chat", **options: Any) -> list[int]:
    return [(await ask(running, target=target, **options)).status for _ in range(times)]


@pytest.mark.anyio
async def test_request_above_the_rate_is_429_with_retry_after() -> None:
    async with upstream(WHOLE) as server, gateway(limited(server.url)) as running:
        assert await statuses(running, 3) == [200] * 3
        before = len(running.log.lines)
        answer = await ask(running)
        assert answer.status == 429
        assert answer.json["error"] == {
            "code": "RATE_LIMITED",
            "message": "Too many requests. Please wait and try again.",
            "retry": True,
        }
        assert 3590 <= int(answer.header("retry-after") or 0) <= 3600
        (line,) = running.log.lines[before:]
        assert (line["endpoint"], line["status"], line["code"]) == ("/chat", 429, "RATE_LIMITED")
        assert server.connections <= 3


@pytest.mark.anyio
async def test_endpoints_share_the_gateways_limit_unless_they_have_their_own() -> None:
    async with upstream(WHOLE) as server, gateway(limited(server.url)) as running:
        assert await statuses(running, 2, "/chat") == [200] * 2
        assert await statuses(running, 2, "/other") == [200, 429]
        assert await statuses(running, 2, "/own") == [200, 429]


@pytest.mark.anyio
async def test_request_without_an_endpoint_does_not_count() -> None:
    async with upstream(WHOLE) as server, gateway(limited(server.url)) as running:
        assert await statuses(running, 5, "/nothing") == [404] * 5
        assert await statuses(running, 5, method="GET") == [405] * 5
        assert await statuses(running, 9, "/healthz", method="GET", body=b"") == [200] * 9
        assert await statuses(running, 1) == [200]


@pytest.mark.anyio
async def test_rate_limit_counts_each_key_by_itself() -> None:
    async with upstream(WHOLE) as server:
        config = limited(server.url, auth={"keys": {"web": "the-key-of-web", "batch": "the-key-of-batch"}})
        async with gateway(config) as running:
            web, batch = [("X-Api-Key", "the-key-of-web")], [("Authorization", "Bearer the-key-of-batch")]
            assert await statuses(running, 5) == [401] * 5
            assert await statuses(running, 4, headers=web) == [200] * 3 + [429]
            assert running.log.lines[-1]["key"] == "web"
            assert await statuses(running, 4, headers=batch) == [200] * 3 + [429]


@pytest.mark.anyio
async def test_rate_limit_counts_addresses_of_a_trusted_proxy() -> None:
    def from_(address: str) -> list[tuple[str, str]]:
        return [("X-Forwarded-For", address)]

    async with upstream(WHOLE) as server:
        config = limited(server.url, server={"trusted_proxies": ["127.0.0.1"]})
        async with gateway(config) as running:
            assert await statuses(running, 4, headers=from_("198.51.100.1")) == [200] * 3 + [429]
            assert await statuses(running, 1, headers=from_("192.0.2.1, 198.51.100.1")) == [429]
            assert await statuses(running, 1, headers=from_("198.51.100.2")) == [200]


@pytest.mark.anyio
async def test_forwarded_address_of_an_untrusted_peer_is_not_counted() -> None:
    async with upstream(WHOLE) as server, gateway(limited(server.url)) as running:
        found = [
            (await ask(running, headers=[("X-Forwarded-For", f"198.51.100.{number}")])).status
            for number in range(4)
        ]
    assert found == [200] * 3 + [429]
