"""Clients of every protocol reach an upstream of another one, and are refused in their own form."""

import json
from typing import Any

import pytest

from loopback import Answer, ask, gateway, one_endpoint
from scripted_upstream import WHOLE, Upstream, upstream
from streamweir.codec.dialects import Dialects

pytestmark = pytest.mark.anyio

DIALECTS = Dialects.built_in()
PROTOCOLS = [name for name, dialect in DIALECTS.items() if dialect.reads_requests and dialect.writes]
OWN_FORM = ("openai-chat", "openai-responses", "anthropic")
"""The protocols whose refusals are no envelope of ours."""


async def posted(protocol: str, body: Any) -> tuple[Answer, Upstream]:
    async with upstream(WHOLE) as server:
        config = one_endpoint(server.url, request="mapped", answers=[protocol])
        async with gateway(config) as running:
            got = await ask(
                running, headers=[("Content-Type", "application/json")], body=json.dumps(body).encode()
            )
    return got, server


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_message_of_each_protocol_reaches_the_upstream(protocol: str) -> None:
    got, server = await posted(protocol, dict(DIALECTS[protocol].sample_request))
    assert (got.status, got.is_whole) == (200, True)
    sent = json.loads(server.call.body)
    assert sent["stream"] is True
    assert sent["message"] in json.dumps(dict(DIALECTS[protocol].sample_request))
    assert b"Hel" in got.body


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_refusal_has_the_form_of_the_protocol(protocol: str) -> None:
    got, server = await posted(protocol, {})
    assert (got.status, server.connections) == (400, 0)
    assert got.json["error"]["message"]
    if protocol in OWN_FORM:
        assert "status" not in got.json
        assert got.header("x-should-retry") == "false"
    else:
        assert got.json["error"]["code"] == "BAD_REQUEST"
