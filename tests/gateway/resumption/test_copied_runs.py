"""A resumable run in front of an old service: its clients get the frames that it sends, live and stored.

Source: the standard protocol 1.1, section 8; the contract of resumable streams, sections 2 and 3.
"""

import asyncio
import json
import re
from typing import Any

import pytest

from loopback import Answer, Gateway, ask, client, gateway, settled
from redis_servers import redis_binaries, redis_server
from scripted_upstream import LAST_CHUNK, SSE, Call, Script, chunk, upstream
from streamweir.testing import check_stream
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

OLD = [("X-Streamweir-Protocol", "legacy"), ("Accept", "text/event-stream")]
NEW = [("X-Streamweir-Protocol", "standard"), ("Accept", "text/event-stream")]
FRAMES = [
    b": hello\n\n",
    b"retry: 500\n\n",
    b'data: {"type" : "token", "content" : "Let me look. "}\n\n',
    b'id: 7\ndata: {"type":"tool_call","tool_name":"search","tool_args":{"q":1},"tool_id":"c1"}\n\n',
    b'data:{"type":"tool_result","tool_name":"search","result":"found","tool_id":"c1"}\n\n',
    b": ping\n\n",
    *(b'data: {"type":"token","content":"word %d "}\n\n' % number for number in range(40)),
    b'data: {"type":"strange","value":[1,2]}\n\n',
    b'data: {"type":"final_answer","content":"Let me look. '
    + b"".join(b"word %d " % n for n in range(40))
    + b'"}\n\n',
    b'data: {"type":"done"}\n\n',
    b"data: [DONE]\n\n",
    b": bye\n\n",
]
BODY = b"".join(FRAMES)


