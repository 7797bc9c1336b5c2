"""Answers to a form that an upstream takes without a stream: the run goes on in the connection that asked."""

import json

import pytest

from loopback import ask, gateway, settled
from scripted_upstream import answer, upstream

pytestmark = pytest.mark.anyio

RESUME = {"conversation_id": "c", "form_id": "f"}
ANSWER = {
    "message": "",
    "resume": [{"interaction_id": "f", "action": "submit", "value": {"city": "Ulm"}, "resume": RESUME}],
}


async def answered(response: bytes) -> list[dict[str, object]]:
    async with upstream(response) as server:
        endpoint = {"upstream": server.url, "path": "/chat", "speaks": "easyflow", "request": "mapped"}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            got = await ask(
                running,
                target="/chat",
                headers=[("Accept", "application/x-ndjson"), ("Content-Type", "application/json")],
                body=json.dumps(ANSWER).encode(),
            )
    return [json.loads(line) for line in got.body.splitlines() if line.strip()]


@pytest.mark.parametrize(
    "response",
    [
        answer(b"", status="204 No Content"),
        answer(b"", status="202 Accepted"),
        answer(b""),
        answer(b'{"ok": true}', "Content-Type: application/json"),
        answer(b'{"ok": true}', "Content-Type: application/json", status="201 Created"),
    ],
)
async def test_answer_taken_without_a_stream_is_resumed_and_completed(response: bytes) -> None:
    events = await answered(response)
    assert [event["type"] for event in events] == ["session_start", "status", "session_end"]
    status, end = events[1]["data"], events[2]["data"]
    assert status == {"scope": "session", "state": "resumed"}
    assert isinstance(end, dict)
    assert end["status"] == "completed"


@pytest.mark.parametrize(
    "response",
    [
        answer(b'{"errorCode": 401, "message": "no"}', "Content-Type: application/json"),
        answer(b"", status="500 Oops"),
        answer(b"<html>", "Content-Type: text/html"),
    ],
)
async def test_answer_that_is_refused_is_an_error(response: bytes) -> None:
    events = await answered(response)
    assert events[-1]["data"]["status"] == "error"  # type: ignore[index]
