"""Responses that are not translated pass byte for byte, message by message."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, StreamingResponse

from hosts import DONE, HELLO, SSE, TOKENS, Call, body, sending, start, streaming
from places import RECORDED
from streamweir.asgi import NormalizeMiddleware, SafeErrorMiddleware, StreamweirMiddleware

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


FILE = Path(__file__)
EVENTS = RECORDED / "legacy" / "happy.sse"
PATHSEND = {"type": "http.response.pathsend", "path": str(FILE)}
EARLY_HINT = {"type": "http.response.early_hint", "links": [b"</a>; rel=preload"]}
TRAILERS = {"type": "http.response.trailers", "headers": [(b"x-sum", b"1")], "more_trailers": False}


def text_stream(*call: Any) -> Any:
    return StreamingResponse(iter(["a", "b"]), media_type="text/plain")(*call)


APPS: dict[str, Any] = {
    "another type": streaming(*HELLO, media_type=b"text/plain"),
    "no type": sending({"type": "http.response.start", "status": 200, "headers": []}, body(b"".join(HELLO))),
    "no headers": sending({"type": "http.response.start", "status": 204}, body()),
    "another status": sending(start(status=203), body(HELLO[0], more=True), body(HELLO[1])),
    "a status without a body": sending(start(status=204), body()),
    "an error status": sending(start(status=429), body(b"".join(HELLO))),
    "a file by path": sending(start(), PATHSEND),
    "a file": FileResponse(FILE),
    "a file of recorded events": FileResponse(EVENTS, media_type="text/event-stream"),
    "a file of a framework without ranges": streaming(
        *HELLO, headers=[(b"last-modified", b"Sat, 28 Nov 2026 17:19:23 GMT"), (b"content-length", b"99")]
    ),
    "an export to be saved": streaming(
        *HELLO, media_type=b"application/x-ndjson", headers=[(b"content-disposition", b"attachment")]
    ),
    "a redirect": RedirectResponse("/elsewhere"),
    "JSON": JSONResponse({"a": 1}),
    "a text stream": text_stream,
    "trailers": sending(
        {**start(b"text/plain"), "trailers": True}, body(b"a", more=True), body(b"b"), TRAILERS
    ),
    "early hints": sending(EARLY_HINT, start(b"text/html"), body(b"<p>")),
    "odd names": sending(start(b"Text/Plain", (b"X-ODD", b"\xff")), body(b"x")),
    "broken off": sending(start(b"text/plain"), body(b"x", more=True)),
    "nothing at all": sending(),
}


async def messages_of(app: Any, **scope: Any) -> list[Any]:
    return (await Call(app, headers=[("X-Request-Id", "abc"), ("Accept", "*/*")], **scope).run()).sent


def without_id(messages: list[Any]) -> list[Any]:
    for message in messages:
        if message["type"] == "http.response.start":
            message["headers"] = [pair for pair in message["headers"] if pair[0] != b"x-request-id"]
    return messages


@pytest.mark.parametrize("name", APPS)
@pytest.mark.parametrize(
    "options", [{}, {"paths": "/chat", "timeouts": {"total": "60s"}}, {"speaks": "auto"}]
)
async def test_response_that_is_no_stream_passes(name: str, options: Any) -> None:
    app = APPS[name]
    options = {"speaks": "legacy", **options}
    scope: dict[str, Any] = {"extensions": {"http.response.pathsend": {}}}
    expected = await messages_of(app, **scope)
    assert await messages_of(NormalizeMiddleware(app, **options), **scope) == expected
    mounted = await messages_of(StreamweirMiddleware(app, **options), **scope)
    for message in mounted:
        if message["type"] == "http.response.start":
            assert (b"x-request-id", b"abc") in message["headers"]
    for message in expected:
        message.setdefault("headers", [])
    for message in mounted:
        message.setdefault("headers", [])
    assert without_id(mounted) == expected


@pytest.mark.parametrize("options", [{"paths": ["/other", "/chat/*"]}, {"scope": {"method": "HEAD"}}])
async def test_stream_on_another_path_and_head_pass(options: Any) -> None:
    scope = options.get("scope", {})
    options = {name: value for name, value in options.items() if name != "scope"}
    app = streaming(*HELLO)
    assert await messages_of(NormalizeMiddleware(app, speaks="legacy", **options), **scope) == (
        await messages_of(app, **scope)
    )


FOREIGN = (
    (b"event: stock\ndata: AAPL 1.0\n\n", b"event: stock\ndata: AAPL 1.1\n\n"),
    (b'data: {"price": 1}\n\n',),
    (b": ping\n\n",),
    (b"",),
    (b"data: x\n\n",) * 100,
    (b"<html>",),
    (b"half a line",),
)


@pytest.mark.parametrize("pieces", FOREIGN)
async def test_auto_lets_a_body_of_no_dialect_pass(pieces: Any) -> None:
    app = streaming(*pieces)
    assert await messages_of(NormalizeMiddleware(app, speaks="auto")) == await messages_of(app)


async def test_auto_lets_unknown_codings_and_files_pass() -> None:
    for app in (
        streaming(b"\x28\xb5\x2f\xfd", headers=[(b"content-encoding", b"zstd")]),
        streaming(b"no gzip", headers=[(b"content-encoding", b"gzip")]),
        sending(start(), PATHSEND),
    ):
        assert await messages_of(NormalizeMiddleware(app, speaks="auto")) == await messages_of(app)


async def test_websocket_and_lifespan_pass() -> None:
    for kind in ("websocket", "lifespan"):
        seen: list[Any] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.append((scope, receive, send))  # noqa: B023 (called within the loop)
            await send({"type": "x.accept"})

        call = Call(NormalizeMiddleware(app, speaks="legacy"), kind=kind)
        await call.run()
        scope, receive, send = seen[0]
        assert scope is call.scope
        assert receive == call.receive
        assert send == call.send
        assert call.sent == [{"type": "x.accept"}]


async def test_request_passes_unread() -> None:
    requests: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b", "more_body": False},
        {"type": "http.disconnect"},
    ]
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert len(call.requests) == 3
        await send(start())
        await send(body(TOKENS[0], more=True))
        assert len(call.requests) == 3
        seen.extend([await receive(), await receive(), await receive()])
        await send(body(DONE))

    call = Call(
        StreamweirMiddleware(app, speaks="legacy", heartbeat="10ms", timeouts={"idle": "10s"}),
        requests=requests,
    )
    await call.run()
    assert seen == requests


async def test_cancelled_receive_loses_no_message() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        with anyio.move_on_after(0.05) as scope_:
            await receive()
        assert scope_.cancelled_caught
        call.requests.append({"type": "http.request", "body": b"late", "more_body": False})
        assert (await receive())["body"] == b"late"
        await send(start(SSE))
        await send(body(b"".join(HELLO)))

    call = Call(StreamweirMiddleware(app, speaks="legacy"), requests=[])
    await call.run()
    assert call.answer.assert_valid().text == "Hello"


@pytest.mark.parametrize("middleware", [NormalizeMiddleware, StreamweirMiddleware, SafeErrorMiddleware])
@pytest.mark.parametrize("media_type", [SSE, b"text/plain"])
async def test_headers_can_be_an_iterator(middleware: Any, media_type: bytes) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", media_type), (b"x-more", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": iter(headers)})
        await send(body(b"".join(HELLO)))

    call = await Call(middleware(app, speaks="legacy")).run()
    names = [name for name, _ in call.sent[0]["headers"]]
    assert b"x-more" in names
    assert b"content-type" in names
