"""The middleware together with others: compression, CORS, layers of frameworks, streamweir itself."""

import asyncio
import gzip
import re
import zlib
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from cases import case
from hosts import DONE, HELLO, TOKENS, Call, asking, body, get, sending, served, streaming
from places import DOCS
from streamweir import StreamError, collect_stream_warning
from streamweir.asgi import (
    EventStreamResponse,
    NormalizeMiddleware,
    RequestIDMiddleware,
    SafeErrorMiddleware,
    StreamweirMiddleware,
    preflight_error,
)

pytestmark = pytest.mark.anyio

PAGE: Final = (DOCS / "middleware.md").read_text()
OURS = Middleware(StreamweirMiddleware, speaks="legacy")
OURS_WITH_PATHS = Middleware(StreamweirMiddleware, speaks="legacy", paths="/chat")
GZIP = Middleware(GZipMiddleware, minimum_size=1)
CORS = Middleware(CORSMiddleware, allow_origins=["https://app.example"], expose_headers=["X-Request-Id"])
NDJSON = "application/x-ndjson"


async def old_stream() -> AsyncIterator[bytes]:
    for piece in HELLO:
        yield piece
        await asyncio.sleep(0.01)


async def old_lines() -> AsyncIterator[bytes]:
    for piece in HELLO:
        yield piece.removeprefix(b"data: ")[:-1]


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(old_stream(), media_type="text/event-stream")


async def lines(request: Request) -> StreamingResponse:
    return StreamingResponse(old_lines(), media_type=NDJSON)


async def text(request: Request) -> PlainTextResponse:
    return PlainTextResponse("some text " * 100)


async def fails(request: Request) -> None:
    raise StreamError("RATE_LIMITED")


def app_with(*middleware: Middleware) -> Starlette:
    routes = [Route("/chat", chat), Route("/lines", lines), Route("/text", text), Route("/fails", fails)]
    return Starlette(routes=routes, middleware=list(middleware))


async def pass_through(request: Request, call_next: Any) -> Any:
    return await call_next(request)


STACKS = {
    "recommended": (CORS, GZIP, OURS),
    "with paths": (CORS, GZIP, OURS_WITH_PATHS),
    "outside of GZip": (OURS, GZIP, CORS),
    "outside of GZip, with paths": (OURS_WITH_PATHS, GZIP),
    "below BaseHTTPMiddleware": (Middleware(BaseHTTPMiddleware, dispatch=pass_through), OURS),
    "above BaseHTTPMiddleware": (OURS, Middleware(BaseHTTPMiddleware, dispatch=pass_through)),
    "two of us": (OURS, OURS),
    "two of us around GZip": (OURS, GZIP, OURS),
    "each by itself": (
        Middleware(RequestIDMiddleware),
        Middleware(SafeErrorMiddleware, speaks="legacy"),
        Middleware(NormalizeMiddleware, speaks="auto"),
    ),
}
BROWSER = [("Accept-Encoding", "gzip"), ("Origin", "https://app.example"), ("X-Request-Id", "abc")]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("target", ["/chat", "/lines"])
async def test_stream_is_valid_in_every_order_of_middlewares(stack: str, target: str) -> None:
    async with served(app_with(*STACKS[stack])) as host:
        answer = await get(host, target, headers=[*BROWSER, ("Accept", "text/event-stream")])
    if target == "/lines" and OURS_WITH_PATHS in STACKS[stack]:  # not covered
        assert b'"token"' in gzip.decompress(answer.body)
        return
    assert answer.assert_valid().text == "Hello"
    assert [value for name, value in answer.headers if name == "x-request-id"] == ["abc"]
    if CORS in STACKS[stack]:
        assert answer.header("access-control-allow-origin") == "https://app.example"


