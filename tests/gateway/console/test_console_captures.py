"""Captures of the console: of every dialect, each protocol and framing, with and without content."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from capture_checks import (
    assert_same_but_masked,
    assert_tells_of,
    body_of,
    converted,
    events_in,
    marks,
    of_kind,
    without_times,
)
from cases import case
from command_line import run
from console_client import Console, console_of
from loopback import Answer
from ports import free_port
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, chunk, upstream
from streams import Recorded, random_cuts, recorded_streams
from streamweir.codec.registry import process_dialects

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

STREAMS = {str(stream): stream for stream in recorded_streams()}
TYPES = {
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".json": "application/json",
    ".txt": "text/plain",
}


async def play(call: Call) -> None:
    """Send the recorded stream that a header names, cut anywhere."""
    stream = STREAMS[str(call.header("x-stream"))]
    media_type = TYPES[stream.path.suffix]
    await call.send(
        f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    for piece in random_cuts(stream.body, seed=1):
        await call.send(chunk(piece))
        await asyncio.sleep(0)
    await call.send(LAST_CHUNK)


def endpoint_of(stream: Recorded) -> str:
    return f"/{stream.dialect}/{'-'.join(map(str, stream.options.values())) or 'usual'}"


def endpoints(url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for stream in STREAMS.values():
        own = {stream.dialect} & {*process_dialects().writable} - {"standard"}
        found[endpoint_of(stream)] = {
            "upstream": url,
            "speaks": stream.dialect,
            "path": "/",
            "request": "passthrough",
            "forward_headers": ["X-Stream"],
            "answers": ["standard", *own],
            "protocol_options": {stream.dialect: stream.options} if stream.options else {},
        }
    return found


@asynccontextmanager
async def recording(folder: Path, capture: str) -> AsyncIterator[Console]:
    keep = {"streams": 5000, "total_bytes": "512MiB"}
    async with (
        upstream(play) as backend,
        console_of(folder, endpoints=endpoints(backend.url), console={"capture": capture, "keep": keep}) as c,
    ):
        yield c


BATCHES = count(1)
BY_CHANCE = {"silence", "dropped"}
"""Marks that depend on the time of a read, and on what else arrived in it: two streams may differ in them."""


class Told(NamedTuple):
    """One stream: what its client got, its row and its capture."""

    name: str
    answer: Answer
    row: dict[str, Any]
    file: bytes


def lines_of(file: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.splitlines()]


async def asked(console: Console, names: Iterable[str], *headers: tuple[str, str]) -> list[Told]:
    """Ask for recorded streams, one after another, and for their captures."""
    answers: dict[str, tuple[str, Answer]] = {}
    batch = f"r-{next(BATCHES)}-"
    for number, name in enumerate(names):
        request_id = f"{batch}{number}"
        given = [("X-Stream", name), ("X-Request-Id", request_id), *headers]
        answers[request_id] = name, await console.call(endpoint_of(STREAMS[name]), headers=given)
    await console.row(request_id=request_id, state="ended")
    rows = await console.rows(state="ended", limit=2000, q=batch)
    assert [row["request_id"] for row in reversed(rows)] == [*answers]
    return [Told(*answers[row["request_id"]], row, await console.file(row["id"])) for row in rows]


def sample(every: int) -> list[str]:
    """Every so many-th stream, and each dialect's first one."""
    firsts = {stream.dialect: name for name, stream in reversed(STREAMS.items())}
    return sorted({*[*STREAMS][::every], *firsts.values()})


@pytest.mark.parametrize("accept", ["text/event-stream", "application/x-ndjson", "application/json"])
async def test_capture_of_every_dialect_has_the_bytes_of_both_sides(tmp_path: Path, accept: str) -> None:
    async with recording(tmp_path, "content") as console:
        for name, answer, row, file in await asked(console, sample(12), ("Accept", accept)):
            with case(name):
                lines = lines_of(file)
                check_lanes(lines, answer, row, STREAMS[name].body)
                assert [*map(without_times, converted(file))] == [without_times(events_in(lines))]
                if accept != "application/json" and answer.status == 200:
                    told = json.dumps(without_times(events_in(lines)), ensure_ascii=False).encode()
                    got = json.dumps(without_times(answer.events), ensure_ascii=False).encode()
                    assert_same_but_masked(told, got)


