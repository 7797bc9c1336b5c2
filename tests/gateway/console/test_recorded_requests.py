"""Requests in captures: heads and bodies as the client sent them, and as the upstream got them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from capture_checks import of_kind
from cases import case
from console_client import Console, console_of
from loopback import ask
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, chunk, upstream
from socket_service import service
from streamweir_gateway.relay.request_stream import MOST_KEPT

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

SMALL = b'{"message": "hi"}'
LARGE = json.dumps({"message": "x" * MOST_KEPT}).encode()


async def recorded(
    console: Console, target: str, body: bytes, method: str = "POST"
) -> dict[str, dict[str, Any]]:
    """The recorded requests of a call, by their sides."""
    name = f"to{target.replace('/', '-')}-{len(body)}"
    answered = await ask(console.running.at, method, target, headers=[("X-Request-Id", name)], body=body)
    assert answered.status == 200
    row = await console.row(request_id=name, state="ended")
    return {line["side"]: line for line in of_kind(await console.capture(row["id"]), "request")}


@pytest.mark.parametrize("capture", ["metadata", "content"])
async def test_recorded_request_has_the_head_and_the_body_that_the_upstream_got(
    tmp_path: Path, capture: str
) -> None:
    got: list[Call] = []

    async def answers(call: Call) -> None:
        got.append(call)
        await call.send(SSE, *map(chunk, HELLO), LAST_CHUNK)

    def shown(body: bytes) -> Any:
        return {"data": body.decode()} if capture == "content" else {"bytes": len(body)}

    async with upstream(answers) as backend:
        own = {"upstream": backend.url, "speaks": "legacy"}
        endpoints = {
            "/chat": own,
            "/get": {**own, "methods": ["GET"]},
            "/mapped": {**own, "request": "mapped"},
            "/app/*": {**own, "relay": "all"},
        }
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": capture}) as console:
            for target, body in (("/chat", SMALL), ("/get", b""), ("/mapped", SMALL), ("/app/chat", SMALL)):
                with case(target):
                    lines = await recorded(console, target, body, "GET" if target == "/get" else "POST")
                    call = got.pop()
                    asked = lines["upstream"]
                    assert asked["headers"] == [[name, value] for name, value in call.headers]
                    assert asked["url"] == backend.url.removesuffix("/") + call.target
                    assert asked["body"] == shown(call.body)
                    assert lines["client"]["body"] == shown(body)
            lines = await recorded(console, "/app/chat", LARGE)
            assert lines["client"]["body"] == lines["upstream"]["body"] == {"bytes": len(LARGE)}


async def test_recorded_request_over_a_websocket_is_the_handshake_and_the_message(tmp_path: Path) -> None:
    asked: list[tuple[ServerConnection, Any]] = []

    async def answers(connection: ServerConnection) -> None:
        asked.append((connection, await connection.recv()))
        for frame in HELLO:
            await connection.send(frame.decode().removeprefix("data: ").strip())

    async with service(answers, subprotocols=("chat.v1",)) as backend:
        settings = {"subprotocols": ["chat.v1"]}
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy", "websocket": settings}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            sent = (await recorded(console, "/chat", SMALL))["upstream"]
            connection, message = asked[0]
            assert connection.request is not None
            expected = [
                [name.lower(), "[redacted]" if name == "Sec-WebSocket-Key" else value]
                for name, value in connection.request.headers.raw_items()
            ]
            assert (sent["method"], sent["url"]) == ("GET", backend.url)
            assert sent["headers"] == expected
            assert sent["body"] == {"data": message} == {"data": SMALL.decode()}
            lines = await console.capture((await console.rows())[0]["id"])
            (head,) = of_kind(lines, "response", side="upstream")
            assert head["status"] == 101
            assert dict(head["headers"])["sec-websocket-protocol"] == "chat.v1"
