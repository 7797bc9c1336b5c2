"""Captures and rows of streams that go wrong: bytes of both sides, events, the same word everywhere."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from capture_checks import (
    assert_well_formed,
    assert_whole,
    body_of,
    converted,
    events_in,
    marks,
    of_kind,
    without_times,
)
from cases import case
from console_client import Console, console_of
from loopback import client
from patience import PATIENCE
from ports import free_port
from scripted_upstream import (
    HELLO,
    LAST_CHUNK,
    SSE,
    WHOLE,
    Call,
    answer,
    chunk,
    upstream,
)

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

Script = Callable[[Call], Awaitable[None]]


async def cut(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]), b"40\r\nhalf a ch")


async def ends_early(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]), LAST_CHUNK)


async def resets(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]), pause=0.1)
    call.reset()


async def stalls(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]))
    await call.until_closed()


async def is_silent(call: Call) -> None:
    await call.until_closed()


async def malformed(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0] + b"data: {half\n\n"), *map(chunk, HELLO[1:]), LAST_CHUNK)


async def fails(call: Call) -> None:
    error = b'data: {"type": "error", "content": "Traceback: /srv/app/x.py of user@example.com"}\n\n'
    await call.send(SSE, chunk(HELLO[0]), chunk(error + HELLO[1]), LAST_CHUNK)


async def bytes_alone(call: Call) -> None:
    await call.send(SSE)
    for byte in b"".join(HELLO):
        await call.send(chunk(bytes([byte])))
    await call.send(LAST_CHUNK)


async def no_text(call: Call) -> None:
    await call.send(
        SSE, chunk(b'data: {"type": "token", "content": "a\xff\xfeb"}\n\n' + HELLO[2]), LAST_CHUNK
    )


async def flood_behind_end(call: Call) -> None:
    await call.send(SSE, chunk(b"".join(HELLO) + HELLO[0] * 5), LAST_CHUNK)


async def repeats(call: Call) -> None:
    again = b'data: {"type": "final_answer", "content": "Hello"}\n\n'
    await call.send(SSE, *map(chunk, HELLO[:2]), chunk(again), chunk(HELLO[2]), LAST_CHUNK)


async def nonsense(call: Call) -> None:
    await call.send(SSE, *[chunk(b"data: {half\n\n")] * 3, LAST_CHUNK)


PAGE = answer(b"<html>down for maintenance</html>", "Content-Type: text/html")
CASES: dict[str, tuple[Script | bytes, str, str | None, set[str]]] = {
    "whole": (WHOLE, "done", None, {"commit"}),
    "cut": (cut, "truncated", "UPSTREAM_TRUNCATED", {"commit"}),
    "ends_early": (ends_early, "truncated", "UPSTREAM_TRUNCATED", {"commit"}),
    "resets": (resets, "truncated", "UPSTREAM_TRUNCATED", {"commit"}),
    "stalls": (stalls, "idle_timeout", "UPSTREAM_TIMEOUT", {"commit", "timeout"}),
    "is_silent": (is_silent, "first_event_timeout", "UPSTREAM_TIMEOUT", {"timeout"}),
    "malformed": (malformed, "done", None, {"commit", "malformed"}),
    "fails": (fails, "upstream_error", "UPSTREAM_ERROR", {"commit", "redacted", "dropped"}),
    "bytes_alone": (bytes_alone, "done", None, {"commit"}),
    "no_text": (no_text, "done", None, {"commit"}),
    "flood_behind_end": (flood_behind_end, "done", None, {"commit", "dropped"}),
    "repeats": (repeats, "done", None, {"commit", "repeated"}),
    "nonsense": (nonsense, "malformed", "UPSTREAM_INVALID_RESPONSE", {"malformed"}),
    "page": (PAGE, "malformed", "UPSTREAM_INVALID_RESPONSE", set()),
    "refused": (answer(b'{"error": "no"}', status="401 No"), "upstream_error", "AUTH_FAILED", set()),
    "broken": (answer(b"oh", status="500 No"), "upstream_error", "UPSTREAM_ERROR", set()),
    "closes": (b"", "upstream_unreachable", "UPSTREAM_UNREACHABLE", set()),
}
TIMEOUTS = {"connect": "600ms", "first_event": "700ms", "idle": "500ms"}


async def plays(call: Call) -> None:
    script = CASES[call.target.strip("/")][0]
    await (call.send(script) if isinstance(script, bytes) else script(call))


@pytest.mark.parametrize(
    ("protocol", "speaks"), [("standard", "legacy"), ("openai-chat", "auto"), ("legacy", "legacy")]
)
async def test_capture_of_each_fault_has_the_bytes_and_the_word_of_the_log(
    tmp_path: Path, protocol: str, speaks: str
) -> None:
    async with upstream(plays) as backend:
        endpoints = {
            f"/{name}": {
                "upstream": backend.url,
                "speaks": speaks,
                "answers": [protocol],
                "path": f"/{name}",
                "timeouts": TIMEOUTS,
                "request": "passthrough",
            }
            for name in CASES
        }
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            names = [name for name in CASES if not (speaks == "auto" and name in ("is_silent",))]
            for name in names:
                with case(name):
                    await check_fault(console, name, protocol, speaks)


async def test_capture_without_content_has_the_events_of_a_refused_attempt(tmp_path: Path) -> None:
    names = ("nonsense", "page", "refused", "broken", "closes", "is_silent")
    async with upstream(plays) as backend:
        endpoints = {
            f"/{name}": {
                "upstream": [f"http://127.0.0.1:{free_port()}", backend.url],
                "speaks": "legacy",
                "path": f"/{name}",
                "timeouts": TIMEOUTS,
            }
            for name in names
        }
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "metadata"}) as console:
            for name in names:
                with case(name):
                    got = await console.call(f"/{name}", headers=[("X-Request-Id", name)])
                    row = await console.row(request_id=name, state="ended")
                    lines = await console.capture(row["id"])
                    assert_whole(lines)
                    told = [(event["type"], event["metadata"]["sequence"]) for event in events_in(lines)]
                    assert told == [(event["type"], event["metadata"]["sequence"]) for event in got.events]
                    assert told[-1][0] == "session_end"


async def log_line(console: Console, request_id: str) -> dict[str, Any]:
    return await console.running.line(lambda line: line.get("request_id") == request_id and "reason" in line)


async def check_fault(console: Console, name: str, protocol: str, speaks: str) -> None:
    _, reason, code, words = CASES[name]
    got = await console.call(f"/{name}", headers=[("X-Request-Id", f"{name}-{speaks}")])
    row = await console.row(request_id=f"{name}-{speaks}", state="ended")
    if speaks == "legacy":
        assert (row["reason"], row["code"]) == (reason, code)
    file = await console.file(row["id"])
    lines = [json.loads(line) for line in file.splitlines()]
    assert_whole(lines)
    assert body_of(of_kind(lines, "write")) == got.body
    assert of_kind(lines, "response", side="client")[0]["status"] == got.status == row["status"]
    (end,) = of_kind(lines, "end")
    assert (end["reason"], end.get("code")) == (row["reason"], row["code"])
    last = events_in(lines)[-1]
    assert (last["type"], last["data"]["reason"]) == ("session_end", row["reason"])
    assert end["status"] == last["data"]["status"]
    assert [without_times(one) for one in converted(file)] == [without_times(events_in(lines))]
    if protocol == "standard" and got.framing == "sse":
        assert without_times(got.events) == without_times(events_in(lines))
    assert words - {*marks(lines)} == set() or speaks == "auto", marks(lines)
    assert len(of_kind(lines, "attempt")) == row["attempts"]
    line = await log_line(console, row["request_id"])
    for field in ("reason", "code", "status", "events", "bytes_in", "bytes_out", "attempts"):
        assert line.get(field) == row[field], field


@pytest.mark.parametrize("capture", ["metadata", "content"])
@pytest.mark.parametrize("what", ["retry", "fallback"])
async def test_further_attempt_at_the_same_host_is_marked_by_its_upstream(
    tmp_path: Path, what: str, capture: str
) -> None:
    targets: list[str] = []

    async def works_at_last(call: Call) -> None:
        targets.append(call.target)
        await call.send(WHOLE if len(targets) == 3 else answer(b"busy", status="503 No"))

    async with upstream(works_at_last) as backend:
        asked = {
            "retry": "patient",
            "fallback": [f"{backend.url}/1", f"{backend.url}/2", f"{backend.url}/3"],
        }
        endpoints = {"/chat": {"upstream": asked[what], "speaks": "legacy"}}
        retries = {"attempts": 3, "backoff": "1ms", "on": [503]}
        upstreams = {"patient": {"url": backend.url, "retries": retries}}
        async with console_of(
            tmp_path, endpoints=endpoints, upstreams=upstreams, console={"capture": capture}
        ) as console:
            await console.call("/chat")
            row = await console.row(state="ended")
            lines = await console.capture(row["id"])
            assert len({*targets}) == (1 if what == "retry" else 3)
            assert [word for word in marks(lines) if word != "commit"] == [what, what]


async def test_capture_of_attempts_has_each_of_them(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    async with upstream(answer(b"busy", status="503 No")) as busy, upstream(WHOLE) as backend:
        endpoints = {
            "/chat": {
                "upstream": ["gone", "busy", "works"],
            }
        }
        upstreams = {
            name: {"url": url, "speaks": "legacy"}
            for name, url in {"gone": nobody, "busy": busy.url, "works": backend.url}.items()
        }
        async with console_of(
            tmp_path, endpoints=endpoints, upstreams=upstreams, console={"capture": "content"}
        ) as console:
            got = await console.call("/chat")
            row = await console.row(state="ended")
            lines = await console.capture(row["id"])
            assert_whole(lines)
            assert row["attempts"] == 3
            assert [(one["upstream"], one["ended"]) for one in of_kind(lines, "attempt")] == [
                ("gone", "refused"),
                ("busy", "refused"),
                ("works", "eof"),
            ]
            assert [word for word in marks(lines) if word != "commit"] == ["fallback", "fallback"]
            assert [line["attempt"] for line in of_kind(lines, "mark", what="commit")] == [3]
            assert body_of(of_kind(lines, "read", attempt=3)) == b"".join(HELLO)
            assert without_times(events_in(lines)) == without_times(got.events)
            shown = await console.get(f"streams/{row['id']}")
            assert [(one["attempt"], one["upstream"], one["ended"]) for one in shown["attempts"]] == [
                (1, "gone", "refused"),
                (2, "busy", "refused"),
                (3, "works", "eof"),
            ]
            assert [one["code"] for one in shown["attempts"]][-1] is None
            assert shown["attempts"][2]["first_event_ms"] >= shown["attempts"][2]["began_ms"]


async def test_client_that_leaves_ends_row_and_capture_as_gone(tmp_path: Path) -> None:
    async with upstream(stalls) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            async with client(console.running.at) as leaving:
                leaving.send()
                await leaving.until(b"Hel")
            row = await console.row(state="ended")
            assert (row["reason"], row["code"]) == ("client_gone", None)
            file = await console.file(row["id"])
            lines = [json.loads(line) for line in file.splitlines()]
            assert "client_gone" in marks(lines)
            (end,) = of_kind(lines, "end")
            assert (end["client"], end["reason"], end["status"]) == ("gone", "client_gone", "cancelled")
            assert end["events"] == row["events"] == 2  # the others were made, and not sent
            assert [one["ended"] for one in of_kind(lines, "attempt")] == ["left"]
            assert [without_times(one) for one in converted(file)] == [without_times(events_in(lines))]


async def test_capture_of_a_stream_under_way_has_its_bytes_so_far(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]), chunk(b"data: {"))
        await goes_on.wait()
        await call.send(chunk(HELLO[1][7:]), chunk(HELLO[2]), LAST_CHUNK)

    async with upstream(slow) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy", "heartbeat": "200ms"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            asking = asyncio.create_task(console.call("/chat"))
            row = await console.row(state="streaming")
            # A read is shown once its last line is complete, or has been waited for.
            async with asyncio.timeout(PATIENCE):
                while not body_of(of_kind(lines := await console.capture(row["id"]), "read")):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                assert not of_kind(lines, "end")
                assert [event["type"] for event in events_in(lines)] == ["session_start", "content"]
                while "heartbeat" not in marks(lines := await console.capture(row["id"])):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert body_of(of_kind(lines, "read")) == HELLO[0] + b"data: {"
            goes_on.set()
            got = await asking
            await console.row(state="ended")
            lines = await console.capture(row["id"])
            assert_whole(lines)
            assert body_of(of_kind(lines, "read")) == b"".join(HELLO)
            assert body_of(of_kind(lines, "write")) == got.body


@pytest.mark.parametrize("capture", ["metadata", "content"])
@pytest.mark.parametrize("last_read", [HELLO[0], b": working\n\n"], ids=["output", "comment"])
async def test_heartbeat_belongs_to_no_read_and_is_marked(
    tmp_path: Path, capture: str, last_read: bytes
) -> None:
    goes_on = asyncio.Event()

    async def is_silent_within(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]), chunk(last_read))
        await goes_on.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    async with upstream(is_silent_within) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy", "heartbeat": "200ms"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": capture}) as console:
            asking = asyncio.create_task(console.call("/chat"))
            row = await console.row(state="streaming")
            async with asyncio.timeout(PATIENCE):
                while "heartbeat" not in marks(await console.capture(row["id"])):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            goes_on.set()
            got = await asking
            row = await console.row(state="ended")
            lines = await console.capture(row["id"])
            assert_whole(lines)
            assert len(got.body) == row["bytes_out"]
            assert marks(lines).count("heartbeat") == got.body.count(b": ping\n")
            without_events = [line for line in of_kind(lines, "write") if "sequences" not in line]
            assert len(without_events) == got.body.count(b": ping\n")
            assert all("read" not in line for line in without_events)
            if capture == "metadata":
                assert sum(line["bytes"] for line in of_kind(lines, "write")) == len(got.body)


async def test_long_silence_is_marked(tmp_path: Path) -> None:
    async def pauses(call: Call) -> None:
        await call.send(SSE, *[chunk(HELLO[0])] * 5, pause=0.02)
        await asyncio.sleep(1.3)
        await call.send(*map(chunk, HELLO), LAST_CHUNK)

    async with upstream(pauses) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            await console.call("/chat")
            row = await console.row(state="ended")
            (mark,) = of_kind(await console.capture(row["id"]), "mark", what="silence")
            assert 1200 < mark["ms"] < 20_000
            assert row["max_gap_ms"] == pytest.approx(mark["ms"], abs=1000)


async def test_capture_of_a_resumed_reader_has_its_events_and_bytes(tmp_path: Path) -> None:
    async with upstream(WHOLE) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy", "resume": "on"}}
        async with console_of(tmp_path, endpoints=endpoints, console={"capture": "content"}) as console:
            first = await console.call("/chat")
            handle = str(first.header("x-streamweir-run"))
            rest = await console.call("/chat", headers=[("Last-Event-ID", f"{handle}.1")])
            row = await console.row(attempts=0, state="ended")
            lines = await console.capture(row["id"])
            assert_well_formed(lines)
            assert body_of(of_kind(lines, "write")).replace(b"*" * len(handle), handle.encode()) == rest.body
            assert "heartbeat" not in marks(lines)
            told = [line["sequences"] for line in of_kind(lines, "write") if "sequences" in line]
            assert without_times(events_in(lines)) == without_times(rest.events)
            assert (told[0][0], told[-1][1]) == (2, rest.events[-1]["metadata"]["sequence"])
            assert row["events"] == len(rest.events)
            (end,) = of_kind(lines, "end")
            assert (end["status"], end["bytes_in"]) == (rest.end["status"], 0)
            made = await console.row(attempts=1)
            assert (await console.capture(made["id"]))[-1]["reason"] == "done"