async def test_capture_of_a_kept_turn_has_its_events_in_their_order(tmp_path: Path) -> None:
    own = {"speaks": "openai-chat", "request": "mapped", "forward_headers": ["X-Stream"], "path": "/"}
    names = [
        name for name, stream in STREAMS.items() if stream.dialect == "openai-chat" and not stream.options
    ]
    async with (
        upstream(play) as backend,
        console_of(
            tmp_path,
            endpoints={"/chat": {"upstream": backend.url, **own}},
            console={"capture": "content"},
        ) as console,
    ):
        asks = 0
        for number, name in enumerate(names):
            with case(name):
                given = [("X-Stream", name), ("X-Request-Id", f"kept-{number}")]
                answer = await console.call("/chat", headers=given)
                row = await console.row(request_id=f"kept-{number}", state="ended")
                file = await console.file(row["id"])
                told = without_times(events_in(lines_of(file)))
                assert [*map(without_times, converted(file))] == [told]
                got = without_times(answer.events)
                assert_same_but_masked(json.dumps(told).encode(), json.dumps(got).encode())
                asks += any(event["type"] == "interaction" for event in answer.events)
        assert asks


def check_lanes(lines: list[dict[str, Any]], answer: Answer, row: dict[str, Any], sent: bytes) -> None:
    assert_tells_of(lines, answer, None)
    reads = body_of(of_kind(lines, "read"))
    assert_same_but_masked(reads, sent[: len(reads)])
    (end,) = of_kind(lines, "end")
    last = events_in(lines)[-1]["data"]
    assert (end["reason"], end["status"]) == (last["reason"], last["status"])
    assert (row["reason"], row["code"]) == (end["reason"], end.get("code"))
    assert end["bytes_out"] == len(answer.body) == row["bytes_out"]
    assert end["bytes_in"] == row["bytes_in"]
    assert end["events"] == len(events_in(lines))
    assert end["client"] == "read"


async def test_capture_of_copied_frames_has_the_bytes_of_both_sides(tmp_path: Path) -> None:
    copied: list[Told] = []
    async with recording(tmp_path, "content") as console:
        writable = {*process_dialects().writable} - {"standard"}
        for dialect in sorted(writable & {stream.dialect for stream in STREAMS.values()}):
            names = [name for name in sample(8) if STREAMS[name].dialect == dialect]
            copied += await asked(console, names, ("X-Streamweir-Protocol", dialect))
        for name, answer, row, file in copied:
            with case(name):
                lines = lines_of(file)
                check_lanes(lines, answer, row, STREAMS[name].body)
                assert [*map(without_times, converted(file))] == [without_times(events_in(lines))]
                assert ("lossy" in marks(lines)) == bool(row["lost"])


async def test_capture_without_content_has_sizes_and_kinds_alone(tmp_path: Path) -> None:
    async with recording(tmp_path, "metadata") as console:
        for name, answer, row, file in await asked(console, sample(20)):
            with case(name):
                lines = lines_of(file)
                assert lines[0]["content"] == row["capture"] == "metadata"
                assert not [line for line in lines if "data" in line or "base64" in line]
                assert not [event for event in events_in(lines) if "data" in event]
                assert sum(line["bytes"] for line in of_kind(lines, "write")) == len(answer.body)
                assert sum(line["bytes"] for line in of_kind(lines, "read")) == row["bytes_in"]
                told = [(event["type"], event["metadata"]["sequence"]) for event in events_in(lines)]
                assert told == [(event["type"], event["metadata"]["sequence"]) for event in answer.events]
                assert all(set(one["body"]) == {"bytes"} for one in of_kind(lines, "request"))


