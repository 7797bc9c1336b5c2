"""In front of an old service: its clients get the frames that it sends, over real HTTP, both ways in.

Source: the standard protocol 1.1, section 8.
"""

import asyncio
import json
from typing import Any

import pytest

from faulty_upstreams import leaks_to_client
from hosts import get, served, streaming
from loopback import Answer, Client, Gateway, ask, client, gateway, relayed, settled
from patience import PATIENCE
from scripted_upstream import Call, Script, upstream
from streams import Recorded, recorded_streams
from streamweir import Translator, convert
from streamweir.asgi import StreamweirMiddleware
from streamweir.codec.registry import process_dialects
from streamweir.testing import cuts
from streamweir_gateway.fake import FAULTS, Settings, serve_fake

pytestmark = pytest.mark.anyio

ANSWERS = ["legacy", "standard"]
STANDARD = [("X-Streamweir-Protocol", "standard")]
MEDIA_TYPES = {".sse": "text/event-stream", ".ndjson": "application/x-ndjson"}
DIALECTS = sorted(({*process_dialects().readable} & {*process_dialects().writable}) - {"standard"})

FRAMES = (
    b'data: {"type": "token", "content": "Let me look. "}\n\n',
    b'data: {"type": "tool_call", "tool_name": "web search", "tool_args": {"query": "weirs", "n": 3}}\n\n',
    b'data: {"type": "tool_result", "tool_name": "web search", "result": "Three of them."}\n\n',
    b'data: {"type": "token", "content": "There are three."}\n\n',
    b'data: {"type": "final_answer", "content": "Let me look. There are three."}\n\n',
)
BACKEND_OF_2023 = b"".join(FRAMES)


def playing(*pieces: bytes, media_type: str = "text/event-stream") -> Script:
    """A backend that sends these pieces, and then closes the connection, as its body's end."""

    async def script(call: Call) -> None:
        await call.begin(content_type=media_type)
        await call.send(*pieces, pause=0.001 if len(pieces) > 1 else 0)

    return script


def assert_new_client_is_served(got: Answer) -> None:
    got.assert_valid()
    assert got.end["status"] == "completed"
    assert got.text == "Let me look. There are three."
    call = next(event["data"] for event in got.events if event["type"] == "tool_call_start")
    assert (call["tool_name"], call["arguments"]) == ("web search", {"query": "weirs", "n": 3})


async def test_gateway_serves_old_and_new_clients_of_a_backend_of_2023() -> None:
    async with upstream(playing(*FRAMES)) as server:
        config = settled(
            endpoints={"/chat": {"upstream": server.url, "speaks": "legacy", "answers": ANSWERS}}
        )
        async with gateway(config) as running:
            old = await ask(running)
            new = await ask(running, headers=STANDARD)
            lines = [await running.log.next_line(), running.log.lines[-1]]

    assert old.is_whole
    assert old.body == BACKEND_OF_2023
    assert old.header("x-request-id")
    assert_new_client_is_served(new)
    assert {line["reason"] for line in lines} == {"done"}


async def test_middleware_serves_old_and_new_clients_of_a_backend_of_2023() -> None:
    app = StreamweirMiddleware(streaming(*FRAMES, pause=0.001), speaks="legacy", answers=ANSWERS)
    async with served(app) as host:
        old, new = await get(host), await get(host, headers=STANDARD)

    assert old.is_whole
    assert old.body == BACKEND_OF_2023
    assert_new_client_is_served(new)


async def test_frame_leaves_at_once() -> None:
    shown = asyncio.Event()

    async def waits(call: Call) -> None:
        await call.begin()
        for frame in FRAMES:
            shown.clear()
            await call.send(frame)
            await asyncio.wait_for(shown.wait(), PATIENCE)

    async def read(connected: Client) -> None:
        for frame in FRAMES:
            await connected.until(frame)
            shown.set()

    async with upstream(waits) as server:
        config = settled(
            endpoints={"/chat": {"upstream": server.url, "speaks": "legacy", "answers": ANSWERS}}
        )
        async with gateway(config) as running, client(running) as connected:
            connected.send()
            await read(connected)
            assert (await connected.whole()).body == BACKEND_OF_2023


