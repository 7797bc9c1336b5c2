"""A client that comes back gets the rest of its run byte for byte; the upstream gets no second request."""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import Answer, Gateway, ask, client, gateway, settled
from patience import PROMPTLY
from redis_servers import RedisServer, redis_binaries, redis_server
from scripted_upstream import LAST_CHUNK, SSE, Call, Upstream, chunk, upstream
from streamweir import ConfigurationError
from streamweir.runs import RedisStore
from streamweir.runs.handles import run_name
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

ANSWERS = ["standard", "legacy", "stream-envelope", "openai-chat", "anthropic", "openai-responses"]
EVENTS = [
    b'data: {"type": "thinking", "content": "Hm."}\n\n',
    b'data: {"type": "tool_call", "tool_name": "search", "tool_args": {"q": 1}, "tool_id": "c1"}\n\n',
    b'data: {"type": "tool_result", "tool_name": "search", "result": "found", "tool_id": "c1"}\n\n',
    *(b'data: {"type": "token", "content": "word %d "}\n\n' % i for i in range(40)),
    b'data: {"type": "done"}\n\n',
]


@pytest.fixture(scope="module", params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield "memory"
        return
    with redis_server(redis_binaries()[0]) as server:
        yield server.url


def kept(url: str, store: str = "memory", **options: Any) -> GatewayConfig:
    """Return a configuration with `/chat` in front of `url`, with `resume`."""
    file = {key: options.pop(key) for key in ("auth", "server", "cors", "rate_limit") if key in options}
    endpoint = {"upstream": url, "speaks": "legacy", "resume": "on", "answers": ANSWERS, **options}
    return settled(endpoints={"/chat": endpoint}, store=store, **file)


class Gate:
    """An upstream script that sends events up to a place, and waits there until it is opened further."""

    def __init__(self) -> None:
        self.said = 0
        self._more = asyncio.Event()
        self._until = 0

    def open(self, until: int = len(EVENTS)) -> None:
        self._until = until
        self._more.set()

    async def __call__(self, call: Call) -> None:
        left = asyncio.create_task(call.until_closed())
        try:
            await call.send(SSE)
            for place, event in enumerate(EVENTS):
                while place >= self._until:
                    self._more.clear()
                    waiting = asyncio.create_task(self._more.wait())
                    await asyncio.wait([waiting, left], return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if left.done():
                        return
                await call.send(chunk(event))
                self.said = place + 1
            await call.send(LAST_CHUNK)
        finally:
            left.cancel()


@asynccontextmanager
async def started(store: str, **options: Any) -> AsyncIterator[tuple[Gateway, Upstream, Gate]]:
    gate = Gate()
    async with upstream(gate) as server, gateway(kept(server.url, store, **options)) as running:
        yield running, server, gate
        gate.open()


def handle_of(answer: Answer) -> str:
    handle = answer.header("x-streamweir-run")
    assert handle is not None
    assert re.fullmatch(r"run_[0-9a-f]{32}", handle)
    assert answer.header("content-location") == f"/-/runs/{handle}"
    return handle


def frames_of(body: bytes) -> list[tuple[str | None, bytes]]:
    """Return each frame with its id, without heartbeats."""
    frames = []
    for block in body.split(b"\n\n")[:-1]:
        if not block.startswith(b":"):
            found = re.match(rb"id: ([^\n]*)\n", block)
            frames.append((found[1].decode() if found else None, block + b"\n\n"))
    return frames


async def test_answer_of_a_run_is_valid_and_names_the_run(store: str) -> None:
    async with started(store) as (running, server, gate):
        gate.open()
        answer = (await ask(running)).assert_valid()
        handle = handle_of(answer)
        assert answer.end["status"] == "completed"
        ids = [frame_id for frame_id, _ in frames_of(answer.body)]
        assert ids == [f"{handle}.{n}" for n in range(len(ids))]
        assert len(server.calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ANSWERS)
async def test_run_read_after_any_id_in_any_protocol_is_the_rest_byte_for_byte(
    store: str, protocol: str
) -> None:
    async with started(store, verbatim=False) as (running, server, gate):
        gate.open()
        headers = [("X-Streamweir-Protocol", protocol), ("Accept", "text/event-stream")]
        whole = await ask(running, headers=headers)
        assert whole.status == 200
        handle = handle_of(whole)
        frames = frames_of(whole.body)
        assert b"".join(frame for _, frame in frames) == whole.body
        for place, (frame_id, _) in enumerate(frames):
            assert frame_id is not None
            for target, method in ((f"/-/runs/{handle}", "GET"), ("/chat", "POST")):
                resumed = await ask(running, method, target, headers=[*headers, ("Last-Event-ID", frame_id)])
                rest = b"".join(frame for _, frame in frames[place + 1 :])
                assert resumed.status == (200 if rest else 204)
                assert resumed.body == rest, (frame_id, target)
                if rest:
                    assert resumed.header("x-request-id") == whole.header("x-request-id")
        again = await ask(running, "GET", f"/-/runs/{handle}", headers=headers)
        assert again.body == whole.body
        assert len(server.calls) == 1


async def test_readers_of_a_run_get_the_names_of_its_first_request(store: str) -> None:
    async with started(store) as (running, _, gate):
        gate.open()
        headers = [("X-Streamweir-Protocol", "openai-chat")]
        body = b'{"model": "support-bot", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}'
        first = await ask(running, headers=headers, body=body)
        again = await ask(running, "GET", f"/-/runs/{handle_of(first)}", headers=headers)
    assert first.body.count(b'"model":"support-bot"') > 40
    assert again.body == first.body


async def test_run_continues_after_its_client_has_left(store: str) -> None:
    async with started(store) as (running, server, gate):
        gate.open(10)
        async with client(running) as first:
            first.send()
            await first.until(b"word 5 ")
            seen = frames_of(first.answer.body)
            handle = handle_of(first.answer)
            first.leave()
        async with client(running) as second:
            second.send("GET", f"/-/runs/{handle}", headers=[("Last-Event-ID", str(seen[-1][0]))], body=b"")
            while not second.answer.status:
                await second.step()
            gate.open()
            rest = await second.whole()
        assert len(server.calls) == 1
        line = await running.log.next_line()
        whole = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
        assert b"".join(frame for _, frame in seen) + rest.body == whole.body
        assert rest.end["status"] == "completed"
        lines = running.log.lines
        assert {line.get("client_left") for line in lines} >= {True}
        assert line["event"] == "request"


async def test_client_that_does_not_read_is_cut_off_and_its_run_continues(store: str) -> None:
    async def flood(call: Call) -> None:
        await call.send(SSE)
        for _ in range(60):
            await call.send(chunk(b'data: {"type": "token", "content": "%b"}\n\n' % (b"word " * 20_000)))
        await call.send(chunk(EVENTS[-1]), LAST_CHUNK)

    timeouts = {"write": "500ms"}
    async with upstream(flood) as server, gateway(kept(server.url, store, timeouts=timeouts)) as running:
        handle = "run_" + secrets.token_hex(16)
        async with client(running) as lazy, asyncio.timeout(PROMPTLY):
            lazy.send(headers=[("X-Streamweir-Run", handle)])
            while not lazy.answer.status:
                await lazy.step()
            whole = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
            assert whole.end["status"] == "completed"
            assert whole.body.count(b"word ") == 60 * 20_000
            while (line := await running.log.next_line()).get("resumes"):
                pass
        assert (line["reason"], line["method"]) == ("done", "POST")


async def test_hundred_readers_of_a_run_get_the_same_bytes(store: str) -> None:
    async with started(store) as (running, server, gate):
        gate.open(3)
        async with client(running) as first:
            first.send()
            await first.until(b"tool_call_end")
            handle = handle_of(first.answer)
            reading = [
                asyncio.create_task(ask(running, "GET", f"/-/runs/{handle}", body=b"")) for _ in range(100)
            ]
            await asyncio.sleep(0.1)
            gate.open()
            whole = await first.whole()
            answers = await asyncio.gather(*reading)
        assert {answer.body for answer in answers} == {whole.body}
        assert len(server.calls) == 1


async def test_cancel_stops_a_run_within_a_second(store: str) -> None:
    async with started(store) as (running, server, gate):
        gate.open(10)
        async with client(running) as first:
            first.send()
            await first.until(b"word 5 ")
            handle = handle_of(first.answer)
            answer = await ask(running, "POST", f"/-/runs/{handle}/cancel", body=b"")
            assert answer.status == 200
            run = answer.json["run"]
            assert (run["id"], run["state"], run["status"], run["reason"]) == (
                handle,
                "ended",
                "cancelled",
                "cancelled",
            )
            whole = (await first.whole()).assert_valid()
        assert whole.end["reason"] == "cancelled"
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
        again = await ask(running, "POST", f"/-/runs/{handle}/cancel", body=b"")
        assert (again.status, again.json["run"]) == (200, run)
        removed = await ask(running, "DELETE", f"/-/runs/{handle}", body=b"")
        assert removed.status == 204
        gone = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
        assert (gone.status, gone.json["error"]["code"]) == (404, "RUN_NOT_FOUND")


async def test_run_read_as_json_is_the_folded_result_so_far(store: str) -> None:
    async with started(store) as (running, _, gate):
        gate.open(8)
        async with client(running) as first:
            first.send()
            await first.until(b"word 4 ")
            handle = handle_of(first.answer)
            accept = [("Accept", "application/json")]
            so_far = await ask(running, "GET", f"/-/runs/{handle}", headers=accept, body=b"")
            assert so_far.json["status"] == "running"
            assert handle_of(so_far) == handle
            assert so_far.header("x-request-id") == first.answer.header("x-request-id")
            assert so_far.json["run"]["state"] == "running"
            assert so_far.json["message"]["content"].startswith("word 0 word 1 ")
            after = so_far.json["run"]["events"] - 1
            gate.open()
            rest = await ask(running, "GET", f"/-/runs/{handle}?after={after}", body=b"")
            whole = await first.whole()
        assert whole.body.endswith(rest.body)
        done = await ask(running, "GET", f"/-/runs/{handle}", headers=accept, body=b"")
        assert done.json["status"] == "completed"
        assert done.json["run"]["status"] == "completed"


async def test_folded_answer_is_a_run(store: str) -> None:
    async with started(store) as (running, _, gate):
        gate.open()
        answer = await ask(running, headers=[("Accept", "application/json")])
        assert answer.json["status"] == "completed"
        read = await ask(
            running, "GET", f"/-/runs/{handle_of(answer)}", headers=[("Accept", "*/*")], body=b""
        )
        assert read.json == answer.json


async def test_result_read_where_its_run_was_folded_is_kept_by_no_cache() -> None:
    async with started("memory") as (running, _, gate):
        gate.open()
        handle = handle_of(await ask(running, headers=[("Accept", "application/json")]))
        for accept, caching in (
            ("*/*", "no-store"),
            ("text/event-stream", "no-cache, no-store, no-transform"),
        ):
            read = await ask(running, "GET", f"/-/runs/{handle}", headers=[("Accept", accept)], body=b"")
            assert read.header("cache-control") == caching


async def test_reader_of_an_unknown_protocol_is_refused_with_each_protocol_once() -> None:
    async with started("memory", answers=["standard", "legacy", "ag-ui"]) as (running, _, gate):
        gate.open()
        handle = handle_of(await ask(running, headers=[("X-Streamweir-Protocol", "legacy")]))
        unknown = [("X-Streamweir-Protocol", "unknown")]
        refused = await ask(running, "GET", f"/-/runs/{handle}", headers=unknown, body=b"")
        assert refused.status == 400
        assert refused.json["error"]["message"].endswith("answers in: legacy, standard, ag-ui.")


async def test_failure_reported_by_status_leaves_no_run(store: str) -> None:
    async def refuse(call: Call) -> None:
        await call.send(b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    async with upstream(refuse) as server, gateway(kept(server.url, store)) as running:
        handle = "run_" + secrets.token_hex(16)
        headers = [("X-Streamweir-Run", handle), ("X-Streamweir-Protocol", "openai-chat")]
        answer = await ask(running, headers=headers)
        assert answer.status == 502
        assert (answer.header("x-streamweir-run"), answer.header("content-location")) == (None, None)
        read = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
        assert (read.status, read.json["error"]["code"]) == (404, "RUN_NOT_FOUND")


async def test_unreadable_run_is_answered_410() -> None:
    with redis_server(redis_binaries()[0]) as server:
        async with started(server.url) as (running, _, gate):
            gate.open()
            handle = handle_of(await ask(running))
            server.command("LSET", f"streamweir:run:{{{run_name(None, handle)}}}:events", "3", "[1, 2")
            for headers in ([], [("Last-Event-ID", f"{handle}.7")]):
                read = await ask(running, "GET", f"/-/runs/{handle}", headers=headers, body=b"")
                assert (read.status, read.json["error"]["code"]) == (410, "RUN_GONE")
            assert (await ask(running, "DELETE", f"/-/runs/{handle}", body=b"")).status == 204


async def test_equal_requests_with_one_handle_start_one_run(store: str) -> None:
    async with started(store) as (running, server, gate):
        handle = "run_" + "ab" * 16
        headers = [("X-Streamweir-Run", handle)]
        asking = [asyncio.create_task(ask(running, headers=headers)) for _ in range(10)]
        await asyncio.sleep(0.2)
        gate.open()
        answers = await asyncio.gather(*asking)
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 1
        assert len(server.calls) == 1
        other = await ask(running, headers=headers, body=b'{"other": 1}')
        assert (other.status, other.json["error"]["code"]) == (409, "RUN_EXISTS")


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/-/runs/run_" + "0" * 32, [], 404),
        ("/-/runs/nothing", [], 404),
        ("/chat", [("X-Streamweir-Run", "mine")], 400),
        ("/chat", [("X-Streamweir-Run", "run_" + "0" * 32)] * 2, 400),
        ("/chat", [("Last-Event-ID", "run_" + "0" * 32 + ".1")], 404),
    ],
)
async def test_request_for_no_run_is_refused(
    target: str, headers: list[tuple[str, str]], status: int
) -> None:
    async with started("memory") as (running, server, _):
        answer = await ask(running, "POST" if target == "/chat" else "GET", target, headers=headers)
        assert answer.status == status
        assert answer.header("cache-control") == "no-store"
        assert len(server.calls) == 0


async def test_answers_below_the_path_of_runs_are_private() -> None:
    async with started("memory", methods=["GET", "POST"]) as (running, _, gate):
        gate.open()
        answer = await ask(running)
        handle, last = handle_of(answer), re.findall(rb"^id: (\S+)$", answer.body, re.M)[-1].decode()
        json_type, end = ("Accept", "application/json"), ("Last-Event-ID", last)
        other = ("Last-Event-ID", f"run_{'0' * 32}.1")
        for target, headers, status in (
            (f"/-/runs/{handle}", [end], 204),
            (f"/-/runs/{handle}", [json_type, other], 400),
            (f"/-/runs/{handle}?after=99", [json_type], 410),
            (f"/-/runs/{handle}/nothing", [], 404),
            ("/-/runs/a/b/c", [], 404),
            ("/-/runs/", [], 404),
        ):
            refused = await ask(running, "GET", target, headers=headers, body=b"")
            assert refused.status == status, target
            assert refused.header("cache-control") == "no-store", target
            assert "Last-Event-ID" in (refused.header("vary") or ""), target
        for method, target in (("GET", f"/-/runs/{handle}"), ("GET", "/chat"), ("POST", "/chat")):
            nothing = await ask(running, method, target, headers=[end], body=b"")
            assert nothing.status == 204
            assert nothing.header("x-request-id") == answer.header("x-request-id")


async def test_log_line_of_a_reader_has_the_path_of_runs_and_no_handle() -> None:
    async with started("memory", server={"runs": "/kept/answers"}) as (running, _, gate):
        gate.open()
        answer = await ask(running)
        await running.log.next_line()
        handle = answer.header("x-streamweir-run")
        assert answer.header("content-location") == f"/kept/answers/{handle}"
        await ask(running, "GET", f"/kept/answers/{handle}", body=b"")
        line = await running.log.next_line()
    assert line["path"] == "/kept/answers"
    assert str(handle) not in str(line)


async def test_run_does_not_exist_for_another_key() -> None:
    auth = {"keys": {"alice": "alice-key-123456", "bob": "bob-key-12345678"}}
    async with started("memory", auth=auth) as (running, _, gate):
        gate.open()
        alice = ("Authorization", "Bearer alice-key-123456")
        bob = ("Authorization", "Bearer bob-key-12345678")
        answer = await ask(running, headers=[alice])
        handle = handle_of(answer)
        assert (await ask(running, "GET", f"/-/runs/{handle}", headers=[alice])).body == answer.body
        for method, path in (("GET", ""), ("POST", "/cancel"), ("DELETE", "")):
            foreign = await ask(running, method, f"/-/runs/{handle}{path}", headers=[bob])
            unknown = await ask(running, method, f"/-/runs/run_{'0' * 32}{path}", headers=[bob])
            assert foreign.status == unknown.status == 404
            assert foreign.json["error"] == unknown.json["error"]
        assert (await ask(running, "GET", f"/-/runs/{handle}")).status == 401


async def test_find_returns_the_runs_of_a_thread_newest_first() -> None:
    auth = {"keys": {"alice": "alice-key-123456", "bob": "bob-key-12345678"}}
    alice = [("Authorization", "Bearer alice-key-123456")]
    async with started("memory", auth=auth, resume={"find": True}) as (running, _, gate):
        gate.open(5)
        async with client(running) as first:
            first.send(headers=[*alice, ("X-Request-Id", "req-alice")])
            await first.until(b"word 1 ")
            handle = handle_of(first.answer)
            target = "/-/runs?request_id=req-alice"
            found = await ask(running, "GET", target, headers=alice)
            assert [run["id"] for run in found.json["runs"]] == [handle]
            bobs = await ask(running, "GET", target, headers=[("Authorization", "Bearer bob-key-12345678")])
            assert bobs.json == {"runs": []}
            gate.open()
            latest = await ask(running, "GET", "/-/runs/latest?request_id=req-alice", headers=alice)
            assert latest.body == (await first.whole()).body
        nothing = await ask(running, "GET", "/-/runs/latest?request_id=req-alice", headers=alice)
        assert nothing.status == 204


async def test_answer_that_cannot_be_stored_begins_with_session_start(store: str) -> None:
    async with started(store, resume={"max_bytes": 10}) as (running, _, gate):
        gate.open()
        answer = await ask(running)
        assert answer.types[:3] == ["session_start", "warning", "thinking"]
        assert answer.events[1]["data"]["message_code"] == "RESUME_LIMIT"
        assert [event["metadata"]["sequence"] for event in answer.events] == list(range(len(answer.events)))
        assert b"id: run_" not in answer.body
        assert answer.end["status"] == "completed"


async def test_answer_longer_than_max_bytes_is_whole_and_cannot_be_resumed(store: str) -> None:
    async with started(store, resume={"max_bytes": "2KiB"}) as (running, _, gate):
        gate.open()
        answer = (await ask(running)).assert_valid()
        warnings = [event["data"]["message_code"] for event in answer.events if event["type"] == "warning"]
        assert warnings == ["RESUME_LIMIT"]
        assert answer.text == "".join(f"word {i} " for i in range(40))
        gone = await ask(running, "GET", f"/-/runs/{handle_of(answer)}", body=b"")
        assert (gone.status, gone.json["error"]["code"]) == (410, "RUN_GONE")


async def test_run_without_readers_ends_after_on_disconnect() -> None:
    async with started("memory", on_disconnect={"continue_for": "2s"}) as (running, server, gate):
        gate.open(5)
        async with client(running) as first:
            first.send()
            await first.until(b"word 1 ")
            handle = handle_of(first.answer)
            await asyncio.sleep(0.9)  # readers are looked for once a second
            first.leave()
            left = time.monotonic()
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
        assert server.call.closed_at - left >= 2
        answer = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
        assert (answer.end["status"], answer.end["reason"]) == ("cancelled", "client_gone")


@pytest.mark.slow
async def test_first_client_gets_its_whole_answer_when_the_store_stops(tmp_path: Path) -> None:
    with redis_server(redis_binaries()[0]) as server:
        store: dict[str, Any] = {"url": server.url, "timeout": "400ms", "lease": "1s"}
        gate = Gate()
        async with upstream(gate) as backend:
            config = settled(
                endpoints={"/chat": {"upstream": backend.url, "speaks": "legacy", "resume": "on"}},
                store=store,
            )
            async with gateway(config) as running, client(running) as first:
                gate.open(5)
                first.send()
                await first.until(b"word 1 ")
                handle = handle_of(first.answer)
                _end(server)
                gate.open()
                answer = (await first.whole()).assert_valid()
                codes = [
                    event["data"]["message_code"] for event in answer.events if event["type"] == "warning"
                ]
                assert codes == ["RESUME_LOST"]
                assert answer.text == "".join(f"word {i} " for i in range(40))
                unavailable = await ask(running, "GET", f"/-/runs/{handle}", body=b"")
                assert (unavailable.status, unavailable.header("retry-after")) == (503, "1")
                whole = (await ask(running)).assert_valid()
                codes = [event["data"].get("message_code") for event in whole.events]
                assert codes.index("RESUME_UNAVAILABLE") == 1
                assert whole.header("x-streamweir-run") is None


def _end(server: RedisServer) -> None:
    server.process.kill()
    server.process.wait()


async def test_client_that_lags_gets_all_of_a_run_that_is_too_long() -> None:
    """The part that it has not read when storing ends comes from memory, and no event is written twice."""
    count, text = 300, "x" * 30_000

    async def tokens(call: Call) -> None:
        await call.send(SSE)
        for _ in range(count):
            await call.send(chunk(b'data: {"type": "token", "content": "%b"}\n\n' % text.encode()))
        await call.send(chunk(b'data: {"type": "done"}\n\n') + LAST_CHUNK)

    async with upstream(tokens) as backend:
        for max_bytes in ("40KiB", "300KiB", "3MiB"):
            config = kept(backend.url, resume={"max_bytes": max_bytes})
            async with gateway(config) as running, client(running) as slow:
                slow.send()
                await slow.until(b"xxx")
                await asyncio.sleep(0.7)
                answer = await slow.whole()
            assert answer.is_whole
            assert answer.text == text * count, max_bytes
            assert answer.end["status"] == "completed"
            codes = [event["data"]["message_code"] for event in answer.events if event["type"] == "warning"]
            assert codes == ["RESUME_LIMIT"]


@pytest.mark.parametrize("path", ["/-/runs/x", "/-/runs/{id}", "/-/runs/*", "/-/runs/a/b"])
@pytest.mark.parametrize("resume", ["on", "off"])
def test_endpoint_below_the_path_of_runs_is_refused(path: str, resume: str) -> None:
    chat = {"upstream": "http://127.0.0.1:9", "speaks": "legacy"}
    with pytest.raises(ConfigurationError, match=r"server\.runs"):
        settled(endpoints={"/chat": {**chat, "resume": "on"}, path: {**chat, "resume": resume}})
    settled(endpoints={"/chat": {**chat, "resume": "on"}, path: chat}, server={"runs": "/elsewhere"})


@pytest.mark.parametrize(
    "url", ["redis://", "redis:///3", "redis://:word@/0", "redis://:6390", "valkey://", "rediss://"]
)
def test_store_url_without_a_host_means_this_machine(url: str) -> None:
    config = kept("http://127.0.0.1:9", url)
    assert config.store.url == url
    connection: Any = RedisStore(url)._commands._connect()
    assert connection.host == "localhost"
    assert connection.port == (6390 if "6390" in url else 6379)


async def test_refusal_below_the_path_of_runs_is_counted() -> None:
    async with started("memory") as (running, _, gate):
        gate.open()
        handle = handle_of(await ask(running))
        beyond = [("Last-Event-ID", f"{handle}.9999")]
        for path, headers, status in (
            (f"/-/runs/run_{'0' * 32}", [], 404),
            ("/-/runs/no-handle", [], 404),
            (f"/-/runs/{handle}", beyond, 410),
            (f"/-/runs/{handle}", [("Last-Event-ID", "no position")], 400),
        ):
            got = await ask(running, "GET", path, headers=headers, body=b"")
            assert got.status == status, path
        metrics = (await ask(running, "GET", "/metrics", body=b"")).body.decode()
    counted = [line for line in metrics.splitlines() if line.startswith("streamweir_resumes_total{")]
    assert 'streamweir_resumes_total{endpoint="",result="not_found"} 2.0' in counted
    assert 'streamweir_resumes_total{endpoint="/chat",result="gone"} 1.0' in counted
    assert len(counted) == 2


@pytest.mark.parametrize("value", ["", "no position", "7", "run_x.3"])
async def test_post_with_a_foreign_last_event_id_is_an_ordinary_request(value: str) -> None:
    async with started("memory") as (running, server, gate):
        gate.open()
        for _ in range(2):
            got = await ask(running, headers=[("Last-Event-ID", value)])
            assert (got.status, got.end["status"]) == (200, "completed")
        assert len(server.calls) == 2
