"""The client without an event loop gives the same events and raises the same errors as the other one."""

import gc
import gzip
import json
import ssl
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
import trustme

import streamweir.client
from patience import PROMPTLY
from scripted_upstream import Call, Script, upstream
from streamweir.client import StreamRequestError
from streamweir.client.sync import StreamRequest, stream_request
from streamweir.errors import ConfigurationError

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Sockets of connections that were shut down in the middle are freed here, and not in another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def wire(kind: str, sequence: int, **data: Any) -> dict[str, Any]:
    metadata = {"request_id": "req_srv", "timestamp": 1_790_000_000_000, "sequence": sequence}
    return {"type": kind, "data": data, "metadata": metadata}


START = wire("session_start", 0, session_id="s", request_id="req_srv", protocol="1.1")
HELLO = wire("content", 1, content="Hel\u2028lo 更好 ☕", is_complete=True)
END = wire("session_end", 2, status="completed", reason="done")
LEGACY = b'data: {"type": "token", "content": "Hi"}\n\n'


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events)


WHOLE = sse(START, HELLO, END)


def answering(body: bytes, *headers: str, **options: str) -> Script:
    async def script(call: Call) -> None:
        await call.begin(*headers, **options)
        await call.send(body)

    return script


def then_silent(*pieces: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.begin()
        await call.send(*pieces)
        await call.until_closed()

    return script


async def mute(call: Call) -> None:
    await call.until_closed()


async def dripping_head(call: Call) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nX-Never: " + b"e" * 10_000:
        await call.send(bytes([byte]))
        await anyio.sleep(0.02)


async def commenting(call: Call) -> None:
    await call.begin()
    await call.send(sse(START))
    while True:
        await call.send(b": ping\n\n")
        await anyio.sleep(0.05)


ENVELOPE = b'{"status": "error", "error": {"code": "NOT_HERE", "message": "No.", "retry": false}}'
CASES: dict[str, tuple[Script, dict[str, Any]]] = {
    "whole": (answering(WHOLE), {}),
    "created": (answering(WHOLE, status="201 Created"), {}),
    "byte by byte": (then_silent(*(WHOLE[i : i + 1] for i in range(len(WHOLE)))), {}),
    "gzip": (answering(gzip.compress(WHOLE), "Content-Encoding: gzip"), {}),
    "cut": (answering(sse(START, HELLO)), {}),
    "empty": (answering(b""), {}),
    "html": (answering(b"<html>oh</html>", content_type="text/html"), {}),
    "refused": (answering(ENVELOPE, status="403 Forbidden", content_type="application/json"), {}),
    "busy": (answering(b"", "Retry-After: 3", status="429 Too Many Requests"), {}),
    "envelope": (answering(ENVELOPE, content_type="application/json"), {}),
    "legacy": (answering(LEGACY + b'data: {"type": "done"}\n\n'), {"speaks": "legacy"}),
    "auto, cut": (answering(LEGACY), {"speaks": "auto"}),
    "first event": (mute, {"timeouts": {"first_event": "200ms"}}),
    "dripping head": (dripping_head, {"timeouts": {"first_event": "300ms"}}),
    "idle": (then_silent(sse(START)), {"timeouts": {"idle": "200ms"}}),
    "total": (
        commenting,
        {"timeouts": {"total": "1s", "idle": "1s", "first_event": "1s"}},
    ),
}


def outcome_of(error: StreamRequestError) -> dict[str, Any]:
    info = error.info
    return {
        "raised": type(error).__name__,
        "code": info.code,
        "reason": info.reason,
        "status": error.status,
        "retry_after_ms": info.retry_after_ms,
    }


def told(event: Any) -> dict[str, Any]:
    """An event without what is another one each time."""
    found = event.to_dict()
    found["metadata"] = {
        name: value for name, value in found["metadata"].items() if name not in ("timestamp", "request_id")
    }
    found["data"] = {
        name: value
        for name, value in found["data"].items()
        if name not in ("session_id", "request_id", "summary")
    }
    return dict(found)


async def with_a_loop(url: str, options: dict[str, Any]) -> list[Any]:
    seen: list[Any] = []
    try:
        async with streamweir.client.stream_request(url, **options) as events:
            async for event in events:
                seen.append(told(event))  # noqa: PERF401 - those before an error count
    except StreamRequestError as error:
        seen.append(outcome_of(error))
    return seen


def without_a_loop(url: str, options: dict[str, Any]) -> list[Any]:
    seen: list[Any] = []
    try:
        with stream_request(url, **options) as events:
            seen.extend(map(told, events))
    except StreamRequestError as error:
        seen.append(outcome_of(error))
    return seen


@pytest.mark.parametrize("raise_errors", [True, False], ids=["raising", "events"])
@pytest.mark.parametrize("case", CASES)
async def test_sync_client_gives_the_events_of_the_async_client(case: str, raise_errors: bool) -> None:
    script, options = CASES[case]
    options = {**options, "raise_errors": raise_errors}
    async with upstream(script) as server:
        expected = await with_a_loop(server.url, options)
        assert expected
        found = await anyio.to_thread.run_sync(without_a_loop, server.url, options)
    assert found == expected


async def test_server_that_is_not_there_cannot_be_connected_to() -> None:
    found = without_a_loop("http://127.0.0.1:9", {})
    assert found == await with_a_loop("http://127.0.0.1:9", {})
    assert found[0]["raised"] == "ConnectionFailed"


async def in_a_thread(function: Callable[[], Any]) -> Any:
    with anyio.fail_after(PROMPTLY):
        return await anyio.to_thread.run_sync(function)


async def test_leaving_the_block_closes_the_connection() -> None:
    async with upstream(then_silent(sse(START, HELLO))) as server:

        def read() -> list[str]:
            with stream_request(server.url) as events:
                return [next(events).type, next(events).type]

        assert await in_a_thread(read) == ["session_start", "content"]
        await server.until_finished()


async def test_another_thread_may_close_a_stream_that_is_being_read() -> None:
    async with upstream(then_silent(sse(START))) as server:

        def read() -> list[str]:
            events = stream_request(server.url)
            closing = threading.Timer(0.2, events.close)
            seen = [next(events).type]
            closing.start()
            seen += [event.type for event in events]
            closing.join()
            return seen

        assert await in_a_thread(read) == ["session_start"]
        await server.until_finished()


async def test_connection_over_tls_is_aborted_at_the_deadline() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with upstream(then_silent(sse(START)), tls=context) as server:

        def read() -> list[Any]:
            url = server.url.replace("http://", "https://")
            with httpx.Client(verify=trusting) as client:
                return without_a_loop(url, {"client": client, "timeouts": {"idle": "200ms"}})

        first, failure = await in_a_thread(read)
    assert first["type"] == "session_start"
    assert failure["reason"] == "idle_timeout"


async def test_connection_that_breaks_is_resumed_by_the_handle_of_the_run() -> None:
    run = "run_" + "0" * 32
    where = (f"X-Streamweir-Run: {run}", f"Content-Location: /-/runs/{run}")

    async def in_parts(call: Call) -> None:
        await call.begin(*where)
        await call.send(sse(START, HELLO) if call.method == "POST" else sse(HELLO, END))

    async with upstream(in_parts) as server:

        def read() -> tuple[list[str], int, str | None]:
            with stream_request(f"{server.url}/chat") as events:
                return [event.type for event in events], events.resumes, events.run

        found = await in_a_thread(read)
        assert found == (["session_start", "content", "session_end"], 1, run)
        assert server.calls[-1].header("last-event-id") == f"{run}.1"


async def test_run_is_stopped_by_its_client() -> None:
    run = "run_" + "0" * 32

    async def endless(call: Call) -> None:
        if call.target.endswith("/cancel"):
            await call.begin(content_type="application/json")
            await call.send(b'{"run": {"status": "cancelled"}}')
            return
        await call.begin(f"X-Streamweir-Run: {run}")
        await call.send(sse(START))
        await call.until_closed()

    async with upstream(endless) as server:

        def read() -> str:
            events = stream_request(server.url)
            next(events)
            return events.cancel()

        assert await in_a_thread(read) == "cancelled"
        assert server.calls[-1].target == f"/-/runs/{run}/cancel"


async def test_client_of_the_callers_own_stays_open() -> None:
    async with upstream(answering(WHOLE)) as server:

        def read() -> list[Any]:
            with httpx.Client() as client:
                whole = without_a_loop(server.url, {"client": client})
                assert not client.is_closed
                return [*whole, *without_a_loop(server.url, {"client": client})]

        assert len(await in_a_thread(read)) == 6


async def test_sync_request_works_within_a_running_event_loop() -> None:
    async with upstream(answering(WHOLE)) as server:
        ready = threading.Event()

        def in_a_loop_of_its_own() -> list[Any]:
            async def read() -> list[Any]:
                return without_a_loop(server.url, {})

            ready.set()
            return anyio.run(read)

        assert len(await in_a_thread(in_a_loop_of_its_own)) == 3


def test_iterating_in_the_wrong_way_names_the_other_client() -> None:
    for_loops = streamweir.client.stream_request("http://127.0.0.1:9")
    with pytest.raises(TypeError, match=r"streamweir\.client\.sync\.stream_request"):
        iter(for_loops)
    with pytest.raises(TypeError, match=r"streamweir\.client\.sync\.stream_request"), for_loops:
        pass
    for_scripts = stream_request("http://127.0.0.1:9")
    assert isinstance(for_scripts, StreamRequest)
    with pytest.raises(TypeError, match=r"streamweir\.client\.stream_request"):
        aiter(for_scripts)


@pytest.mark.parametrize(
    "wrong", [{"headers": {"a b": "c"}}, {"json": {}, "content": b""}, {"timeouts": "soon"}]
)
def test_option_that_cannot_be_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        stream_request("http://127.0.0.1:9", **wrong)


async def test_threads_of_clocks_end_with_their_streams() -> None:
    async with upstream(answering(WHOLE)) as server:

        def read() -> int:
            for _ in range(5):
                without_a_loop(server.url, {})
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline:
                left = [thread for thread in threading.enumerate() if thread.name == "streamweir clock"]
                if not left:
                    return 0
                time.sleep(0.05)
            return len(left)

        assert await in_a_thread(read) == 0


def test_importing_it_starts_nothing() -> None:
    code = "import threading, streamweir.client.sync; print(threading.active_count())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
