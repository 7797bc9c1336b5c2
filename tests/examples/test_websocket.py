"""The service over a WebSocket behind the gateway of the example: for its page, and for clients over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from command_line import COMMAND
from one_request import asked, wait_for
from places import ROOT
from ports import free_port
from streamweir.testing import check_stream

FOLDER = ROOT / "examples" / "websocket"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    service, gateway = free_port(), free_port()
    uvicorn = [
        sys.executable,
        "-m",
        "uvicorn",
        "--app-dir",
        str(FOLDER),
        "chat_service:app",
        "--ws",
        "wsproto",
    ]
    commands = {
        service: [*uvicorn, "--port", str(service)],
        gateway: [*COMMAND, "serve", str(FOLDER / "gateway.yaml")],
    }
    environment = {**os.environ, "PORT": str(gateway), "SERVICE": f"127.0.0.1:{service}"}
    with ExitStack() as stack:
        for place, command in commands.items():
            server = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(server.wait)
            stack.callback(server.kill)
            wait_for(place)
        yield gateway


def test_page_of_the_service_works_unchanged(port: int) -> None:
    assert b"<title>Chat</title>" in asked(port, "GET", "/old/")[1]
    origin = Origin(f"http://127.0.0.1:{port}")
    with connect(f"ws://127.0.0.1:{port}/old/chat", origin=origin) as page:
        for _ in range(2):
            page.send(json.dumps({"message": "How many orders?"}))
            events: list[dict[str, str]] = []
            while not events or events[-1]["type"] != "done":
                events.append(json.loads(page.recv()))
            text = "".join(event["content"] for event in events if event["type"] == "token")
            assert text == "Hangzhou had 1,204 orders."


def test_client_over_http_gets_the_same_service(port: int) -> None:
    _, body, _ = asked(port, "POST", "/chat", b'{"message": "How many orders?"}')
    assert not check_stream(body, framing="sse")
    assert b"How many orders?" in body
    assert b"1,204" in body


def test_client_of_openai_gets_the_same_service(port: int) -> None:
    request = {"model": "any", "stream": True, "messages": [{"role": "user", "content": "How many orders?"}]}
    _, body, _ = asked(port, "POST", "/v1/chat/completions", json.dumps(request).encode())
    assert b'"1,204 "' in body
    assert body.endswith(b"data: [DONE]\n\n")
