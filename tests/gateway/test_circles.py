"""A request that comes back to the gateway that has sent it is refused, however many gateways lie between."""

from typing import Any

import pytest

from loopback import ask, gateway, settled
from ports import free_port
from scripted_upstream import WHOLE, upstream
from streamweir_gateway.app import build_app
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.upstream.via import Via

pytestmark = pytest.mark.anyio


def before(url: str, **options: Any) -> GatewayConfig:
    return settled(endpoints={"/chat": {"upstream": url, "speaks": "legacy", **options}})


@pytest.mark.parametrize(
    "options", [{}, {"relay": "all"}, {"request": "mapped"}], ids=["", "relay", "mapped"]
)
async def test_request_to_an_upstream_carries_the_marks_of_its_way(options: dict[str, Any]) -> None:
    async with upstream(WHOLE) as server, gateway(before(server.url, **options)) as running:
        body = b'{"message": "Hi"}'
        for given in ([], [("Via", "1.1 first, 1.0 second")]):
            await ask(running, headers=[*given, ("Content-Type", "application/json")], body=body)
            lines = [value for name, value in server.calls[-1].headers if name == "via"]
            *others, own = [value.strip() for line in lines for value in line.split(",")]
            assert others == (["1.1 first", "1.0 second"] if given else [])
            assert own.startswith("1.1 streamweir-")
            assert len(own) == len("1.1 streamweir-01234567")


@pytest.mark.parametrize("options", [{}, {"relay": "all"}], ids=["", "relay"])
async def test_request_that_comes_back_is_refused_before_keys_and_limits(options: dict[str, Any]) -> None:
    config = settled(
        auth={"keys": {"web": "sk-web-4711-secret"}},
        endpoints={"/chat": {"upstream": "http://127.0.0.1:9", "speaks": "legacy", **options}},
    )
    via = Via()
    async with gateway(config, build_app(config, via=via)) as running:
        answer = await ask(running, headers=[("Via", f"1.1 other, {via.value().decode()}, 1.1 more")])
        assert answer.status == 508
        assert answer.json["error"] == {
            "code": "LOOP_DETECTED",
            "message": "The request came back to the gateway that had sent it on.",
            "retry": False,
        }
        other = await ask(running, headers=[("Via", "1.1 streamweir-01234567")])
        assert other.status == 401, "another gateway's mark"


async def test_circle_through_another_gateway_ends_and_asks_no_other_upstream() -> None:
    port = free_port()
    async with upstream(WHOLE) as never, gateway(before(f"http://127.0.0.1:{port}/chat")) as second:
        host, number = second.address
        way = [f"http://{host}:{number}/chat", never.url]
        config = settled(
            listen=f"127.0.0.1:{port}",
            endpoints={"/chat": {"upstream": way, "speaks": "standard"}},
        )
        async with gateway(config, port=port) as first:
            answer = await ask(first, headers=[("Accept", "application/json")])
            assert answer.status == 502
            assert not never.calls
