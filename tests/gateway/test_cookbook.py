"""The cookbook's files: checked with their examples, run, and named by the page."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from command_line import run
from loopback import ask, gateway
from places import DOCS, ROOT
from scripted_upstream import CLOSE_DELIMITED, Call, upstream
from socket_service import service
from streams import events_of
from streamweir.codec.registry import process_dialects
from streamweir_gateway.config import GatewayConfig, parse_config
from streamweir_gateway.config.schema import SCHEMA_FILE

pytestmark = pytest.mark.anyio

FOLDER = ROOT / "examples" / "cookbook"
BODY = '{"message": "Tea?", "thread_id": "t"}'
FILES = sorted(FOLDER.glob("*.yaml"))


def loaded(name: str, url: str) -> GatewayConfig:
    """The configuration of a file, with a backend of the test's in the place of the one it names."""
    text = re.sub(r"(?:http|ws)://127\.0\.0\.1:\d+(?=[/\s])(?:/\w+)?", url, (FOLDER / name).read_text())
    return parse_config(text, name=name, folder=FOLDER, dialects=process_dialects(), environ={})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cookbook_file_is_good_and_its_examples_hold(path: Path) -> None:
    done = run("check", "--env", str(path))
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("path", [*FILES, ROOT / "config.yaml"], ids=lambda path: path.stem)
def test_first_line_of_a_file_names_the_schema(path: Path) -> None:
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", path.read_text().splitlines()[0])
    assert found
    assert (path.parent / found[1]).resolve() == SCHEMA_FILE


def test_page_names_every_file() -> None:
    page = (DOCS / "cookbook.md").read_text()
    assert len(FILES) == 11
    assert [path.name for path in FILES if f"(../examples/cookbook/{path.name})" not in page] == []


BODIES = {
    "plain-text-lines.yaml": (b"# Hm\nTea is\n better.\n[END]\n", "Tea is better.", "completed"),
    "legacy-in-an-envelope.yaml": (
        b'data: {"payload": {"type": "tok", "txt": "Tea"}}\n\ndata: {"payload": {"type": "done"}}\n\n',
        "Tea",
        "completed",
    ),
    "whole-answer-at-the-end.yaml": (
        b'{"event": "piece", "text": "Tea"}\n{"event": "answer", "text": "Tea.", "usage": {}}\n',
        "Tea.",
        "completed",
    ),
    "errors-as-text.yaml": (
        b'data: {"text": "Tea"}\n\ndata: {"text": "ERROR: out of tea"}\n\n',
        "Tea",
        "error",
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_backend_is_read_through_the_gateway(name: str) -> None:
    body, text, status = BODIES[name]
    head = CLOSE_DELIMITED.replace(b"text/event-stream", media_type(name))
    async with upstream(head + body) as backend, gateway(loaded(name, backend.url)) as running:
        answer = (await ask(running)).assert_valid()
    assert (answer.text, answer.end["status"]) == (text, status)


def media_type(name: str) -> bytes:
    kinds = {"plain-text-lines.yaml": b"text/plain", "whole-answer-at-the-end.yaml": b"application/x-ndjson"}
    return kinds.get(name, b"text/event-stream")


async def test_old_client_gets_old_events_and_a_new_client_new_ones() -> None:
    config = loaded("old-events-for-old-clients.yaml", "")
    async with gateway(config) as running:
        old = await ask(running)
        new = await ask(running, headers=[("X-Streamweir-Protocol", "standard")])
    assert b"event: delta\ndata: " in old.body
    assert old.body.endswith(b"data: [DONE]\n\n")
    assert new.assert_valid().end["status"] == "completed"


def asked(name: str, endpoint: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the upstream would be sent."""
    done = run("request", "--config", str(FOLDER / name), "--endpoint", endpoint, json.dumps(body))
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout)["requests"])


def test_workflow_gets_its_own_fields() -> None:
    body = {"question": "How many?", "inputs": {"language": "de"}}
    (sent,) = asked("workflow-inputs.yaml", "/workflows/{name}/run", body)
    assert (sent["path"], sent["query"]) == ("/run", {"version": "2"})
    assert sent["body"]["inputs"] == {"question": "How many?", "language": "de"}
    assert sent["body"]["stream"] is True


def test_new_thread_gets_a_session_first() -> None:
    first, second = asked("sessions-of-the-backend.yaml", "/support", {"question": "How many?"})
    assert (first["path"], first["takes"]) == ("/api/v1/chats/7/sessions", {"thread_id": "data.id"})
    assert second["path"] == "/api/v1/chats/7/completions"
    assert second["body"]["question"] == "How many?"


async def test_client_continues_in_the_session_that_it_was_given() -> None:
    asked_for: list[tuple[str, Any]] = []

    async def script(call: Call) -> None:
        asked_for.append((call.target, json.loads(call.body)))
        if call.target.endswith("/sessions"):
            made = b'{"code": 0, "data": {"id": "s-1"}}'
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            await call.send(head % len(made) + made)
        else:
            frames = b'data: {"code": 0, "data": {"answer": "Tea", "session_id": "s-1"}}\n\n'
            await call.send(CLOSE_DELIMITED + frames + b'data: {"code": 0, "data": true}\n\n')

    file = "sessions-of-the-backend.yaml"
    async with upstream(script) as backend, gateway(loaded(file, backend.url)) as running:
        asking = {"question": "How many?"}
        for _ in range(2):
            answer = await ask(running, target="/support", body=json.dumps(asking).encode())
            assert answer.assert_valid().text == "Tea"
            asking["thread_id"] = answer.events[0]["data"]["session_id"]
    sessions = [body.get("session_id") for target, body in asked_for if target.endswith("/completions")]
    assert sessions == ["s-1", "s-1"]
    assert sum(target.endswith("/sessions") for target, _ in asked_for) == 1


def test_commands_of_the_page_work() -> None:
    file = str(FOLDER / "plain-text-lines.yaml")
    done = run(
        "convert", "--config", file, "--from", "acme-lines", "--framing", "ndjson", input=b"Tea \n[END]\n"
    )
    assert [event["type"] for event in events_of(done.stdout)][-1] == "session_end"


@pytest.mark.parametrize(
    ("name", "endpoint", "expected"),
    [
        ("socket-takes-the-bare-question.yaml", "/ask", ["Tea?", "Tea?"]),
        (
            "socket-wants-a-login-first.yaml",
            "/chat",
            ['{"type":"login","user":"ann"}', BODY, '{"type":"login","user":"ann"}', BODY],
        ),
        ("socket-keeps-the-conversation.yaml", "/chat", [BODY, BODY]),
    ],
)
async def test_service_over_a_socket_gets_its_messages(name: str, endpoint: str, expected: list[str]) -> None:
    got: list[str] = []

    async def collect(connection: ServerConnection) -> None:
        async for message in connection:
            got.append(str(message))
            if "login" not in str(message):
                await connection.send('{"type": "token", "content": "Green."}')
                await connection.send('{"type": "done"}')

    async with service(collect) as backend, gateway(loaded(name, backend.url)) as running:
        for _ in range(2):
            answer = await ask(running, target=endpoint, headers=[("X-User", "ann")], body=BODY.encode())
            assert answer.assert_valid().text == "Green."
        connections = len(backend.connections)
    assert got == expected
    assert connections == (1 if "keeps" in name else 2)
