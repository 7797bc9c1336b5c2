"""`request="mapped"`: the requests of clients in the form of the application's own dialect."""

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hosts import DONE, HELLO, TOKENS, Call, body, served, start
from loopback import ask, client, gateway, one_endpoint
from scripted_upstream import WHOLE, upstream
from streamweir import ConfigurationError, collect_stream_warning
from streamweir.asgi import NormalizeMiddleware, StreamweirMiddleware
from streamweir.codec.dialects import Dialects
from streamweir.runs import Resume

pytestmark = pytest.mark.anyio

DIALECTS = Dialects.built_in()
PROTOCOLS = [name for name, dialect in DIALECTS.items() if dialect.reads_requests and dialect.writes]
NOT_MAPPED = {
    "google-adk": "a first request",
    "llama-workflows": "a first request",
    "langgraph-events": "no requests that can be written",
}
TARGETS = [name for name, dialect in DIALECTS.items() if dialect.writes_requests and name not in NOT_MAPPED]
JSON: list[tuple[str, str]] = [("Content-Type", "application/json")]
CHAT = {
    "id": "c1",
    "trigger": "submit-message",
    "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Hi there"}]}],
}
CHAT_BODY = json.dumps(CHAT).encode()


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Route:
    """An application with one route, which records each request and streams `pieces`."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces or HELLO
        self.scopes: list[Any] = []
        self.body = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        more = True
        while more:
            message = await receive()
            assert message["type"] == "http.request"
            self.body, more = self.body + message["body"], message["more_body"]
        await send(start())
        for piece in self.pieces:
            await send(body(piece, more=True))
        await send(body())

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> list[str]:
        return [value.decode() for key, value in self.scopes[-1]["headers"] if key == name.encode()]


async def posted(
    route: Any,
    data: bytes = CHAT_BODY,
    *,
    protocol: str = "vercel-ui",
    headers: Sequence[tuple[str, str]] = JSON,
    pieces: int = 1,
    method: str = "POST",
    scope: Any = None,
    **options: Any,
) -> Call:
    given: dict[str, Any] = {
        "speaks": "legacy",
        "answers": (protocol,),
        "paths": "/chat",
        "request": "mapped",
    }
    app = StreamweirMiddleware(route, **{**given, **options})
    size = -(-len(data) // pieces) or 1
    cut = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
    requests = [
        {"type": "http.request", "body": piece, "more_body": at + 1 < len(cut)}
        for at, piece in enumerate(cut)
    ]
    return await Call(app, method=method, headers=headers, requests=requests, **(scope or {})).run()


# The way to the application


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_use_chat_request_reaches_a_route_that_is_older_than_it() -> None:
    class Question(BaseModel):
        message: str
        thread_id: str

    app, asked = FastAPI(), list[Question]()

    @app.post("/app/chat")
    async def chat(question: Question) -> StreamingResponse:
        asked.append(question)
        return StreamingResponse(iter(HELLO), media_type="text/event-stream")

    @app.post("/login")
    async def login(given: dict[str, str]) -> dict[str, str]:
        return given

    app.add_middleware(
        StreamweirMiddleware,
        speaks="legacy",
        answers=("legacy", "vercel-ui"),
        paths="/app/*",
        request="mapped",
    )
    chosen = [*JSON, ("X-Streamweir-Protocol", "vercel-ui")]
    async with served(app) as host:
        async with client(host) as connected:
            connected.send("POST", "/app/chat", headers=chosen, body=CHAT_BODY)
            answer = await connected.whole()
        assert answer.header("x-vercel-ai-ui-message-stream") == "v1"
        assert b'"text-delta"' in answer.body
        async with client(host) as connected:
            connected.send("POST", "/login", headers=chosen, body=b'{"user": "a"}')
            assert (await connected.whole()).json == {"user": "a"}
        old = json.dumps({"message": "old", "thread_id": "t"}).encode()
        async with client(host) as connected:
            connected.send("POST", "/app/chat", headers=JSON, body=old)
            assert (await connected.whole()).body == b"".join(HELLO)
    assert [question.message for question in asked] == ["Hi there", "old"]
    assert asked[0].thread_id == "c1"


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize(
    "framed", [[("Content-Length", str(len(CHAT_BODY)))], [("Transfer-Encoding", "chunked")]]
)
async def test_body_and_its_headers_are_those_of_the_application_s_dialect(
    pieces: int, framed: list[tuple[str, str]]
) -> None:
    route = Route()
    headers = [("Content-Type", "application/vnd.x+json; charset=utf-8"), ("X-Other", "1"), *framed]
    await posted(route, headers=headers, pieces=pieces)
    assert route.json == {"message": "Hi there", "thread_id": "c1", "stream": True}
    assert route.header("content-length") == [str(len(route.body))]
    assert route.header("content-type") == ["application/json"]
    assert route.header("transfer-encoding") == []
    assert route.header("x-other") == ["1"]


async def test_receive_behind_the_body_is_the_server_s() -> None:
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(await receive())
        with anyio.move_on_after(0.05):
            heard.append(await receive())
        await send(start())
        await send(body(b"".join(HELLO)))

    await posted(app)
    assert len(heard) == 1
    assert heard[0]["more_body"] is False


async def test_client_of_the_application_s_own_dialect_passes_unread() -> None:
    for data in (b"{no json", b"x" * 200):
        route = Route()
        done = await posted(route, data, protocol="legacy", limits={"request_bytes": 100})
        assert route.body == data
        assert done.answer.body == b"".join(HELLO)


@pytest.mark.parametrize(
    ("method", "headers", "data"),
    [
        ("GET", JSON, b""),
        ("DELETE", JSON, b"{no json"),
        ("POST", [("Content-Type", "multipart/form-data; boundary=x")], b"--x--"),
        ("POST", [("Content-Type", "application/x-www-form-urlencoded")], b"a=b"),
        ("POST", [], b""),
    ],
)
async def test_request_without_a_json_body_passes_unread(
    method: str, headers: list[tuple[str, str]], data: bytes
) -> None:
    route = Route()
    done = await posted(route, data, method=method, headers=headers)
    assert route.body == data
    assert done.answer.status == 200
    assert b"text-delta" in done.answer.body


async def test_path_that_is_not_covered_passes_unread() -> None:
    route = Route()
    await posted(route, b"{no json", scope={"path": "/login"})
    assert route.body == b"{no json"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_application_gets_the_body_that_the_gateway_sends_its_upstream(
    protocol: str, target: str
) -> None:
    from streamweir.translation.requests import planned_request

    if protocol == target:
        return
    route, sample = Route(), dict(DIALECTS[protocol].sample_request)
    planned = planned_request(json.dumps(sample), protocol=protocol, dialect=target, path="/chat")
    done = await posted(route, json.dumps(sample).encode(), protocol=protocol, speaks=target)
    assert done.sent
    [wanted] = planned["requests"]
    for name, value in wanted["headers"].items():
        assert route.header(name.lower()) == [value]
    for name, value in wanted["query"].items():
        assert f"{name}={value}" in route.scopes[0]["query_string"].decode()
    if "form" in wanted:
        assert route.header("content-type")[0].startswith("multipart/form-data; boundary=")
        assert all(f'name="{name}"'.encode() in route.body for name in wanted["form"])
        return
    made = json.dumps(wanted["body"])
    assert set(route.json) == set(wanted["body"])
    if "made-" not in made:  # ids that are made differ
        differing = {name for name, value in wanted["body"].items() if route.json[name] != value}
        assert not differing


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "data",
    [
        None,
        b"{no json",
        b"[]",
        b"",
        b"{}",
        b'{"messages": 5, "message": 7, "input": {}}',
        b'{"messages": [{"role": "wizard", "content": "x"}]}',
        b'{"message": "a", "input": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"model": "a", "model": "b", "message": "hi", "messages": [{"role": "user", "content": "hi"}]}',
    ],
)
async def test_gateway_and_middleware_read_a_request_alike(protocol: str, data: bytes | None) -> None:
    if protocol == "legacy":
        return
    data = json.dumps(dict(DIALECTS[protocol].sample_request)).encode() if data is None else data
    route = Route()
    done = (await posted(route, data, protocol=protocol)).answer
    async with upstream(WHOLE) as server:
        config = one_endpoint(server.url, request="mapped", answers=[protocol])
        async with gateway(config) as running:
            got = await ask(running, headers=JSON, body=data)
        sent = server.calls[-1].body if server.connections else b""
    assert done.status == got.status
    assert route.body == sent
    if got.status == 400:
        assert without_id(done.json) == without_id(got.json)


def without_id(envelope: Any) -> Any:
    return {name: value for name, value in envelope.items() if name != "request_id"}


# Refusals


@pytest.mark.parametrize("middleware", [StreamweirMiddleware, NormalizeMiddleware])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{no json", "JSON"),
        (b"", "JSON"),
        (b"[1]", "object"),
        (b'{"messages": 5}', "messages"),
        (b'{"messages": [{"role": "wizard", "parts": []}]}', "messages[0].role"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": [{"role": "user", "parts": ' + b"[" * 300 + b"]" * 300 + b"}]}", "deep"),
    ],
)
async def test_body_that_cannot_be_read_is_refused_before_the_application_is_called(
    middleware: Any, data: bytes, said: str
) -> None:
    route = Route()
    app = middleware(route, speaks="legacy", answers="vercel-ui", paths="/chat", request="mapped")
    requests = [{"type": "http.request", "body": data, "more_body": False}]
    done = await Call(app, method="POST", headers=[*JSON, ("X-Request-Id", "abc")], requests=requests).run()
    answer = done.answer
    assert not route.scopes
    assert (answer.status, answer.json["status"]) == (400, "error")
    assert answer.json["error"]["code"] == "BAD_REQUEST"
    assert said in answer.json["error"]["message"]
    assert answer.json["request_id"] == "abc"


async def test_field_in_a_refusal_is_named_as_the_client_s_protocol_calls_it() -> None:
    done = await posted(
        Route(), b'{"model": "m", "input": [{"role": "wizard"}]}', protocol="openai-responses"
    )
    assert done.answer.status == 400
    assert done.answer.json["error"]["message"].startswith("input[0].role")
    assert done.answer.json["error"]["type"] == "invalid_request_error"
    assert done.answer.header("x-should-retry") == "false"


@pytest.mark.parametrize("declared", [True, False])
async def test_body_above_the_limit_is_refused_as_soon_as_that_is_known(declared: bool) -> None:
    route = Route()
    data = b'{"messages": "%s"}' % (b"x" * 5000)
    headers = [*JSON, *([("Content-Length", str(len(data)))] if declared else [])]
    done = await posted(route, data, headers=headers, pieces=10, limits={"request_bytes": "1KiB"})
    assert done.answer.status == 413
    assert done.answer.json["error"]["code"] == "REQUEST_TOO_LARGE"
    assert not route.scopes
    assert len(done.requests) == (10 if declared else 7)  # that were not read


async def test_default_limit_of_a_body_is_ten_mebibytes() -> None:
    for size, status in ((10 << 20, 400), ((10 << 20) + 1, 413)):
        done = await posted(Route(), b"x" * size)
        assert done.answer.status == status


async def test_coded_body_is_refused() -> None:
    done = await posted(Route(), headers=[*JSON, ("Content-Encoding", "gzip")])
    assert (done.answer.status, done.answer.json["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_client_that_leaves_within_its_body_does_not_reach_the_application() -> None:
    route = Route()
    app = StreamweirMiddleware(route, speaks="legacy", answers="vercel-ui", paths="/chat", request="mapped")
    requests: list[Any] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    done = await Call(app, method="POST", headers=JSON, requests=requests).run()
    assert not route.scopes
    assert not done.sent


async def test_answer_to_a_question_that_is_not_known_is_refused() -> None:
    asked = {
        "runId": "r",
        "threadId": "t",
        "resume": [{"interruptId": "i", "status": "resolved", "payload": 1}],
    }
    done = await posted(Route(), json.dumps(asked).encode(), protocol="ag-ui", speaks="easyflow")
    assert done.answer.status == 400
    assert "resume" in done.answer.json["error"]["message"]


async def test_answer_that_needs_another_path_is_refused() -> None:
    asked = {
        "thread_id": "t",
        "resume": [{"interaction_id": "i", "action": "submit", "value": 1, "resume": {"thread_id": "t"}}],
    }
    done = await posted(
        Route(),
        json.dumps(asked).encode(),
        protocol="standard",
        speaks="stream-envelope",
        paths="/agent/stream",
        scope={"path": "/agent/stream"},
    )
    assert done.answer.status == 400
    assert "resume" in done.answer.json["error"]["message"]


# The answer


async def test_lost_parts_are_a_warning_right_behind_the_start() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        collect_stream_warning("the application's own")
        await Route()(scope, receive, send)

    asked = {"message": "Hi", "tools": [{"name": "t"}], "state": {"a": 1}}
    done = await posted(app, json.dumps(asked).encode(), protocol="standard")
    first, second, third, *_ = done.answer.assert_valid().events
    assert (first["type"], second["type"], third["type"]) == ("session_start", "warning", "warning")
    assert second["data"]["message_code"] == "REQUEST_LOSSY"
    assert second["data"]["message"] == "The service cannot take all of the request: tools, state."
    assert third["data"]["message"] == "the application's own"


@pytest.mark.parametrize("stream", [True, False, None])
async def test_field_stream_of_the_request_decides_about_the_answer(stream: bool | None) -> None:
    route = Route()
    asked = {"model": "m1", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    asked = {name: value for name, value in asked.items() if value is not None}
    done = (await posted(route, json.dumps(asked).encode(), protocol="openai-chat")).answer
    assert route.json["stream"] is True
    if stream:
        assert done.header("content-type") == "text/event-stream; charset=utf-8"
        assert b'"model":"m1"' in done.body
    else:
        assert done.json["object"] == "chat.completion"
        assert done.json["model"] == "m1"
        assert done.json["choices"][0]["message"]["content"] == "Hello"


async def test_mapping_asks_an_application_that_speaks_openai_for_its_usage() -> None:
    usage = b'data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":'
    usage += b'{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n'
    text = b'data: {"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":'
    text += b'[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    route = Route(text, usage, b"data: [DONE]\n\n")
    asked = {"message": "Hi"}
    done = await posted(route, json.dumps(asked).encode(), protocol="standard", speaks="openai-chat")
    assert route.json["stream_options"] == {"include_usage": True}
    assert done.answer.assert_valid().end["summary"]["total_tokens"] == 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_mapped_request_of_a_kept_run_is_mapped_once() -> None:
    route = Route(TOKENS[0], DONE)
    done = await posted(route, resume=Resume(), paths="/chat")
    assert route.json["message"] == "Hi there"
    assert b'"text-delta"' in done.answer.body
    refused = await posted(Route(), b"{no json", resume=Resume(), paths="/chat")
    assert refused.answer.status == 400


# Options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"paths": None}, "needs paths"),
        ({"request": "maped"}, "did you mean 'mapped'"),
        ({"request": {"mapped": {}}}, "must be"),
        ({"speaks": "auto"}, "speaks='auto'"),
        ({"speaks": "ragflow", "paths": ["/x", "/v1/chats/{id}/completions"]}, "a first request"),
        ({"speaks": "langgraph-server", "paths": "/runs/stream"}, "another path"),
        *[({"speaks": name}, said) for name, said in NOT_MAPPED.items()],
    ],
)
def test_middleware_whose_requests_cannot_be_mapped_is_refused_when_it_is_made(
    options: dict[str, Any], said: str
) -> None:
    given = {"speaks": "legacy", "answers": "vercel-ui", "paths": "/chat", "request": "mapped", **options}
    with pytest.raises(ConfigurationError, match=said.replace("(", "[(]")):
        StreamweirMiddleware(Route(), **given)
    StreamweirMiddleware(Route(), **{**given, "request": "passthrough", "answers": "standard"})


def test_dialect_that_needs_no_other_path_where_it_is_mounted_is_mapped() -> None:
    StreamweirMiddleware(Route(), speaks="ragflow", paths="/v1/agents/{id}/completions", request="mapped")


def test_traces_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="otel"):
        StreamweirMiddleware(Route(), speaks="legacy", otel=True)