# Recorded streams


def expected_of(stream: Recorded) -> bytes:
    """What a client is to get, without what is written anew: there is a time in it, or an id."""
    return convert(
        stream.body, speaks=stream.dialect, answers=stream.dialect, framing=stream.path.suffix.lstrip(".")
    )


def is_copy(stream: Recorded) -> bool:
    return stream.body.startswith(expected_of(stream)) and not stream.options


def copies_of(dialect: str) -> list[Recorded]:
    streams = [stream for stream in recorded_streams() if stream.dialect == dialect]
    return [stream for stream in streams if stream.path.suffix in MEDIA_TYPES and is_copy(stream)]


async def heard(running: Gateway, path: str, accept: str) -> Answer:
    return await ask(running, target=path, headers=[("Accept", accept)])


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_recorded_streams_come_as_they_are_through_the_gateway(dialect: str) -> None:
    streams = {f"/{number}": stream for number, stream in enumerate(copies_of(dialect))}
    assert streams

    async def script(call: Call) -> None:
        stream = streams[call.target]
        await call.begin(content_type=MEDIA_TYPES[stream.path.suffix])
        await call.send(*cuts(stream.body, seed=len(stream.body))[:50])
        await call.send(b"".join(cuts(stream.body, seed=len(stream.body))[50:]))

    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "path": "/{name}", "speaks": dialect, "answers": [dialect]}
        async with gateway(settled(endpoints={"/{name}": endpoint})) as running:
            for path, stream in streams.items():
                for accept in ("*/*", MEDIA_TYPES[stream.path.suffix]):
                    got = await heard(running, path, accept)
                    assert (got.is_whole, got.body) == (True, expected_of(stream)), stream
                    assert (got.header("content-type") or "").startswith(MEDIA_TYPES[stream.path.suffix])


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_recorded_streams_come_as_they_are_through_the_middleware(dialect: str) -> None:
    for stream in copies_of(dialect)[:12]:
        media_type = MEDIA_TYPES[stream.path.suffix]
        pieces = cuts(stream.body, seed=7)
        app = StreamweirMiddleware(
            streaming(*pieces, media_type=media_type.encode()), speaks=dialect, answers=[dialect]
        )
        async with served(app) as host:
            got = await get(host)
        assert (got.is_whole, got.body) == (True, expected_of(stream)), stream


# What is not healthy

SLOW = ("silence", "slow", "drip", "delay", "late", "pause", "endless", "bomb", "long-line", "burst")


def faults_to_play() -> list[str]:
    """Every fault by name, aside from those that take time, or a place that they do not have here."""
    names = sorted(name for name in FAULTS if not any(word in name for word in SLOW))
    return [{"comments": "comments:20"}.get(name, name) for name in names]  # two seconds, longer than a clock


@pytest.mark.parametrize("dialect", ["legacy", "easyflow", "ragflow"])
@pytest.mark.slow
async def test_every_fault_ends_in_the_words_of_the_dialect(dialect: str, subtests: pytest.Subtests) -> None:
    played = Settings().settled({"dialect": [dialect], "framing": ["sse"], "pace": ["off"]})
    async with serve_fake(played) as backend:
        common = {"speaks": dialect, "timeouts": dict.fromkeys(("connect", "idle", "first_event"), "1s")}
        endpoint = {"upstream": "fake", "forward_headers": ["X-Fault"], "answers": [dialect, "standard"]}
        endpoint["failures"] = "told"
        config = settled(
            upstreams={"fake": {"url": backend.url, "breaker": "off", **common}},
            endpoints={"/chat": endpoint, "/old": {**endpoint, "failures": "as_they_came"}},
        )
        async with gateway(config) as running:
            whole = await ask(running)
            assert whole.body == convert(whole.body, speaks=dialect, answers=dialect)
            for fault in faults_to_play():
                with subtests.test(fault=fault):
                    wish = [("X-Fault", fault)]
                    got, new, old = await asyncio.gather(
                        ask(running, headers=wish),
                        ask(running, headers=[*wish, *STANDARD]),
                        ask(running, target="/old", headers=wish),
                    )
                    assert got.is_whole
                    assert not leaks_to_client(got)
                    assert status_of(got, dialect) == new.end["status"], got.body[-500:]
                    assert_failure_is_native(old, got, new, dialect)


