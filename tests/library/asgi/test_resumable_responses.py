"""`EventStreamResponse` as the source of a run, with its own `resume` or that of a middleware above."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hosts import Call, served
from loopback import Answer, client
from patience import PROMPTLY
from streamweir.asgi import EventStreamResponse, StreamweirMiddleware
from streamweir.errors import ConfigurationError
from streamweir.runs import MemoryStore, Resume, RunStore, StoreUnavailable
from streamweir.testing import check_stream

pytestmark = pytest.mark.anyio

PROTOCOLS = ["standard", "legacy", "openai-chat", "anthropic", "ag-ui", "vercel-ui"]
ITEMS: list[dict[str, Any]] = [
    {"type": "thinking", "content": "Hm."},
    {"type": "tool_call_start", "tool_id": "c1", "tool_name": "search"},
    {"type": "tool_call_end", "tool_id": "c1", "status": "success", "result": "found"},
    *({"type": "content", "content": f"word {number} "} for number in range(20)),
]
Headers = Sequence[tuple[str, str]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Content:
    """The content of responses, which pauses before item `until`.

    Attributes:
        started: how often a generator has begun.
        ended: a generator's `finally` has run.
        backgrounds: how often the background task has run.
    """

    def __init__(self, until: int = len(ITEMS)) -> None:
        self.started = 0
        self.backgrounds = 0
        self.ended = asyncio.Event()
        self.failure: Exception | None = None
        self._until = until
        self._more = asyncio.Event()

    def open(self) -> None:
        self._until = len(ITEMS)
        self._more.set()

    def note_background(self) -> None:
        self.backgrounds += 1

    async def items(self) -> AsyncIterator[dict[str, Any]]:
        self.started += 1
        try:
            for place, item in enumerate(ITEMS):
                if place >= self._until:
                    await self._more.wait()
                yield item
            if self.failure is not None:
                raise self.failure
        finally:
            self.ended.set()


Wrap = Callable[[Any, Resume, RunStore], tuple[Any, dict[str, Any]]]


def own(app: Any, resume: Resume, store: RunStore) -> tuple[Any, dict[str, Any]]:
    """The response has `resume` and `store` of its own."""
    return app, {"resume": resume, "store": store}


def below(app: Any, resume: Resume, store: RunStore) -> tuple[Any, dict[str, Any]]:
    """A middleware above has them."""
    wrapped = StreamweirMiddleware(app, speaks="standard", answers=PROTOCOLS, resume=resume, store=store)
    return wrapped, {}


def uncovered(app: Any, resume: Resume, store: RunStore) -> tuple[Any, dict[str, Any]]:
    """Both have them, and the middleware does not cover the path of the response."""
    return StreamweirMiddleware(app, speaks="standard", paths="/other", resume=resume, store=store), {
        "resume": resume,
        "store": store,
    }


PLACES: dict[str, Wrap] = {"own": own, "below": below, "uncovered": uncovered}


class AddsHeader:
    """A middleware between ours and the application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_more(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-between", b"yes")]}
            await send(message)

        await self.app(scope, receive, send_more)


@asynccontextmanager
async def host_of(
    content: Content, place: str, *, resume: Resume | None = None, store: RunStore | None = None
) -> AsyncIterator[Any]:
    options: dict[str, Any] = {}

    async def chat(request: Request) -> Response:
        if place == "below":
            await request.body()
        return EventStreamResponse(
            content.items(),
            answers=PROTOCOLS,
            status_code=201,
            headers={"X-Own": "yes"},
            background=BackgroundTask(content.note_background),
            **options,
        )

    routes = [Route("/chat", chat, methods=["GET", "POST", "HEAD"])]
    app: Any = Starlette(routes=routes, middleware=[Middleware(AddsHeader)])
    app, options = PLACES[place](app, resume or Resume(), store or MemoryStore())
    async with served(app) as host:
        try:
            yield host
        finally:
            content.open()
            if content.started:
                async with asyncio.timeout(PROMPTLY):
                    await content.ended.wait()


async def ask(
    host: Any, target: str = "/chat", *, method: str = "POST", headers: Headers = (), body: bytes = b"{}"
) -> Answer:
    async with asyncio.timeout(PROMPTLY), client(host) as connected:
        connected.send(method, target, headers=headers, body=body)
        return await connected.whole()


async def left_behind(host: Any, *, headers: Headers = ()) -> tuple[str, Answer]:
    """Read a run as far as its third word, leave, and return its handle."""
    async with asyncio.timeout(PROMPTLY), client(host) as connected:
        connected.send("POST", "/chat", headers=headers)
        await connected.until(b'"word 3 "')
        return handle_of(connected.answer), connected.answer


def handle_of(answer: Answer) -> str:
    handle = answer.header("x-streamweir-run")
    assert handle is not None
    assert re.fullmatch(r"run_[0-9a-f]{32}", handle)
    return handle


def ids_and_rest(body: bytes) -> list[tuple[str, bytes]]:
    """Each event id of an SSE body, with the bytes behind its frame."""
    frames = re.finditer(rb"id: (run_[^\n]*)\n.*?\n\n", body, re.DOTALL)
    return [(match[1].decode(), body[match.end() :]) for match in frames]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_response_run_read_after_any_id_is_the_rest_byte_for_byte(place: str, protocol: str) -> None:
    content = Content()
    asks = ("X-Streamweir-Protocol", protocol)
    async with host_of(content, place) as host:
        whole = await ask(host, headers=[asks])
        handle = handle_of(whole)
        assert whole.status == 201
        assert (whole.header("x-own"), whole.header("x-between")) == ("yes", "yes")
        if protocol == "standard":
            assert not check_stream(whole.body)
        found = ids_and_rest(whole.body)
        assert len(found) > len(ITEMS) - 3
        for event_id, rest in found[:: max(1, len(found) // 6)]:
            again = await ask(host, headers=[asks, ("Last-Event-ID", event_id)])
            assert again.body == rest, event_id
            assert again.header("x-streamweir-run") == handle
        last = await ask(host, method="GET", headers=[asks, ("Last-Event-ID", found[-1][0])])
        assert last.status == 204
    assert content.started == 1
    assert content.backgrounds == 1


@pytest.mark.parametrize(("place", "is_named"), [("own", False), ("below", True), ("uncovered", True)])
async def test_response_run_names_content_location_only_where_a_middleware_serves_it(
    place: str, is_named: bool
) -> None:
    async with host_of(Content(), place) as host:
        answer = await ask(host)
        handle = handle_of(answer)
        location = f"/-/runs/{handle}"
        assert answer.header("content-location") == (location if is_named else None)
        read = await ask(host, location, method="GET", body=b"")
        assert read.status == (200 if is_named else 404)
        if is_named:
            assert read.body == answer.body


@pytest.mark.parametrize("place", PLACES)
async def test_response_content_continues_after_its_client_has_left(place: str) -> None:
    content = Content(until=8)
    async with host_of(content, place) as host:
        handle, _ = await left_behind(host)
        content.open()
        async with asyncio.timeout(PROMPTLY):
            await content.ended.wait()
        again = await ask(host, headers=[("Last-Event-ID", f"{handle}.3")])
        assert b'"word 19 "' in again.body
        assert b'"completed"' in again.body
    assert content.started == 1


@pytest.mark.parametrize("place", ["below", "uncovered"])
async def test_cancel_closes_silent_content_within_a_second(place: str) -> None:
    content = Content(until=8)
    async with host_of(content, place) as host:
        handle, _ = await left_behind(host)
        cancelled = await ask(host, f"/-/runs/{handle}/cancel")
        assert (cancelled.status, cancelled.json["run"]["reason"]) == (200, "cancelled")
        async with asyncio.timeout(PROMPTLY):
            await content.ended.wait()


@pytest.mark.parametrize("place", PLACES)
async def test_response_run_without_readers_ends_after_continue_for(place: str) -> None:
    content = Content(until=8)
    async with host_of(content, place, resume=Resume(continue_for="100ms")) as host:
        handle, _ = await left_behind(host)
        async with asyncio.timeout(PROMPTLY):
            await content.ended.wait()
        again = await ask(host, headers=[("Last-Event-ID", f"{handle}.3")])
        assert b'"client_gone"' in again.body


@pytest.mark.parametrize("place", PLACES)
async def test_second_request_with_the_same_handle_joins_the_run(place: str) -> None:
    content = Content()
    brought = [("X-Streamweir-Run", f"run_{'5' * 32}")]
    async with host_of(content, place) as host:
        first, second = await ask(host, headers=brought), await ask(host, headers=brought)
        assert first.body == second.body
        assert handle_of(first) == handle_of(second) == brought[0][1]
        if place == "below":
            other = await ask(host, headers=brought, body=b'{"another": 1}')
            assert (other.status, other.json["error"]["code"]) == (409, "RUN_EXISTS")
    assert content.started == 1


@pytest.mark.parametrize("place", PLACES)
async def test_response_run_with_a_brought_handle_is_cancelled_by_leaving(place: str) -> None:
    content = Content(until=8)
    brought = [("X-Streamweir-Run", f"run_{'7' * 32}")]
    async with host_of(content, place, resume=Resume(continue_for="100ms")) as host:
        await left_behind(host, headers=brought)
        async with asyncio.timeout(PROMPTLY):
            await content.ended.wait()
        again = await ask(host, headers=[("Last-Event-ID", f"{brought[0][1]}.3")])
        assert b'"client_gone"' in again.body


@pytest.mark.parametrize("place", PLACES)
async def test_failure_of_the_content_is_the_end_of_the_run(place: str) -> None:
    content = Content()
    content.failure = RuntimeError("s3cret")
    async with host_of(content, place) as host:
        answer = await ask(host)
        again = await ask(host, headers=[("Last-Event-ID", f"{handle_of(answer)}.3")])
        assert b'"INTERNAL"' in again.body
        assert b"s3cret" not in answer.body
        assert answer.body.endswith(again.body)


@pytest.mark.parametrize("place", PLACES)
async def test_response_without_its_store_is_whole_and_ends_with_its_client(place: str) -> None:
    class Away(MemoryStore):
        async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
            raise StoreUnavailable

    content = Content()
    async with host_of(content, place, store=Away()) as host:
        answer = await ask(host)
        assert answer.header("x-streamweir-run") is None
        assert b"RESUME_UNAVAILABLE" in answer.body
        assert not check_stream(answer.body)
    content = Content(until=8)
    async with host_of(content, place, store=Away()) as host:
        async with asyncio.timeout(PROMPTLY), client(host) as connected:
            connected.send("POST", "/chat")
            await connected.until(b'"word 3 "')
        async with asyncio.timeout(PROMPTLY):
            await content.ended.wait()


@pytest.mark.parametrize("place", PLACES)
async def test_request_without_an_owner_gets_a_stream_that_is_not_kept(place: str) -> None:
    content = Content()
    async with host_of(content, place, resume=Resume(owner=lambda _scope: None)) as host:
        answer = await ask(host)
        assert answer.header("x-streamweir-run") is None
        assert b"\nid: run_" not in answer.body
        assert b'"word 19 "' in answer.body


@pytest.mark.parametrize("place", PLACES)
async def test_head_request_starts_no_run(place: str) -> None:
    content = Content()
    async with host_of(content, place) as host:
        answer = await ask(host, method="HEAD", body=b"")
        assert (answer.status, answer.header("x-streamweir-run"), content.started) == (201, None, 0)


def test_resume_without_store_is_refused_when_the_response_is_made() -> None:
    faulty: list[dict[str, Any]] = [
        {"resume": Resume()},
        {"store": MemoryStore()},
        {"resume": True, "store": MemoryStore()},
        {"resume": Resume(), "store": "memory"},
    ]
    for options in faulty:
        with pytest.raises(ConfigurationError, match=r"store|resume"):
            EventStreamResponse(ITEMS, **options)


def test_resume_on_another_event_loop_is_refused() -> None:
    response = EventStreamResponse(ITEMS, resume=Resume(), store=MemoryStore())
    with pytest.raises(ConfigurationError, match="asyncio"):
        trio.run(Call(response).run)
