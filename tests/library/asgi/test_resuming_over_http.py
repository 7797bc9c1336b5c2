"""An application whose streams are kept: clients leave and come back, and the application runs once."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hosts import Call, get, served
from loopback import Answer, Client, client
from patience import PROMPTLY
from streamweir.asgi import NormalizeMiddleware, StreamweirMiddleware
from streamweir.errors import ConfigurationError
from streamweir.runs import MemoryStore, Resume, StoreUnavailable
from streamweir.testing import check_stream

pytestmark = pytest.mark.anyio

PROTOCOLS = ["standard", "legacy", "openai-chat", "anthropic", "ag-ui", "vercel-ui"]
EVENTS = [
    {"type": "thinking", "content": "Hm."},
    {"type": "tool_call", "tool_name": "search", "tool_args": {"q": 1}, "tool_id": "c1"},
    {"type": "tool_result", "tool_name": "search", "result": "found", "tool_id": "c1"},
    *({"type": "token", "content": f"word {number} "} for number in range(20)),
    {"type": "done"},
]
JSON = [("Accept", "application/json")]
Headers = Sequence[tuple[str, str]]


class Agent:
    """A Starlette application whose events the test releases one by one.

    Attributes:
        calls: the number of its requests.
        said: the number of its events.
        ended: whether its generator's `finally` has run.
        ended_at: the time of that, by the monotonic clock.
    """

    def __init__(self, until: int = len(EVENTS)) -> None:
        self.calls = 0
        self.said = 0
        self.ended = asyncio.Event()
        self.ended_at = 0.0
        self._until = until
        self._more = asyncio.Event()
        routes = [
            Route("/chat", self.chat, methods=["POST", "GET"]),
            Route("/plain", self.plain, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    def go_on(self, until: int = len(EVENTS)) -> None:
        self._until = until
        self._more.set()

    async def chat(self, request: Request) -> Response:
        await request.body()
        self.calls += 1
        return StreamingResponse(self._events(), media_type="text/event-stream", headers={"X-Own": "yes"})

    async def plain(self, request: Request) -> Response:
        self.calls += 1
        return JSONResponse({"size": len(await request.body())})

    async def _events(self) -> AsyncIterator[bytes]:
        self.ended.clear()
        try:
            for place, event in enumerate(EVENTS):
                while place >= self._until:
                    self._more.clear()
                    await self._more.wait()
                yield b"data: %b\n\n" % json.dumps(event).encode()
                self.said = place + 1
        finally:
            self.ended_at = time.monotonic()
            self.ended.set()


class AwayStore(MemoryStore):
    """A store that can be out of reach."""

    is_away = False

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        self._check()
        return await super().claim(run, token, about, ttl=ttl)

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        self._check()
        await super().append(run, token, at, events, ttl=ttl, ends=ends)

    async def look(self, run: str) -> Any:
        self._check()
        return await super().look(run)

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailable


@asynccontextmanager
async def mounted(
    agent: Agent, resume: Resume | None = None, store: Any = None, **options: Any
) -> AsyncIterator[Any]:
    """The application below the middleware, on a port; its runs may end afterwards."""
    options = {"speaks": "legacy", "answers": PROTOCOLS, **options}
    app = StreamweirMiddleware(agent.app, resume=resume or Resume(), store=store, **options)
    async with served(app) as host:
        try:
            yield host
        finally:
            agent.go_on()
            if agent.calls:
                async with asyncio.timeout(PROMPTLY):
                    await agent.ended.wait()


async def ask(
    host: Any, target: str = "/chat", *, method: str = "POST", headers: Headers = (), body: bytes = b"{}"
) -> Answer:
    async with asyncio.timeout(PROMPTLY), client(host) as connected:
        connected.send(method, target, headers=headers, body=body)
        return await connected.whole()


@asynccontextmanager
async def asking(host: Any, *, headers: Headers = ()) -> AsyncIterator[Client]:
    async with client(host) as connected:
        connected.send("POST", "/chat", headers=headers)
        yield connected


async def left_behind(host: Any, *, until: bytes = b'"word 4 "', headers: Headers = ()) -> str:
    """Read a run as far as `until`, leave, and return its handle."""
    async with asking(host, headers=headers) as connected:
        await connected.until(until)
        return handle_of(connected.answer)


def handle_of(answer: Answer) -> str:
    handle = answer.header("x-streamweir-run")
    assert handle is not None
    assert re.fullmatch(r"run_[0-9a-f]{32}", handle)
    assert answer.header("content-location") == f"/-/runs/{handle}"
    return handle


def frames_of(body: bytes) -> list[tuple[str, bytes]]:
    """Each frame of an SSE body with its id."""
    found = []
    for block in body.split(b"\n\n")[:-1]:
        if not block.startswith(b":"):
            match = re.match(rb"id: ([^\n]*)\n", block)
            assert match is not None, block
            found.append((match[1].decode(), block + b"\n\n"))
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_run_read_after_any_id_is_the_rest_byte_for_byte(protocol: str) -> None:
    agent = Agent()
    headers = [("X-Streamweir-Protocol", protocol), ("Accept", "text/event-stream")]
    async with mounted(agent, verbatim=False) as host:
        whole = await ask(host, headers=headers)
        assert whole.status == 200
        assert whole.header("x-own") == "yes"
        handle, frames = handle_of(whole), frames_of(whole.body)
        assert b"".join(frame for _, frame in frames) == whole.body
        for place, (frame_id, _) in enumerate(frames):
            rest = b"".join(frame for _, frame in frames[place + 1 :])
            for target, method in ((f"/-/runs/{handle}", "GET"), ("/chat", "POST")):
                resumed = await ask(
                    host, target, method=method, headers=[*headers, ("Last-Event-ID", frame_id)]
                )
                assert (resumed.status, resumed.body) == (200 if rest else 204, rest), (frame_id, target)
                if rest:
                    assert resumed.header("x-request-id") == whole.header("x-request-id")
        assert agent.calls == 1


async def test_client_of_the_own_dialect_gets_the_frames_of_a_run_unchanged() -> None:
    agent = Agent()
    old = [("X-Streamweir-Protocol", "legacy"), ("Accept", "text/event-stream")]
    async with mounted(agent) as host:
        whole = await ask(host, headers=old)
        handle = handle_of(whole)
        joined = await ask(host, headers=[*old, ("X-Streamweir-Run", handle)])
        again = await ask(host, f"/-/runs/{handle}", method="GET", headers=old)
        start = await ask(host, f"/-/runs/{handle}?after=-1", method="GET", headers=old)
        rest = await ask(host, f"/-/runs/{handle}?after=1", method="GET", headers=old)
        standard = [("X-Streamweir-Protocol", "standard"), ("Accept", "text/event-stream")]
        new = await ask(host, f"/-/runs/{handle}", method="GET", headers=standard)
    sent = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in EVENTS)
    assert whole.body == joined.body == sent
    assert again.body == start.body
    assert b"".join(frame.partition(b"\n")[2] for _, frame in frames_of(again.body)) == sent
    assert frames_of(rest.body)[0][0] == f"{handle}.2"
    assert not check_stream(new.body)
    assert agent.calls == 1


async def test_event_source_of_the_own_dialect_reads_on_where_it_was() -> None:
    agent = Agent()
    old = [("X-Streamweir-Protocol", "legacy"), ("Accept", "text/event-stream")]
    async with mounted(agent) as host:
        whole = await ask(host, method="GET", headers=old)
        handle, frames = handle_of(whole), frames_of(whole.body)
        assert all(frame_id.startswith(f"{handle}.") for frame_id, _ in frames)
        rest = await ask(host, method="GET", headers=[*old, ("Last-Event-ID", f"{handle}.1")])
    assert frames_of(rest.body)[0][0] == f"{handle}.2"
    assert agent.calls == 1


async def test_run_continues_without_its_client_which_resumes_later() -> None:
    agent = Agent(until=8)
    async with mounted(agent) as host:
        async with asking(host, headers=[("Accept", "text/event-stream")]) as connected:
            await connected.until(b'"word 4 "')
            handle = handle_of(connected.answer)
            last = frames_of(connected.answer.body)[-1][0]
        begun = connected.answer.body
        async with client(host) as reader:
            reader.send("GET", f"/-/runs/{handle}", headers=[("Last-Event-ID", last)])
            await asyncio.sleep(0.2)
            agent.go_on()
            rest = await reader.whole()
        whole = await ask(host, f"/-/runs/{handle}", method="GET", headers=[("Accept", "text/event-stream")])
        assert begun + rest.body == whole.body
        assert not check_stream(whole.body)
        assert whole.end["status"] == "completed"
        assert "no-store" in (whole.header("cache-control") or "")
        assert (agent.said, agent.calls) == (len(EVENTS), 1)
        described = await ask(
            host, f"/-/runs/{handle}", method="GET", headers=[("Accept", "application/json")]
        )
        assert described.json["run"]["state"] == "ended"
        assert described.json["message"]["content"].endswith("word 19 ")
        assert described.header("x-request-id") == whole.header("x-request-id")


async def test_cancel_reaches_a_silent_generator_within_a_second() -> None:
    agent = Agent(until=8)
    async with mounted(agent) as host, asking(host) as connected:
        await connected.until(b'"word 4 "')
        handle = handle_of(connected.answer)
        cancelled = await ask(host, f"/-/runs/{handle}/cancel")
        assert cancelled.status == 200
        assert (cancelled.json["run"]["status"], cancelled.json["run"]["reason"]) == (
            "cancelled",
            "cancelled",
        )
        answer = await connected.whole()
        assert answer.assert_valid().end["status"] == "cancelled"
        async with asyncio.timeout(PROMPTLY):
            await agent.ended.wait()
        again = await ask(host, f"/-/runs/{handle}/cancel")
        assert (again.status, again.json["run"]["status"]) == (200, "cancelled")


async def test_run_without_readers_ends_after_continue_for() -> None:
    agent = Agent(until=8)
    async with mounted(agent, Resume(continue_for="2s")) as host:
        handle = await left_behind(host)
        left = time.monotonic()
        async with asyncio.timeout(PROMPTLY):
            await agent.ended.wait()
        assert agent.ended_at - left > 1.5
        answer = await ask(host, f"/-/runs/{handle}", method="GET")
        assert answer.end == {**answer.end, "status": "cancelled", "reason": "client_gone"}


async def test_removed_run_is_unknown() -> None:
    agent = Agent(until=8)
    async with mounted(agent) as host:
        handle = await left_behind(host)
        removed = await ask(host, f"/-/runs/{handle}", method="DELETE")
        assert removed.status == 204
        gone = await ask(host, f"/-/runs/{handle}", method="GET")
        assert (gone.status, gone.json["error"]["code"]) == (404, "RUN_NOT_FOUND")
        assert agent.ended.is_set()


async def test_same_request_joins_the_run_and_another_is_refused() -> None:
    agent, handle = Agent(until=8), "run_" + "5" * 32
    headers = [("X-Streamweir-Run", handle), ("Accept", "text/event-stream")]
    async with mounted(agent) as host:
        starting = [asyncio.create_task(ask(host, headers=headers)) for _ in range(5)]
        await asyncio.sleep(0.3)
        other = await ask(host, headers=headers, body=b'{"another": 1}')
        assert (other.status, other.json["error"]["code"]) == (409, "RUN_EXISTS")
        agent.go_on()
        answers = await asyncio.gather(*starting)
        assert len({answer.body for answer in answers}) == 1
        assert answers[0].assert_valid().text.endswith("word 19 ")
        assert agent.calls == 1
        assert (await ask(host, headers=[("X-Streamweir-Run", "mine")])).status == 400


async def test_client_with_a_handle_can_leave_before_the_first_event() -> None:
    agent, handle = Agent(until=0), "run_" + "4" * 32
    async with mounted(agent) as host:
        async with asking(host, headers=[("X-Streamweir-Run", handle)]):
            await asyncio.sleep(0.2)
        await asyncio.sleep(0.2)
        joining = asyncio.create_task(ask(host, headers=[("X-Streamweir-Run", handle)]))
        await asyncio.sleep(0.2)
        agent.go_on()
        assert (await joining).assert_valid().text.endswith("word 19 ")
        assert agent.calls == 1


async def test_request_with_a_handle_that_is_too_large_by_its_length_is_refused_unread() -> None:
    agent = Agent()
    async with mounted(agent) as host, client(host) as connected:
        connected.announce("/chat", 1 << 40, headers=[("X-Streamweir-Run", "run_" + "8" * 32)])
        answer = await connected.whole()
    assert (answer.status, answer.json["error"]["code"], agent.calls) == (413, "REQUEST_TOO_LARGE", 0)


async def test_response_that_is_no_stream_leaves_no_run() -> None:
    agent, handle = Agent(), "run_" + "6" * 32
    async with mounted(agent) as host:
        for _ in range(2):
            answer = await ask(host, "/plain", headers=[("X-Streamweir-Run", handle)], body=b"x" * 70_000)
            assert (answer.json, answer.header("x-streamweir-run")) == ({"size": 70_000}, None)
        assert (await ask(host, f"/-/runs/{handle}", method="GET")).status == 404
        agent.calls = 0


def by_user(scope: Any) -> str | None:
    return next((value.decode() for name, value in scope["headers"] if name == b"x-user"), None)


async def test_run_is_visible_to_its_owner_only() -> None:
    agent, ann, bob = Agent(), [("X-User", "ann")], [("X-User", "bob")]
    async with mounted(agent, Resume(owner=by_user, find=True)) as host:
        answer = await ask(host, headers=[*ann, ("X-Request-Id", "req-7")])
        target = f"/-/runs/{handle_of(answer)}"
        unknown = await ask(host, "/-/runs/run_" + "7" * 32, method="GET", headers=ann)
        for method, path in (("GET", target), ("DELETE", target), ("POST", f"{target}/cancel")):
            for headers in (bob, []):
                refused = await ask(host, path, method=method, headers=headers)
                assert refused.status == 404
                assert refused.json["error"]["message"] == unknown.json["error"]["message"]
        assert (await ask(host, target, method="GET", headers=ann)).body == answer.body
        query = "/-/runs?request_id=req-7"
        mine, others = [await ask(host, query, method="GET", headers=who) for who in (ann, bob)]
        assert [run["id"] for run in mine.json["runs"]] == [handle_of(answer)]
        assert others.json["runs"] == []
        latest = await ask(host, "/-/runs/latest?request_id=req-7", method="GET", headers=ann)
        assert latest.status == 204
        asked = await ask(host, headers=ann, body=b'{"thread_id": "t1"}')
        threads = await ask(host, "/-/runs?thread_id=t1", method="GET", headers=ann)
        assert [run["id"] for run in threads.json["runs"]] == [handle_of(asked)]
        last = re.findall(rb"^id: (\S+)$", asked.body, re.M)[-1].decode()
        for path in (f"/-/runs/{handle_of(asked)}", "/chat"):
            nothing = await ask(host, path, method="GET", headers=[*ann, ("Last-Event-ID", last)])
            assert nothing.status == 204
            assert nothing.header("x-request-id") == asked.header("x-request-id")
        anonymous = await ask(host)
        assert anonymous.assert_valid().header("x-streamweir-run") is None


async def test_store_that_is_away_costs_only_the_resuming() -> None:
    agent, store = Agent(), AwayStore()
    async with mounted(agent, store=store) as host:
        store.is_away = True
        answer = (await ask(host)).assert_valid()
        assert answer.header("x-streamweir-run") is None
        codes = [event["data"].get("message_code") for event in answer.events]
        assert codes.index("RESUME_UNAVAILABLE") == 1
        assert answer.text.endswith("word 19 ")
        read = await ask(host, "/-/runs/run_" + "8" * 32, method="GET")
        assert (read.status, read.header("retry-after")) == (503, "1")


async def test_store_that_fails_during_a_run_costs_only_the_resuming() -> None:
    agent, store = Agent(until=8), AwayStore()
    async with mounted(agent, store=store) as host, asking(host) as connected:
        await connected.until(b'"word 4 "')
        store.is_away = True
        agent.go_on()
        answer = (await connected.whole()).assert_valid()
        assert answer.text.endswith("word 19 ")
        assert b"RESUME_LOST" in answer.body
        assert b"\nid:" not in answer.body.partition(b"RESUME_LOST")[2]


async def test_run_over_max_bytes_is_sent_whole_and_not_kept() -> None:
    agent = Agent()
    async with mounted(agent, Resume(max_bytes=600)) as host:
        answer = (await ask(host)).assert_valid()
        assert answer.text.endswith("word 19 ")
        assert b"RESUME_LIMIT" in answer.body
        gone = await ask(host, f"/-/runs/{handle_of(answer)}", method="GET")
        assert (gone.status, gone.json["error"]["code"]) == (410, "RUN_GONE")


async def test_folded_answer_is_a_run_too() -> None:
    agent = Agent()
    async with mounted(agent) as host:
        answer = await ask(host, headers=[("Accept", "application/json")])
        assert answer.json["status"] == "completed"
        again = await ask(host, f"/-/runs/{handle_of(answer)}", method="GET", headers=[("Accept", "*/*")])
        assert again.json == answer.json


async def test_failure_sent_as_a_status_leaves_no_run() -> None:
    async def fail(_: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield b'data: {"type": "error", "message": "no"}\n\n'

        return StreamingResponse(events(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/chat", fail, methods=["POST"])])
    options: dict[str, Any] = {"speaks": "legacy", "answers": PROTOCOLS, "resume": Resume()}
    async with served(StreamweirMiddleware(app, **options)) as host:
        handle = "run_" + "ab" * 16
        headers = [("X-Streamweir-Run", handle), ("X-Streamweir-Protocol", "openai-chat")]
        answer = await ask(host, headers=headers)
        assert answer.status == 502
        assert (answer.header("x-streamweir-run"), answer.header("content-location")) == (None, None)
        assert (await ask(host, f"/-/runs/{handle}", method="GET", body=b"")).status == 404


async def test_malformed_position_or_handle_is_refused() -> None:
    agent = Agent()
    async with mounted(agent) as host:
        handle = handle_of(await ask(host))
        target, other = f"/-/runs/{handle}", "run_" + "9" * 32
        for headers, query, status in (
            ([("Last-Event-ID", "nonsense")], "", 400),
            ([("Last-Event-ID", f"{other}.1")], "", 400),
            ([("Last-Event-ID", f"{handle}.999")], "", 410),
            ([], "?after=x", 400),
            ([("X-Streamweir-Protocol", "ragflow")], "", 400),
        ):
            assert (await ask(host, target + query, method="GET", headers=headers)).status == status
        wrong = await ask(host, target)
        assert (wrong.status, wrong.header("allow")) == (405, "GET, DELETE")
        assert (await ask(host, "/-/runs?thread_id=t", method="GET")).status == 404
        lost = [("Last-Event-ID", f"{other}.1")]
        assert (await ask(host, method="GET", headers=lost)).status == 204
        assert (await ask(host, headers=lost)).status == 404


async def test_middleware_without_resume_keeps_no_runs() -> None:
    agent = Agent()
    app = StreamweirMiddleware(agent.app, speaks="legacy")
    async with served(app) as host:
        answer = await get(host, headers=[("X-Streamweir-Run", "run_" + "1" * 32)])
        assert answer.assert_valid().header("x-streamweir-run") is None
        assert b"id: run_" not in answer.body


def test_impossible_options_of_resume_are_refused() -> None:
    app = Agent().app
    with pytest.raises(ConfigurationError, match="resume"):
        NormalizeMiddleware(app, speaks="legacy", store=MemoryStore())
    with pytest.raises(ConfigurationError, match="Resume"):
        NormalizeMiddleware(app, speaks="legacy", resume=True)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="RunStore"):
        NormalizeMiddleware(app, speaks="legacy", resume=Resume(), store={})  # type: ignore[arg-type]


def test_resume_on_another_event_loop_is_refused() -> None:
    app = NormalizeMiddleware(Agent().app, speaks="legacy", resume=Resume())
    with pytest.raises(ConfigurationError, match="asyncio"):
        trio.run(Call(app).run)