@pytest.mark.parametrize("stack", STACKS)
async def test_other_responses_are_unchanged_in_every_order(stack: str) -> None:
    others = [item for item in STACKS[stack] if item in (CORS, GZIP)]
    async with served(app_with(*STACKS[stack])) as with_us, served(app_with(*others)) as without:
        for target in ("/text", "/nowhere"):
            ours = await get(with_us, target, headers=BROWSER)
            theirs = await get(without, target, headers=BROWSER)
            assert ours.body == theirs.body
            dates = {"date", "server"}
            assert {pair for pair in ours.headers if pair[0] not in dates} - {("x-request-id", "abc")} == {
                pair for pair in theirs.headers if pair[0] not in dates
            }


async def test_event_leaves_at_once_through_gzip() -> None:
    for stack in ((GZIP, OURS), (OURS_WITH_PATHS, GZIP)):
        hold = asyncio.Event()

        async def view(request: Request) -> StreamingResponse:
            async def stream() -> AsyncIterator[bytes]:
                yield TOKENS[0]
                await hold.wait()  # noqa: B023 (called within the loop)
                yield DONE

            return StreamingResponse(stream(), media_type="text/event-stream")

        app = Starlette(routes=[Route("/chat", view)], middleware=list(stack))
        async with served(app) as host, asking(host, headers=BROWSER) as client:
            await client.until(b'"Hel"')
            hold.set()
            assert (await client.whole()).assert_valid().text == "Hel"


async def test_stream_of_a_flushing_compressor_is_read_piece_by_piece() -> None:
    packer = zlib.compressobj(wbits=31)
    pieces = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in HELLO]
    app = streaming(*pieces, packer.flush(), headers=[(b"content-encoding", b"gzip")])
    call = await Call(NormalizeMiddleware(app, speaks="legacy")).run()
    assert call.answer.assert_valid().text == "Hello"
    assert len(call.sent) == 4


async def test_cors_preflight_is_answered_by_the_cors_middleware() -> None:
    async with served(app_with(CORS, OURS_WITH_PATHS)) as host:
        headers = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "GET")]
        answer = await get(host, method="OPTIONS", headers=headers)
        assert answer.status == 200
        answer = await get(host, headers=[*BROWSER, ("X-Streamweir-Protocol", "morse")])
        assert answer.status == 400
        assert answer.header("access-control-allow-origin") == "https://app.example"


