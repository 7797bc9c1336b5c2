"""Answers to a form that an upstream takes without a stream: the run goes on in the connection that asked."""

import json

import pytest

from loopback import ask, gateway, settled
from scripted_upstream import answer, upstream

pytestmark = pytest.mark.anyio

STANDARD = ("X-Streamweir-Protocol", "standard")
RESUME = {"conversation_id": "c", "form_id": "f"}


async def answered(
    response: bytes, dialect: str = "easyflow", resume: dict[str, str] = RESUME
) -> list[dict[str, object]]:
    given = {"interaction_id": "f", "action": "submit", "value": {"city": "Ulm"}, "resume": resume}
    asked = json.dumps({"message": "", "resume": [given]}).encode()
    async with upstream(response) as server:
        endpoint = {"upstream": server.url, "path": "/chat", "speaks": dialect, "request": "mapped"}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            got = await ask(
                running,
                target="/chat",
                headers=[("Accept", "application/x-ndjson"), ("Content-Type", "application/json"), STANDARD],
                body=asked,
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


@pytest.mark.parametrize(
    ("state", "text", "end"),
    [("completed", "Two regions.", "completed"), ("canceled", None, "cancelled")],
)
async def test_answer_that_is_replied_to_with_a_whole_run_is_that_run(
    state: str, text: str | None, end: str
) -> None:
    parts = [] if text is None else [{"parts": [{"kind": "text", "text": text}], "artifactId": "a"}]
    task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": state}, "artifacts": parts}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": task}).encode()
    resume = {"task_id": "t", "context_id": "c"}
    events = await answered(answer(body, "Content-Type: application/json"), "a2a", resume)
    texts = "".join(event["data"]["content"] for event in events if event["type"] == "content")  # type: ignore[index]
    assert texts == (text or "")
    assert events[-1]["data"]["status"] == end  # type: ignore[index]
