"""Rows of the console: one for each request, in its state, with the words of event and log."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from capture_checks import assert_same_but_masked, body_of, of_kind
from cases import case
from console_client import Console, console_of
from loopback import ask, client
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, answer, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

FIELDS = {
    *(
        "id",
        "seq",
        "request_id",
        "trace_id",
        "worker",
        "endpoint",
        "upstream",
        "speaks",
        "answers",
        "framing",
    ),
    *(
        "key",
        "state",
        "began",
        "duration_ms",
        "first_event_ms",
        "max_gap_ms",
        "events",
        "bytes_in",
        "bytes_out",
    ),
    *(
        "attempts",
        "warnings",
        "repairs",
        "malformed",
        "lost",
        "status",
        "reason",
        "code",
        "hint",
        "thread_id",
    ),
    *("session_id", "capture"),
}


def endpoint(url: str, **options: Any) -> dict[str, Any]:
    return {"/chat": {"upstream": url, "speaks": "legacy", **options}}


async def line_of(console: Console, request_id: str) -> dict[str, Any]:
    """The log line of a request."""
    return await console.running.line(lambda line: line.get("request_id") == request_id)


async def test_stream_has_a_row_from_its_start_to_its_end(tmp_path: Path) -> None:
    begins, ends = asyncio.Event(), asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE)
        await begins.wait()
        await call.send(chunk(HELLO[0]))
        await ends.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    async with upstream(slow) as backend, console_of(tmp_path, endpoints=endpoint(backend.url)) as console:
        asking = asyncio.create_task(console.call("/chat"))
        waiting = await console.row(state="waiting")
        assert set(waiting) == FIELDS
        assert waiting["reason"] is None
        begins.set()
        streaming = await console.row(state="streaming")
        assert streaming["id"] == waiting["id"]
        assert streaming["events"] > 0
        assert streaming["seq"] > waiting["seq"]
        ends.set()
        answered = await asking
        ended = await console.row(state="ended")
        assert ended["id"] == waiting["id"]
        assert ended["reason"] == answered.end["reason"] == "done"
        assert ended["events"] == len(answered.events)
        assert ended["bytes_out"] == len(answered.body)
        assert (ended["status"], ended["attempts"], ended["code"]) == (200, 1, None)
        assert ended["session_id"] == answered.events[0]["data"]["session_id"]
        line = await console.running.says("request")
        for name in ("request_id", "trace_id", "reason", "events", "bytes_in", "bytes_out", "first_event_ms"):
            assert line[name] == ended[name], name


async def test_refused_requests_have_rows_with_their_codes(tmp_path: Path) -> None:
    keys = {"keys": {"web": "a-key-of-a-client"}}
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url), auth=keys) as console,
    ):
        refused = await console.call("/chat")
        row = await console.row(state="refused")
        assert (row["code"], row["status"], row["reason"]) == ("UNAUTHENTICATED", 401, None)
        known = (row["attempts"], row["events"], row["bytes_in"], row["bytes_out"])
        assert known == (0, 0, 0, len(refused.body))
        await console.call("/nothing", headers=[("X-Api-Key", "a-key-of-a-client")])
        row = await console.row(code="ENDPOINT_NOT_FOUND")
        assert (row["state"], row["endpoint"], row["status"]) == ("refused", None, 404)
        await console.call("/chat", headers=[("X-Api-Key", "a-key-of-a-client")])
        row = await console.row(state="ended")
        assert row["key"] == "web"
        assert len(await console.rows()) == 3


async def test_client_that_leaves_before_the_end_of_its_request_has_a_row(tmp_path: Path) -> None:
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url)) as console,
    ):
        async with client(console.running.at) as leaving:
            leaving.writer.write(
                b"POST /chat HTTP/1.1\r\nHost: here\r\nX-Request-Id: left\r\nContent-Length: 9\r\n\r\n{"
            )
            await leaving.writer.drain()
        row = await console.row(request_id="left")
        assert (row["state"], row["reason"], row["code"]) == ("ended", "client_gone", None)
        assert (row["endpoint"], row["attempts"], row["capture"]) == ("/chat", 0, "none")
        assert (row["events"], row["bytes_in"], row["bytes_out"]) == (0, 0, 0)
        line = await line_of(console, "left")
        assert (line["reason"], line.get("status")) == (row["reason"], row["status"])


async def test_bytes_of_an_answer_with_an_error_status_are_counted(tmp_path: Path) -> None:
    body = b'{"error": {"message": "' + b"x" * 900 + b'"}}'
    answer = b"HTTP/1.1 500 Broken\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    async with (
        upstream(answer % len(body) + body) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url), console={"capture": "content"}) as console,
    ):
        answered = await console.call("/chat")
        row = await console.row(state="ended")
        assert (row["bytes_in"], row["bytes_out"]) == (len(body), len(answered.body))
        assert (await console.running.says("request"))["bytes_in"] == len(body)
        lines = await console.capture(row["id"])
        assert lines[-1]["bytes_in"] == len(body)
        assert sum(len(line["data"]) for line in lines if line["kind"] == "read") == len(body)


async def test_run_whose_client_left_is_detached_until_it_ends(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await goes_on.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    options = {"on_disconnect": {"continue_for": "1m"}}
    async with (
        upstream(slow) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url, **options)) as console,
    ):
        async with client(console.running.at) as leaving:
            leaving.send()
            await leaving.until(b"session_start")
        await console.row(state="detached")
        goes_on.set()
        assert (await console.row(state="ended"))["reason"] == "client_gone"


async def test_reader_of_a_resumed_run_is_a_row(tmp_path: Path) -> None:
    ids = b'data: {"type": "token", "content": "Hi", "session_id": "session-1", "thread_id": "thread-1"}\n\n'
    async with (
        upstream(SSE + chunk(ids) + b"".join(map(chunk, HELLO)) + LAST_CHUNK) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url, resume="on")) as console,
    ):
        first = await console.call("/chat")
        handle = first.header("x-streamweir-run")
        assert handle is not None
        await console.call("/chat", headers=[("Last-Event-ID", f"{handle}.0")])
        await console.row(attempts=0, state="ended")
        await ask(
            console.running.at, "GET", f"/-/runs/{handle}", headers=[("X-Request-Id", "reader")], body=b""
        )
        await console.row(request_id="reader", state="ended")
        whole = [("X-Request-Id", "whole"), ("Accept", "application/json")]
        got = await ask(console.running.at, "GET", f"/-/runs/{handle}", headers=whole, body=b"")
        row = await console.row(request_id="whole", state="ended")
        assert (row["capture"], row["answers"], row["framing"]) == ("none", "standard", "json")
        assert (row["status"], row["events"]) == (200, len(first.events))
        assert (row["bytes_in"], row["bytes_out"]) == (0, len(got.body))
        line = await line_of(console, "whole")
        for name in ("answers", "framing", "status", "reason", "events", "bytes_out"):
            assert line[name] == row[name], name
        rows = await console.rows(state="ended")
        assert [row["attempts"] for row in rows] == [0, 0, 0, 1]
        assert {(row["endpoint"], row["reason"]) for row in rows} == {("/chat", "done")}
        threads = [(row["session_id"], row["thread_id"]) for row in rows if row["request_id"] != "whole"]
        assert threads == [("session-1", "thread-1")] * 3
        for row in rows[1:]:
            assert handle not in str(await console.capture(row["id"]))


async def test_relayed_responses_that_are_no_streams_have_no_row(tmp_path: Path) -> None:
    async def service(call: Call) -> None:
        if call.target.endswith("/chat"):
            await call.send(SSE, *map(chunk, HELLO), LAST_CHUNK)
        else:
            await call.send(answer(b"plain", "Content-Type: text/plain"))

    async with (
        upstream(service) as backend,
        console_of(
            tmp_path, endpoints={"/app/*": {"upstream": backend.url, "speaks": "legacy", "relay": "all"}}
        ) as console,
    ):
        for _ in range(3):
            assert (await console.call("/app/page")).body == b"plain"
        await console.call("/app/chat")
        row = await console.row(state="ended")
        assert [row["endpoint"] for row in await console.rows()] == ["/app/*"]
        (asked,) = of_kind(await console.capture(row["id"]), "request", side="upstream")
        assert asked["url"] == f"{backend.url.rstrip('/')}/chat"


async def test_rows_are_filtered_and_paged(tmp_path: Path) -> None:
    async with upstream(WHOLE) as backend:
        endpoints = {**endpoint(backend.url), "/other": {"upstream": backend.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints) as console:
            for number in range(5):
                await console.call("/chat", headers=[("X-Request-Id", f"chat-{number}")])
            await console.call("/other")
            await console.call("/nothing")
            await console.row(code="ENDPOINT_NOT_FOUND")
            whole = await console.get("streams")
            assert whole["total"] == len(whole["streams"]) == 7
            assert whole["seq"] == max(row["seq"] for row in whole["streams"])
            began = [row["began"] for row in whole["streams"]]
            assert began == sorted(began, reverse=True)
            assert len(await console.rows(endpoint="/other")) == 1
            assert len(await console.rows(state="refused")) == 1
            assert len(await console.rows(reason="done")) == 6
            assert [row["request_id"] for row in await console.rows(q="CHAT-3")] == ["chat-3"]
            await pages_hold_each_row_once(console)
            assert (await console.request("/api/v1/streams?limit=many")).status == 400


async def pages_hold_each_row_once(console: Console) -> None:
    found: list[str] = []
    before = ""
    while page := await console.get("streams", limit=2, before=before, endpoint="/chat"):
        assert page["total"] == 5
        if not page["streams"]:
            break
        found += [row["request_id"] for row in page["streams"]]
        before = page["streams"][-1]["id"]
    assert found == [f"chat-{number}" for number in (4, 3, 2, 1, 0)]


async def test_response_in_the_background_has_a_row_with_its_capture(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await goes_on.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    options = {"answers": ["openai-responses"], "request": "mapped", "resume": "on"}
    async with (
        upstream(slow) as backend,
        console_of(
            tmp_path, endpoints=endpoint(backend.url, **options), console={"capture": "content"}
        ) as console,
    ):
        body = b'{"model": "m", "input": "hi", "background": true}'
        asked = await ask(console.running.at, "POST", "/chat", body=body)
        assert asked.json["status"] == "in_progress"
        row = await console.row(state="streaming")
        assert (row["endpoint"], row["answers"]) == ("/chat", "openai-responses")
        goes_on.set()
        row = await console.row(state="ended", reason="done")
        assert [one["id"] for one in await console.rows()] == [row["id"]]
        reads = [line for line in await console.capture(row["id"]) if line["kind"] == "read"]
        assert len(reads) >= 2


async def test_kept_response_is_read_from_a_frame_on_and_its_handle_is_hidden(tmp_path: Path) -> None:
    options = {"answers": ["openai-responses"], "request": "mapped", "resume": "on"}
    async with (
        upstream(WHOLE) as backend,
        console_of(
            tmp_path, endpoints=endpoint(backend.url, **options), console={"capture": "content"}
        ) as console,
    ):
        first = await ask(console.running.at, body=b'{"model": "m", "input": "hi", "stream": true}')
        kept = first.events[0]["response"]["id"]
        rest = await ask(console.running.at, "GET", f"/chat/{kept}?stream=true&starting_after=2", body=b"")
        assert first.body.endswith(rest.body)
        further = {"model": "m", "input": "more", "stream": True, "previous_response_id": kept}
        await ask(console.running.at, body=json.dumps(further).encode())
        row = await console.row(attempts=0, state="ended")
        assert (row["bytes_in"], row["bytes_out"]) == (0, len(rest.body))
        assert_same_but_masked(body_of(of_kind(await console.capture(row["id"]), "write")), rest.body)
        for row in await console.rows(state="ended"):
            assert kept.removeprefix("resp_").encode() not in await console.file(row["id"])
        assert len(await console.rows(state="ended")) == 3


async def test_whole_read_of_a_kept_response_is_a_row(tmp_path: Path) -> None:
    async def fails(call: Call) -> None:
        error = b'data: {"type": "error", "content": "no"}\n\n'
        await call.send(SSE, *map(chunk, HELLO[:1]), chunk(error), LAST_CHUNK)

    own = {"answers": ["openai-responses"], "request": "mapped"}
    async with upstream(WHOLE) as backend, upstream(fails) as broken:
        endpoints = {
            "/kept": {"upstream": backend.url, "speaks": "legacy", **own},
            "/run": {"upstream": backend.url, "speaks": "legacy", "resume": "on", **own},
            "/fails": {"upstream": broken.url, "speaks": "legacy", "resume": "on", **own},
        }
        async with console_of(tmp_path, endpoints=endpoints) as console:
            for target, reason, code in (
                ("/kept", "done", None),
                ("/run", "done", None),
                ("/fails", "upstream_error", "UPSTREAM_ERROR"),
            ):
                with case(target):
                    in_background = b"" if target == "/kept" else b', "background": true'
                    body = b'{"model": "m", "input": "hi"%b}' % in_background
                    made = await ask(console.running.at, "POST", target, body=body)
                    first = await console.row(endpoint=target, attempts=1, state="ended")
                    name = [("X-Request-Id", f"read-{target[1:]}")]
                    path = f"{target}/{made.json['id']}"
                    got = await ask(console.running.at, "GET", path, headers=name, body=b"")
                    row = await console.row(request_id=name[0][1], state="ended")
                    assert (row["endpoint"], row["attempts"], row["capture"]) == (target, 0, "none")
                    assert (row["reason"], row["code"], row["status"]) == (reason, code, 200)
                    assert (row["answers"], row["framing"]) == ("openai-responses", "json")
                    assert (row["bytes_in"], row["bytes_out"]) == (0, len(got.body))
                    assert row["events"] == (None if target == "/kept" else first["events"])
                    line = await line_of(console, name[0][1])
                    for field in ("reason", "code", "status", "events", "bytes_out"):
                        assert line.get(field) == row[field], field


async def test_refused_request_about_a_run_has_no_capture_and_the_bytes_of_its_answer(tmp_path: Path) -> None:
    handle = "run_" + "5" * 32
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url, resume="on")) as console,
    ):
        named = [("X-Streamweir-Run", handle)]
        await console.call("/chat", headers=named)
        for method, target, code in (
            ("POST", "/chat", "RUN_EXISTS"),
            ("GET", f"/-/runs/{handle}?after=99", "RUN_GONE"),
            ("GET", f"/-/runs/run_{'6' * 32}", "RUN_NOT_FOUND"),
            ("HEAD", f"/-/runs/{handle}", "METHOD_NOT_ALLOWED"),
        ):
            headers = named if method == "POST" else []
            got = await ask(console.running.at, method, target, headers=headers, body=b"")
            row = await console.row(code=code)
            known = (row["state"], row["capture"], row["attempts"], row["events"], row["bytes_in"])
            assert known == ("refused", "none", 0, 0, 0), code
            assert (row["status"], row["bytes_out"]) == (got.status, len(got.body)), code