def assert_failure_is_native(old: Answer, told: Answer, new: Answer, dialect: str) -> None:
    """An old client sees each failure: by the status, by a broken body, or by an error of its dialect."""
    assert not leaks_to_client(old)
    if new.end["status"] != "error":
        assert (old.status, old.is_whole, old.body) == (200, True, told.body)
    elif old.status == 200:
        assert status_of(old, dialect) == "error"
    else:
        assert old.is_whole
        assert old.status >= 400


def status_of(got: Answer, dialect: str) -> str:
    """What an old client makes of what it got, by the dialect's own reader."""
    translator = Translator(speaks=dialect, framing="ndjson")
    out = translator.feed(got.body) + translator.close()
    return str(json.loads(out.splitlines()[-1])["data"]["status"])


async def test_upstream_that_is_gone_is_a_status_for_its_old_clients() -> None:
    config = settled(
        endpoints={"/chat": {"upstream": "http://127.0.0.1:9/chat", "speaks": "legacy", "answers": ANSWERS}}
    )
    async with gateway(config) as running:
        got = await ask(running)

    assert (got.status, got.json["error"]["code"]) == (502, "UPSTREAM_UNREACHABLE")


async def test_client_that_leaves_behind_the_end_has_had_all_of_it() -> None:
    async def stays(call: Call) -> None:
        await call.begin()
        await call.send(FRAMES[0], b'data: {"type":"done"}\n\n')
        await call.until_closed()

    async with upstream(stays) as server:
        config = settled(
            endpoints={"/chat": {"upstream": server.url, "speaks": "legacy", "answers": ANSWERS}}
        )
        async with gateway(config) as running:
            async with client(running) as connected:
                connected.send()
                await connected.until(b"done")
            line = await running.log.next_line()

    assert line["reason"] == "done"


async def test_frames_without_content_follow_the_end() -> None:
    done = b'data: {"type":"done"}\n\n'
    frames = (FRAMES[0], done, b"data: [DONE]\n\n", b": bye\n\n")
    options: dict[str, Any] = {"speaks": "legacy", "answers": ANSWERS}

    got = await relayed(playing(*frames), **options)
    assert got.body == b"".join(frames)

    got = await relayed(playing(*frames[:2], FRAMES[0], b": bye\n\n"), **options)
    assert got.body == FRAMES[0] + done


async def test_verbatim_false_writes_anew() -> None:
    frames = (FRAMES[0], b'data: {"type": "done"}\n\n')

    got = await relayed(playing(*frames), speaks="legacy", answers=ANSWERS, verbatim=False)

    assert got.body == b"".join(frames).replace(b'": ', b'":').replace(b', "', b',"')


async def test_framing_of_the_client_wins() -> None:
    body = b'{"type": "token", "content": "Hi"}\n{"type": "done"}\n'
    script = playing(body, media_type="application/x-ndjson")
    options: dict[str, Any] = {"speaks": "legacy", "answers": ANSWERS}

    got = await relayed(script, **options)
    assert (got.body, got.framing) == (body, "ndjson")

    got = await relayed(script, headers=[("Accept", "text/event-stream")], **options)
    assert (got.framing, got.events[0]["content"]) == ("sse", "Hi")

    got = await relayed(script, **options, framing="sse")
    assert got.framing == "sse"
