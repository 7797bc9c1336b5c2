"""The bounds of the console: streams, bytes, viewers, floods, and hostile text in every field."""

import asyncio
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from capture_checks import Lines, assert_well_formed, body_of, events_in, of_kind
from console_client import TOKEN, Console, console_of
from loopback import ask
from patience import PATIENCE
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

CONTENT = {"capture": "content"}


def endpoint(url: str) -> dict[str, object]:
    return {"/chat": {"upstream": url, "speaks": "legacy"}}


def events_told(lines: Lines) -> int:
    """The number of events that a capture has, or tells to be left out."""
    left_out = of_kind(lines, "mark", what="left_out", lane="event")
    return len(events_in(lines)) + sum(int(mark["lines"]) for mark in left_out)


async def test_oldest_captures_give_way_before_rows(tmp_path: Path) -> None:
    keep = {"streams": 6, "stream_bytes": "64KiB", "total_bytes": "12KiB"}
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url), console={**CONTENT, "keep": keep}) as console,
    ):
        for number in range(10):
            await console.call("/chat", headers=[("X-Request-Id", f"r-{number}")])
        await console.row(request_id="r-9", state="ended")
        rows = await console.rows()
        assert [row["request_id"] for row in rows] == [f"r-{number}" for number in range(9, 3, -1)]
        kept = [row["capture"] for row in rows]
        assert kept == sorted(kept), "the newest have their captures"
        assert {*kept} == {"content", "none"}
        for row in rows:
            answer = await console.request(f"/api/v1/streams/{row['id']}/capture")
            assert answer.status == (200 if row["capture"] == "content" else 404)
        assert (await console.request("/api/v1/streams/never")).status == 404


@pytest.mark.parametrize("capture", ["content", "metadata"])
async def test_long_stream_keeps_its_first_and_last_part(tmp_path: Path, capture: str) -> None:
    count = 100_000
    texts = [b'data: {"type": "token", "content": "%d "}\n\n' % number for number in range(count)]

    async def long(call: Call) -> None:
        await call.send(SSE)
        for start in range(0, count, 50):
            await call.send(chunk(b"".join(texts[start : start + 50])))
        await call.send(chunk(HELLO[2]), LAST_CHUNK)

    keep = {"stream_bytes": "2MiB"}
    async with (
        upstream(long) as backend,
        console_of(
            tmp_path, endpoints=endpoint(backend.url), console={"capture": capture, "keep": keep}
        ) as console,
    ):
        await console.call("/chat")
        row = await console.row(state="ended")
        assert row["events"] > count
        file = await console.file(row["id"])
        assert len(file) < (40 << 20 if capture == "metadata" else 6 << 20)
        lines = [json.loads(line) for line in file.splitlines()]
        assert_well_formed(lines)
        sequences = [event["metadata"]["sequence"] for event in events_in(lines)]
        assert sequences == sorted(set(sequences))
        assert events_told(lines) == row["events"]
        if capture == "metadata":
            return
        left_out = {line["lane"]: line for line in of_kind(lines, "mark", what="left_out")}
        assert {*left_out} == {"read", "write", "event"}
        sent = b"".join(texts) + HELLO[2]
        place = next(place for place, line in enumerate(lines) if line.get("what") == "left_out")
        first = body_of(of_kind(lines[:place], "read"))
        last = body_of(of_kind(lines[place:], "read"))
        assert sent.startswith(first)
        assert sent.endswith(last)
        assert len(first) > 20_000
        assert len(last) > 20_000
        assert len(first) + len(last) + left_out["read"]["bytes"] == len(sent)
        assert sequences[0] == 0
        assert events_in(lines)[-1]["type"] == "session_end"
        assert sequences[-1] == row["events"] - 1
        assert sum(1 for line in lines if line["kind"] == "end") == 1


@pytest.mark.parametrize("form", ["text/event-stream", "application/json"])
async def test_single_large_piece_of_a_stream_keeps_its_first_and_last_part(
    tmp_path: Path, form: str
) -> None:
    secret = "planted-secret-of-the-file-0123"
    text = "".join(f"{number} {secret} " for number in range(20_000))
    body = b'data: {"type": "token", "content": "%s"}\n\n' % text.encode() + HELLO[2]
    keep = {"stream_bytes": "256KiB"}
    async with (
        upstream(SSE + chunk(body) + LAST_CHUNK) as backend,
        console_of(
            tmp_path,
            endpoints={"/chat": {"upstream": backend.url, "speaks": "legacy", "headers": {"X-Key": secret}}},
            console={**CONTENT, "keep": keep},
        ) as console,
    ):
        got = await console.call("/chat", headers=[("Accept", form)])
        row = await console.row(state="ended")
        file = await console.file(row["id"])
        assert secret.encode() not in file
        lines = [json.loads(line) for line in file.splitlines()]
        left_out = {line["lane"]: line for line in of_kind(lines, "mark", what="left_out")}
        place = next(place for place, line in enumerate(lines) if line.get("what") == "left_out")
        for lane, sent in (("read", body), ("write", got.body)):
            shown = sent.replace(secret.encode(), b"*" * len(secret))
            first, last = body_of(of_kind(lines[:place], lane)), body_of(of_kind(lines[place:], lane))
            assert shown.startswith(first), lane
            assert shown.endswith(last), lane
            assert len(first) + len(last) + left_out[lane]["bytes"] == len(shown)
            assert len(last) >= 8 << 10, "the end of both lanes is kept, however large the pieces are"
        assert len(file) < 512 << 10


