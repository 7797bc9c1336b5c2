"""Three-turn tool loops over real HTTP: the upstream sees its turns unchanged, whatever the client carries."""

import json
from typing import Any

import pytest

from clients import CLIENTS, ProtocolClient
from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import Upstream, upstream
from streamweir_gateway.config import GatewayConfig
from strict_upstreams import ANSWERS, STRICT, StrictUpstream

pytestmark = pytest.mark.anyio

JSON = ("Content-Type", "application/json")
ALL_OFF = ("standard", "anthropic", "openai-chat", "openai-responses", "ag-ui", "vercel-ui")


def before(strict: StrictUpstream, url: str, **options: Any) -> GatewayConfig:
    """A gateway whose endpoint `/chat` is before a strict upstream, for clients of all protocols."""
    mode: Any = {"mapped": strict.overlay} if strict.overlay else "mapped"
    endpoint = {
        "upstream": url + strict.path,
        "speaks": strict.dialect,
        "answers": [client.protocol for client in CLIENTS],
        "request": mode,
        "path": strict.path,
        **options,
    }
    endpoint["upstream"] = url
    return settled(endpoints={"/chat": endpoint})


async def send(running: Gateway, client: ProtocolClient, *headers: tuple[str, str]) -> Answer:
    names = [JSON, ("Accept", client.accept), ("X-Streamweir-Protocol", client.protocol), *headers]
    return await ask(running, headers=names, body=json.dumps(client.body()).encode())


async def turn(running: Gateway, client: ProtocolClient, *headers: tuple[str, str]) -> Answer:
    """Send the history of a client, and add the answer to it."""
    got = await send(running, client, *headers)
    assert got.status == 200, got.body
    client.take(got)
    return got


async def loop(running: Gateway, client: ProtocolClient) -> None:
    """Ask twice; run all tools in between."""
    client.ask("How do I get there?")
    await turn(running, client)
    assert [name for _, name, _ in client.calls] == ["look", "look"]
    client.add_results()
    await turn(running, client)
    assert [name for _, name, _ in client.calls] == ["ride"]
    client.add_results()
    await turn(running, client)
    assert (client.text, client.calls) == (ANSWERS[0], [])
    client.ask("Thank you!")
    await turn(running, client)
    assert client.text == ANSWERS[1]


@pytest.mark.parametrize("make_upstream", STRICT)
@pytest.mark.parametrize("make_client", CLIENTS)
async def test_tool_loop_of_a_client_that_carries_nothing_is_not_refused(
    make_upstream: type[StrictUpstream], make_client: type[ProtocolClient]
) -> None:
    strict = make_upstream()
    async with upstream(strict) as server, gateway(before(strict, server.url)) as running:
        await loop(running, make_client())
        assert strict.refusals == []
        assert [call.method for call in server.calls] == ["POST"] * 4
