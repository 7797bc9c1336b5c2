"""A new endpoint reads requests in every protocol as the gateway does."""

import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import streamweir
from streamweir.asgi import ReceivedRequest, preflight_error, receive_request
from streamweir.requests.errors import RequestError

pytestmark = pytest.mark.anyio

PICTURE = {"type": "image", "url": "https://x.example/p.png"}
BODIES: dict[str, dict[str, Any]] = {
    "standard": {"message": "hi", "thread_id": "t", "inputs": {"a": 1}, "files": [PICTURE["url"]]},
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": "hi", "conversation": "t"},
    "ag-ui": {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "hi"}]},
    "vercel-ui": {"id": "t", "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]},
    "ragflow": {"question": "hi", "session_id": "t", "inputs": {"a": {"value": 1}}},
    "easyflow": {"message": "hi", "conversation_id": "t"},
}


async def posted(
    body: Any,
    *,
    answers: Any = tuple(BODIES),
    headers: dict[str, str] | None = None,
    method: str = "POST",
    query: str = "",
) -> tuple[httpx.Response, list[ReceivedRequest]]:
    received: list[ReceivedRequest] = []

    async def endpoint(request: Request) -> Response:
        try:
            received.append(await receive_request(request, answers=answers))
        except RequestError as error:
            return preflight_error(error)
        return JSONResponse({})

    app = Starlette(routes=[Route("/chat", endpoint, methods=["GET", "POST"])])
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        url = f"/chat{query}"
        got = await client.request(method, url, content=content, headers={"Accept": "*/*", **(headers or {})})
    return got, received


@pytest.mark.parametrize("protocol", BODIES)
async def test_receive_request_reads_each_protocol(protocol: str) -> None:
    _, (found,) = await posted(BODIES[protocol], headers={"X-Streamweir-Protocol": protocol})
    assert found.protocol == protocol
    assert found.message == "hi"
    assert found.raw == streamweir.read_request(BODIES[protocol], protocol=protocol)
    assert found.thread_id == found.raw.get("thread_id")
    assert found.messages == found.raw["messages"]
    assert found.inputs == found.raw.get("inputs", {})
    assert found.files == ([PICTURE] if protocol == "standard" else [])
    assert found.resume == []


@pytest.mark.parametrize(
    ("protocol", "accept", "stream", "framing"),
    [
        ("standard", "*/*", None, "sse"),
        ("standard", "application/x-ndjson", None, "ndjson"),
        ("standard", "application/json", None, "json"),
        ("standard", "text/event-stream", False, "json"),
        ("openai-chat", "*/*", None, "json"),
        ("openai-chat", "text/event-stream", None, "sse"),
        ("openai-chat", "application/json", True, "sse"),
        ("anthropic", "text/event-stream", False, "json"),
    ],
)
async def test_receive_request_chooses_the_framing(
    protocol: str, accept: str, stream: bool | None, framing: str
) -> None:
    body = BODIES[protocol] if stream is None else {**BODIES[protocol], "stream": stream}
    _, (found,) = await posted(body, headers={"X-Streamweir-Protocol": protocol, "Accept": accept})
    assert found.framing == framing


async def test_receive_request_takes_answers_and_a_query() -> None:
    answer = {"interaction_id": "i", "action": "approve"}
    _, (found,) = await posted({"resume": [answer]}, answers="standard")
    assert (found.message, found.resume) == ("", [answer])
    _, (found,) = await posted(b"", method="GET", query="?question=hi&protocol=standard")
    assert found.message == "hi"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code", "named"),
    [
        (b"no JSON", {}, 400, "BAD_REQUEST", "JSON"),
        ({}, {}, 400, "BAD_REQUEST", "message"),
        ({"message": 7}, {}, 400, "BAD_REQUEST", "message must be a text"),
        ({"messages": []}, {"X-Streamweir-Protocol": "openai-chat"}, 400, "BAD_REQUEST", "messages"),
        (BODIES["standard"], {"X-Streamweir-Protocol": "morse"}, 400, "BAD_REQUEST", "X-Streamweir-Protocol"),
        (BODIES["standard"], {"Content-Type": "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE", "JSON"),
        (BODIES["standard"], {"Content-Encoding": "gzip"}, 415, "UNSUPPORTED_MEDIA_TYPE", "coding"),
        (b" " * (10 << 20) + b"{}", {}, 413, "REQUEST_TOO_LARGE", "bytes"),
        (b'{"stream": true, "message": "hi", "stream": false}', {}, 400, "BAD_REQUEST", "stream"),
    ],
)
async def test_preflight_error_keeps_the_fields_of_a_request_error(
    body: Any, headers: dict[str, str], status: int, code: str, named: str
) -> None:
    got, received = await posted(body, headers=headers)
    assert not received
    assert (got.status_code, got.json()["error"]["code"]) == (status, code)
    assert named in got.json()["error"]["message"]
    assert got.json()["error"]["retry"] is False


@pytest.mark.parametrize("code", ["BAD_REQUEST", "UNSUPPORTED_MEDIA_TYPE", "REQUEST_TOO_LARGE"])
def test_preflight_envelope_keeps_the_fields_of_a_request_error(code: str) -> None:
    error = RequestError("must be a text", field="messages[2].role", code=code)
    status, body = streamweir.preflight_envelope(error, request_id="req_1")
    said = {"code": code, "message": "messages[2].role must be a text.", "retry": False}
    assert (status, body) == (error.status, {"status": "error", "error": said, "request_id": "req_1"})


async def test_answers_that_cannot_be_read_are_a_configuration_error() -> None:
    request: Any = Request({"type": "http", "method": "POST", "headers": [], "query_string": b""})
    for answers in ("vercel-data", (), "morse"):
        with pytest.raises(streamweir.ConfigurationError):
            await receive_request(request, answers=answers)