@pytest.mark.parametrize("keep", ["16KiB", "64KiB", "256KiB"])
async def test_end_of_a_stream_whose_last_reads_are_left_out_is_that_of_the_stream(
    tmp_path: Path, keep: str
) -> None:
    """The end is a read of its own, or it is in the last large read, whose first part is left out."""
    texts = [b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * 8000)] * 300

    async def large(call: Call) -> None:
        piece, is_joined = json.loads(str(call.header("x-case")))
        await call.send(SSE)
        for start in range(0, 250, piece):
            await call.send(chunk(b"".join(texts[start : min(250, start + piece)])))
        last = b"".join(texts[250:])
        await call.send(*([chunk(last + HELLO[2])] if is_joined else [chunk(last), chunk(HELLO[2])]))
        await call.send(LAST_CHUNK)

    console_file = {**CONTENT, "keep": {"stream_bytes": keep}}
    async with upstream(large) as backend:
        at = {"/chat": {"upstream": backend.url, "speaks": "legacy", "forward_headers": ["X-Case"]}}
        async with console_of(tmp_path, endpoints=at, console=console_file) as console:
            for case in ("[1, 0]", "[10, 0]", "[300, 0]", "[1, 1]", "[10, 1]", "[300, 1]"):
                got = await console.call("/chat", headers=[("X-Case", case)])
                row = await console.row(state="ended", request_id=got.header("x-request-id"))
                lines = await console.capture(row["id"])
                assert_well_formed(lines)
                (end,) = of_kind(lines, "end")
                word = (end["reason"], end["status"], end["events"])
                assert word == ("done", "completed", row["events"]), case
                sent = {event["metadata"]["sequence"]: event["type"] for event in got.events}
                shown = {event["metadata"]["sequence"]: event["type"] for event in events_in(lines)}
                assert shown.items() <= sent.items(), case
                assert max(shown) == max(sent), case
                assert events_told(lines) == len(sent), case


async def test_viewers_that_read_nothing_hold_up_no_stream(tmp_path: Path) -> None:
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url)) as console,
    ):
        idle = [await asyncio.open_connection(*console.at.address) for _ in range(100)]
        for _, writer in idle:
            writer.write(console.head("GET", "/api/v1/feed?since=0"))
        async with console.feed(since=0) as feed:
            for _ in range(50):
                await asyncio.gather(*(console.call("/chat") for _ in range(4)))
            newest = await console.row(state="ended")
            await feed.row(id=newest["id"], state="ended")
        for _, writer in idle:
            writer.transport.abort()
        answer = await console.request("/api/v1/info")
        assert answer.status == 200, [one for one in console.running.told if one.get("level") != "INFO"]


HOSTILE = '<script>alert(1)</script>"\u202e\u0007\u2028\ud83d\ude00../..%00'


async def test_hostile_text_is_data_in_every_field(tmp_path: Path) -> None:
    events = [
        {
            "type": "token",
            "content": HOSTILE,
            "session_id": HOSTILE,
            "thread_id": HOSTILE,
            "message_id": HOSTILE,
        },
        {"type": "tool_call", "tool_name": HOSTILE, "tool_id": HOSTILE, "arguments": {HOSTILE: HOSTILE}},
        {HOSTILE: HOSTILE, "type": HOSTILE},
        {"type": "error", "content": HOSTILE, "code": HOSTILE},
    ]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    async def plays(call: Call) -> None:
        await call.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Odd: \xff<b>\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n",
            chunk(body),
            LAST_CHUNK,
        )

    async with (
        upstream(plays) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url), console=CONTENT) as console,
    ):
        target = f"/chat?q={quote(HOSTILE.encode('utf-16', 'surrogatepass'))}"
        headers = [("X-Odd", "\xff<img src=x>"), ("User-Agent", "<script>")]
        await ask(console.running.at, "POST", target, headers=headers, body=b"\xff\xfe{")
        await console.call(f"/{quote('<b>')}nothing")
        row = await console.row(state="ended")
        lines = await console.capture(row["id"])
        assert_well_formed(lines)
        assert body_of(of_kind(lines, "read")) == body
        assert of_kind(lines, "request", side="client")[0]["body"] == {"base64": "//57"}
        answer = await console.request("/api/v1/streams")
        assert answer.header("content-type") == "application/json"
        assert len(json.dumps(row)) < 4096
        found = await console.request(f"/api/v1/streams?q={quote(HOSTILE.encode('utf-8', 'replace'))}")
        assert found.status == 200


async def test_flood_of_requests_leaves_the_console_whole(tmp_path: Path) -> None:
    keep = {"streams": 100}
    async with (
        upstream(WHOLE) as backend,
        console_of(tmp_path, endpoints=endpoint(backend.url), console={**CONTENT, "keep": keep}) as console,
    ):
        for _ in range(10):
            await asyncio.gather(*(console.call("/chat") for _ in range(30)))
            await asyncio.gather(*(console.call("/nothing") for _ in range(10)))
        async with asyncio.timeout(PATIENCE):
            while (await console.get("streams"))["total"] != 100:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert await flood_of_wrong_requests(console) == set()


async def flood_of_wrong_requests(console: Console) -> set[int]:
    """Statuses above 500 of requests to the console that are malformed, huge or wrong."""
    statuses = set()
    for target in ("/api/v1/streams?" + "a=b&" * 5000, "/" + "x" * 40_000, "/api/v1/streams/%00", "/%ff"):
        answer = await console.request(target)
        statuses.add(answer.status)
    answer = await console.request("/api/v1/playground", "POST", body=b"[" * 100_000)
    statuses.add(answer.status)
    assert TOKEN.encode() not in answer.body
    return {status for status in statuses if status >= 500}