@pytest.fixture(scope="module", params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield "memory"
        return
    with redis_server(redis_binaries()[0]) as server:
        yield server.url


def kept(url: str, store: str = "memory", **options: Any) -> GatewayConfig:
    endpoint = {
        "upstream": url,
        "speaks": "legacy",
        "resume": "on",
        "answers": ["legacy", "standard"],
        **options,
    }
    return settled(endpoints={"/chat": endpoint}, store=store)


def playing(*pieces: bytes, pause: float = 0.0) -> Script:
    async def script(call: Call) -> None:
        await call.send(SSE)
        for piece in pieces:
            await call.send(chunk(piece))
            await asyncio.sleep(pause)
        await call.send(LAST_CHUNK)

    return script


def handle_of(answer: Answer) -> str:
    handle = answer.header("x-streamweir-run")
    assert handle is not None
    return handle


async def read(running: Gateway, handle: str, headers: Any, after: int | None = None) -> Answer:
    target = f"/-/runs/{handle}" if after is None else f"/-/runs/{handle}?after={after}"
    return await ask(running, "GET", target, headers=headers, body=b"")


def without_ids(answer: Answer) -> bytes:
    """The body of an answer to a GET without the ids that its events have got."""
    run = re.compile(rb"id: run_[0-9a-f]{32}\.\d+\n")
    assert run.search(answer.body)
    return run.sub(b"", answer.body)


@pytest.mark.parametrize("pieces", [[BODY], FRAMES, [BODY[at : at + 7] for at in range(0, len(BODY), 7)]])
async def test_run_of_an_old_client_is_byte_for_byte_the_upstreams_body(
    store: str, pieces: list[bytes]
) -> None:
    async with upstream(playing(*pieces)) as server, gateway(kept(server.url, store)) as running:
        whole = await ask(running, headers=OLD)
        again = await read(running, handle_of(whole), OLD)
        start = await read(running, handle_of(whole), OLD, after=-1)
        new = await read(running, handle_of(whole), NEW)
        lines = running.log.lines

    assert whole.is_whole
    assert whole.body == without_ids(again) == without_ids(start) == BODY
    assert check_stream(new.body) == []
    assert new.end["status"] == "completed"
    assert new.text.endswith("word 39 ")
    assert {line["reason"] for line in lines if not line.get("resumes")} == {"done"}
    assert len(server.calls) == 1


async def test_readers_of_one_run_follow_it_in_different_protocols(store: str) -> None:
    more = asyncio.Event()

    async def script(call: Call) -> None:
        await call.send(SSE, *map(chunk, FRAMES[:4]))
        await more.wait()
        await call.send(*map(chunk, FRAMES[4:]), LAST_CHUNK)

    async with (
        upstream(script) as server,
        gateway(kept(server.url, store)) as running,
        client(running) as first,
        client(running) as old,
        client(running) as new,
    ):
        first.send(headers=OLD)
        await first.until(FRAMES[3])
        handle = handle_of(first.answer)
        old.send("GET", f"/-/runs/{handle}", headers=OLD, body=b"")
        new.send("GET", f"/-/runs/{handle}", headers=NEW, body=b"")
        await old.until(FRAMES[3])
        await new.until(b"tool_call_start")
        more.set()
        answers = [await reader.whole() for reader in (first, old, new)]

    assert answers[0].body == without_ids(answers[1]) == BODY
    assert check_stream(answers[2].body) == []
    assert answers[2].end["status"] == "completed"


async def test_first_client_of_another_protocol_keeps_no_frames(store: str) -> None:
    async with upstream(playing(BODY)) as server, gateway(kept(server.url, store)) as running:
        first = (await ask(running, headers=NEW)).assert_valid()
        old = await read(running, handle_of(first), OLD)

    assert old.body != BODY
    assert b"id: " + handle_of(first).encode() in old.body


async def test_run_read_behind_a_position_is_written_anew(store: str) -> None:
    async with upstream(playing(BODY)) as server, gateway(kept(server.url, store)) as running:
        whole = await ask(running, headers=OLD)
        handle = handle_of(whole)
        events = [event["type"] for event in (await read(running, handle, NEW)).events]
        rest = await read(running, handle, OLD, after=events.index("tool_call_start"))

    frames = [block for block in rest.body.split(b"\n\n") if block]
    ids = [frame.split(b"\n")[0] for frame in frames]
    assert ids[0] == f"id: {handle}.{events.index('tool_call_start') + 1}".encode()
    assert json.loads(frames[0].split(b"data: ")[1])["type"] == "tool_result"
    assert b"Let me look" not in frames[0]


@pytest.mark.parametrize("verbatim", [True, False])
async def test_frames_count_in_max_bytes(verbatim: bool) -> None:
    padded = [frame.replace(b"data:", b"data:" + b" " * 300) for frame in FRAMES[6:46]]
    frames = [FRAMES[2], *padded, FRAMES[-3]]
    options: dict[str, Any] = {"resume": {"max_bytes": "8KiB"}, "verbatim": verbatim}
    async with upstream(playing(*frames)) as server, gateway(kept(server.url, **options)) as running:
        whole = await ask(running, headers=OLD)
        again = await read(running, handle_of(whole), OLD)

    assert again.status == (410 if verbatim else 200)
    assert whole.is_whole
    assert (b"RESUME_LIMIT" in whole.body) is verbatim
    assert not verbatim or all(frame in whole.body for frame in frames)


async def test_failure_of_a_run_is_stored_in_the_words_of_the_dialect(store: str) -> None:
    async with upstream(playing(FRAMES[2], FRAMES[3])) as server, gateway(kept(server.url, store)) as running:
        whole = await ask(running, headers=OLD)
        again = await read(running, handle_of(whole), OLD)

    assert whole.body == without_ids(again)
    assert whole.body.startswith(FRAMES[2] + FRAMES[3])
    assert b"UPSTREAM_TRUNCATED" in whole.body


async def test_comment_of_the_upstream_reaches_the_client_while_nothing_else_comes(store: str) -> None:
    more = asyncio.Event()

    async def script(call: Call) -> None:
        await call.send(SSE, chunk(FRAMES[2]), chunk(b": still here\n\n"))
        await more.wait()
        await call.send(chunk(FRAMES[-3]), LAST_CHUNK)

    async with upstream(script) as server, gateway(kept(server.url, store)) as running:
        async with client(running) as first:
            first.send(headers=OLD)
            await first.until(b": still here\n\n")
            more.set()
            whole = await first.whole()
        again = await read(running, handle_of(whole), OLD)

    assert whole.body == without_ids(again) == FRAMES[2] + b": still here\n\n" + FRAMES[-3]


async def test_framing_of_a_run_is_the_upstreams_if_the_client_leaves_it_open() -> None:
    lines = b'{"type":"token", "content":"Hi"}\n{"type":"done"}\n'

    async def script(call: Call) -> None:
        await call.begin(content_type="application/x-ndjson")
        await call.send(lines)

    async with upstream(script) as server, gateway(kept(server.url)) as running:
        whole = await ask(running, headers=[])
        again = await read(running, handle_of(whole), [])

    assert whole.body == again.body == lines
    assert whole.header("content-type") == again.header("content-type") == "application/x-ndjson"