async def test_capture_without_content_has_the_marks_of_one_with_content(tmp_path: Path) -> None:
    names, found = sample(12), {}
    for kind in ("content", "metadata"):
        folder = tmp_path / kind
        folder.mkdir()
        async with recording(folder, kind) as console:
            for name, _, _, file in await asked(console, names):
                found[kind, name] = sorted(word for word in marks(lines_of(file)) if word not in BY_CHANCE)
    for name in names:
        with case(name):
            assert found["metadata", name] == found["content", name]


async def test_convert_refuses_a_capture_without_content(tmp_path: Path) -> None:
    name = sample(1000)[0]
    async with recording(tmp_path, "metadata") as console:
        ((_, _, _, body),) = await asked(console, [name])
    file = tmp_path / "one.capture.jsonl"
    file.write_bytes(body)
    ended = run("convert", str(file))
    assert ended.returncode == 1
    assert b"no content" in ended.stderr


async def test_convert_makes_the_events_of_the_capture(tmp_path: Path) -> None:
    async with recording(tmp_path, "content") as console:
        for _, _, _, body in await asked(console, sample(100)):
            lines = lines_of(body)
            file = tmp_path / "one.capture.jsonl"
            file.write_bytes(body)
            ended = run("convert", "--to", "standard", "--framing", "ndjson", "--exit-zero", str(file))
            told = [json.loads(line) for line in ended.stdout.splitlines()]
            assert without_times(told) == without_times(events_in(lines))


async def test_convert_of_a_request_behind_an_open_breaker_gives_its_events(tmp_path: Path) -> None:
    settings = {"url": f"http://127.0.0.1:{free_port()}", "breaker": {"failures": 1, "open_for": "1m"}}
    async with console_of(
        tmp_path,
        upstreams={"away": settings},
        endpoints={"/chat": {"upstream": "away", "speaks": "legacy"}},
        console={"capture": "content"},
    ) as console:
        await console.call("/chat")
        await console.row(attempts=1, state="ended")
        got = await console.call("/chat")
        row = await console.row(attempts=0, state="ended")
        file = await console.file(row["id"])
        events = events_in(lines_of(file))
        assert got.error is not None
        assert got.error["retry_after_ms"] > 0
        assert without_times(events) == without_times(got.events)
        assert [without_times(one) for one in converted(file)] == [without_times(events)]


@pytest.mark.parametrize("capture", ["content", "metadata"])
async def test_silence_before_a_timeout_has_a_mark_with_its_length(tmp_path: Path, capture: str) -> None:
    async def stalls(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await asyncio.sleep(20)

    async with upstream(stalls) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", "timeouts": {"idle": "1200ms"}}
        async with console_of(
            tmp_path, endpoints={"/chat": endpoint}, console={"capture": capture}
        ) as console:
            await console.call("/chat")
            lines = await console.capture((await console.row(reason="idle_timeout"))["id"])
    marks = [line for line in of_kind(lines, "mark") if line["what"] in ("silence", "timeout")]
    assert [mark["what"] for mark in marks] == ["silence", "timeout"]
    assert 1200 <= marks[0]["ms"] < 20_000
    assert lines.index(marks[0]) < lines.index(of_kind(lines, "attempt")[0])


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
async def test_lossy_warning_without_a_place_in_the_protocol_counts_nowhere(
    tmp_path: Path, protocol: str
) -> None:
    events = [{"type": "token", "content": "Hi"}, {"type": "chart", "chart": {"x": 1}}, {"type": "done"}]

    async def draws(call: Call) -> None:
        frames = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]
        await call.send(SSE, *map(chunk, frames), LAST_CHUNK)

    async with upstream(draws) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", "answers": protocol}
        async with console_of(
            tmp_path, endpoints={"/chat": endpoint}, console={"capture": "content"}
        ) as console:
            await console.call("/chat")
            row = await console.row(state="ended")
            lines = await console.capture(row["id"])
    assert row["lost"] == 1
    assert row["events"] == of_kind(lines, "end")[0]["events"] == len(of_kind(lines, "event"))
    assert "lossy" in marks(lines)
