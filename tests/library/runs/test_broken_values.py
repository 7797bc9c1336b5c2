"""What a store returns is not trusted: a run that cannot be read is 410, and never raises at a client."""

import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from streamweir.asgi import StreamweirMiddleware
from streamweir.runs import MemoryStore, Resume
from streamweir.runs.store import RunState

pytestmark = pytest.mark.anyio

PROTOCOLS = ("standard", "ag-ui", "openai-chat", "anthropic", "vercel-ui", "openai-responses")
EVENTS = (
    {"type": "thinking", "content": "Hm."},
    {"type": "tool_call", "tool_name": "search", "tool_args": {"q": 1}, "tool_id": "c1"},
    {"type": "tool_result", "tool_name": "search", "result": "found", "tool_id": "c1"},
    {"type": "token", "content": "Hi"},
    {"type": "done"},
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def application(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for event in EVENTS:
        body = f"data: {json.dumps(event)}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class BrokenStore(MemoryStore):
    """Returns other values than were stored."""

    about: Callable[[bytes], bytes] | None = None
    events: Callable[[list[bytes]], list[bytes]] | None = None

    async def look(self, run: str) -> RunState | None:
        state = await super().look(run)
        return state if state is None or self.about is None else state._replace(about=self.about(state.about))

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        page = [*await super().read(run, at)]
        return page if self.events is None else self.events(page)


class Kept:
    """A run that is kept, its store and a client."""

    def __init__(self, store: BrokenStore, client: httpx.AsyncClient, place: str) -> None:
        self.store = store
        self.client = client
        self.place = place

    async def statuses(self) -> set[int]:
        """The statuses of all ways to read it; nothing of it may raise."""
        found = set()
        for protocol in PROTOCOLS:
            for accept in ("text/event-stream", "application/json"):
                headers = {"Accept": accept, "X-Streamweir-Protocol": protocol}
                found.add((await self.client.get(self.place, headers=headers)).status_code)
        return found


@asynccontextmanager
async def kept_run() -> AsyncIterator[Kept]:
    store = BrokenStore()
    app = StreamweirMiddleware(
        application, speaks="legacy", answers=PROTOCOLS, paths=["/chat"], resume=Resume(), store=store
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        got = await client.post("/chat", json={}, headers={"Accept": "text/event-stream"})
        yield Kept(store, client, got.headers["content-location"])


def with_fields(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda about: json.dumps({**json.loads(about), **fields}).encode()


BROKEN_ABOUT: dict[str, Callable[[bytes], bytes]] = {
    "no UTF-8": lambda _: b"\xff",
    "empty": lambda _: b"",
    "a list": lambda _: b"[]",
    **{
        f"{name}={value!r}"[:40]: with_fields(**{name: value})
        for name, values in {
            "framing": ("morse", 7),
            "request_id": ("a\r\nb: c", "x" * 9999, "", 7),
            "started_at": (-1, 10**30, "x"),
            "ttl": (-1, 0, 1e308, "x"),
            "endpoint": (7,),
        }.items()
        for value in values
    },
}


@pytest.mark.parametrize("name", BROKEN_ABOUT)
async def test_facts_that_cannot_be_read_are_410(name: str) -> None:
    async with kept_run() as kept:
        assert await kept.statuses() == {200}
        kept.store.about = BROKEN_ABOUT[name]
        assert await kept.statuses() == {410}
        assert (await kept.client.post(f"{kept.place}/cancel")).status_code == 410


LINES: dict[str, Callable[[bytes], bytes]] = {
    "no UTF-8": lambda _: b"\xff",
    "empty": lambda _: b"",
    "a number": lambda _: b"7",
    "an empty list": lambda _: b"[]",
    "an unknown type": lambda _: b'[1,"morse",null,{}]',
    "no fields": lambda _: b'[1,"content",null,{}]',
    "half a character": lambda _: b'[1,"content","\\ud800",{}]',
    "an error without a message": lambda _: b'[1,"error",null,{"error_type":"x","code":"Y"}]',
    "metadata": lambda line: line[:-2] + b',"meta":7}]' if line[-3:-2] != b"{" else line[:-2] + b'"meta":7}]',
}

MISPLACED: dict[str, bytes] = {
    "an end": b'[1,"session_end",null,{"status":"completed"}]',
    "a start": b'[1,"session_start",null,{"session_id":"s"}]',
    "the end of a call": b'[1,"tool_call_end",null,{"tool_id":"q","status":"success"}]',
    "a piece of a call": b'[1,"tool_call_delta",null,{"tool_id":"q","arguments_delta":"x"}]',
    "a failure": b'[1,"error",null,{"error_type":"system","code":"x y","message":"m","recoverable":true}]',
}


async def test_events_that_cannot_be_read_are_410() -> None:
    logging.getLogger("streamweir").setLevel(logging.CRITICAL)
    async with kept_run() as kept:
        count = len(EVENTS) + 2
        for name, broken in LINES.items():
            for place in (0, 1, count // 2):

                def replaced(page: list[bytes], at: int = place, make: Any = broken) -> list[bytes]:
                    return [make(line) if number == at else line for number, line in enumerate(page)]

                kept.store.events = replaced
                assert await kept.statuses() == {410}, (name, place)


async def test_events_in_no_order_never_raise() -> None:
    async with kept_run() as kept:
        for line in MISPLACED.values():
            for place in range(1, len(EVENTS)):

                def replaced(page: list[bytes], at: int = place, other: bytes = line) -> list[bytes]:
                    return [*page[:at], other, *page[at:]] if page else []

                kept.store.events = replaced
                assert await kept.statuses() <= {200, 410}


async def test_run_without_its_beginning_is_410() -> None:
    async with kept_run() as kept:
        kept.store.events = lambda page: []
        assert (await kept.client.get(kept.place)).status_code in (200, 410)
        kept.store.events = lambda page: page[::-1]
        assert await kept.statuses() == {410}
        kept.store.events = lambda page: page[1:]
        assert await kept.statuses() == {410}