async def test_cors_settings_of_the_page_let_pages_choose_a_protocol() -> None:
    (block,) = re.findall(r"<!-- cors -->\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "middleware.md", "exec"), names)
    app = names["app"]
    app.add_route("/chat", chat)
    page = ("Origin", "https://app.example")
    sent = "content-type, last-event-id, x-request-id, x-streamweir-protocol, x-streamweir-run"
    asked = [("Access-Control-Request-Method", "GET"), ("Access-Control-Request-Headers", sent)]
    async with served(app) as host:
        assert (await get(host, method="OPTIONS", headers=[page, *asked])).status == 200
        answer = await get(host, headers=[page, ("X-Streamweir-Protocol", "standard")])
    assert answer.assert_valid().text == "Hello"
    exposed = (answer.header("access-control-expose-headers") or "").lower().split(", ")
    assert {"x-request-id", "x-streamweir-run", "content-location", "retry-after"} <= {*exposed}


def test_mounting_pages_name_the_headers_for_cors() -> None:
    pages = [*(DOCS / "mounting").glob("*.md")]
    assert len(pages) > 5
    for page in pages:
        text = page.read_text().lower()
        with case(page.name):
            assert "x-streamweir-protocol" in text
            assert "x-request-id" in text
            assert "(../middleware.md#cors)" in text


# EventStreamResponse


async def own_events() -> AsyncIterator[Any]:
    yield {"type": "content", "content": "Hel"}
    assert collect_stream_warning("Careful.")
    yield {"type": "content", "content": "lo"}


def own(content: Any = own_events, **options: Any) -> Any:
    async def view(request: Request) -> EventStreamResponse:
        collect_stream_warning("From the view.")
        return EventStreamResponse(content, **options)

    return view


def host_of(view: Any, *middleware: Middleware) -> Any:
    return served(
        Starlette(routes=[Route("/chat", view, methods=["GET", "POST"])], middleware=list(middleware))
    )


@pytest.mark.parametrize("stack", STACKS)
async def test_event_stream_response_below_a_middleware_is_not_translated_again(stack: str) -> None:
    async with host_of(own(), *STACKS[stack]) as host:
        answer = (await get(host, headers=BROWSER)).assert_valid()
        assert answer.text == "Hello"
        assert answer.end["status"] == "completed"
        told = [event["data"]["message"] for event in answer.events if event["type"] == "warning"]
        assert told == ["From the view.", "Careful."]
        assert {event["metadata"]["request_id"] for event in answer.events} == {"abc"}


async def test_event_stream_response_needs_no_middleware() -> None:
    async with host_of(own(answers=["standard", "legacy"], headers={"X-More": "1"})) as host:
        answer = (await get(host, headers=[("X-Request-Id", "abc")])).assert_valid()
        assert answer.header("x-request-id") == "abc"
        assert answer.header("x-more") == "1"
        assert (await get(host, headers=[("Accept", NDJSON)])).assert_valid().framing == "ndjson"
        folded = await get(host, headers=[("Accept", "application/json")])
        assert folded.json["message"]["content"] == "Hello"
        assert b'"token"' in (await get(host, headers=[("X-Streamweir-Protocol", "legacy")])).body
        assert b'"token"' in (await get(host, "/chat?protocol=legacy")).body
        refused = await get(host, headers=[("X-Streamweir-Protocol", "morse")])
        assert (refused.status, refused.json["error"]["code"]) == (400, "BAD_REQUEST")
        head = await get(host, method="HEAD")
        assert head.header("content-type") == "text/event-stream; charset=utf-8"


async def test_content_that_fails_ends_with_an_error() -> None:
    async def failing() -> AsyncIterator[Any]:
        yield {"type": "content", "content": "Hel"}
        raise RuntimeError("secret")

    async def refuse() -> Any:
        raise StreamError("RATE_LIMITED", retry_after_ms=2000)

    async def failing_at_once() -> AsyncIterator[Any]:
        yield await refuse()

    for middleware in ((), (OURS,)):
        async with host_of(own(failing), *middleware) as host:
            answer = (await get(host)).assert_valid()
            assert answer.types[-2:] == ["error", "session_end"]
            assert b"secret" not in answer.body
        async with host_of(own(failing_at_once), *middleware) as host:
            folded = await get(host, headers=[("Accept", "application/json")])
            assert folded.status == 429
            assert folded.header("retry-after") == "2"


async def test_content_of_a_refused_request_is_closed() -> None:
    closed: list[bool] = []

    class Content:
        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            raise AssertionError

        async def aclose(self) -> None:
            closed.append(True)

    async with host_of(own(Content())) as host:
        await get(host, headers=[("X-Streamweir-Protocol", "morse")])
    assert closed == [True]


async def test_preflight_error_before_the_stream_is_an_envelope() -> None:
    async def view(request: Request) -> Any:
        return preflight_error(StreamError("RATE_LIMITED", "Slow down.", retry_after_ms=1000))

    async with host_of(view, OURS) as host:
        answer = await get(host, headers=[("X-Request-Id", "abc"), ("Accept", "text/event-stream")])
    assert answer.status == 429
    assert answer.header("retry-after") == "1"
    assert answer.json == {
        "status": "error",
        "error": {"code": "RATE_LIMITED", "message": "Slow down.", "retry": True},
        "request_id": "abc",
    }
    assert preflight_error("NOT_FOUND", status_code=404).status_code == 404


async def test_event_on_the_wire_is_never_taken_for_one_of_this_process() -> None:
    whole = await Call(NormalizeMiddleware(streaming(*HELLO), speaks="legacy")).run()
    replay = sending(whole.sent[0], body(whole.answer.body + b"data: more\n\n"))
    answer = (await Call(NormalizeMiddleware(replay, speaks="standard")).run()).answer.assert_valid()
    assert answer.text == "Hello"
    assert b"more" not in answer.body
