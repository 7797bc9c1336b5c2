"""Taps and watchers of the gateway's streams."""

import asyncio
import time
from typing import Any

import pytest

from loopback import ask, client, gateway, one_endpoint, settled
from patience import until
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, Script, answer, chunk, upstream
from streamweir import ConfigurationError, EventTap
from streamweir.events import wire_message
from streamweir_gateway.app import build_app
from streamweir_gateway.runs.live_streams import LiveStream

pytestmark = pytest.mark.anyio

BUSY = answer(b"", "Connection: close", status="503 Unavailable")
BEGUN = (SSE, chunk(HELLO[0]))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Listener(EventTap):
    """Keeps all events and calls, in order."""

    def __init__(self, scope: Any = None) -> None:
        self.scope = scope
        self.messages: list[dict[str, Any]] = []
        self.calls: list[Any] = []

    def write(self, event: Any, stamp: Any) -> None:
        self.messages.append(wire_message(event, stamp))
        self.calls.append(event.type)

    def attempt_began(self, attempt: int, upstream: str) -> None:
        self.calls.append(("began", attempt, upstream))

    def attempt_ended(self, attempt: int, code: str | None) -> None:
        self.calls.append(("ended", attempt, code))

    def finish(self) -> None:
        self.calls.append("finish")

    async def finished(self) -> None:
        """Wait for the last call, which a thread makes if the calls have taken long on a busy machine."""
        await until(lambda: self.calls[-1:] == ["finish"])


class Listeners(list[Listener]):
    """Makes a listener for each stream and keeps it."""

    def __call__(self, scope: Any) -> Listener:
        self.append(Listener(scope))
        return self[-1]


def in_turn(*scripts: tuple[bytes, ...]) -> Script:
    left = list(scripts)

    async def script(call: Call) -> None:
        for piece in left.pop(0) if len(left) > 1 else left[0]:
            await call.send(piece)

    return script


def retrying(url: str, **endpoint: Any) -> Any:
    target = {"url": url, "speaks": "legacy", "retries": {"attempts": 3, "backoff": "1ms"}}
    return settled(upstreams={"model": target}, endpoints={"/chat": {"upstream": "model", **endpoint}})


async def test_tap_gets_the_events_that_the_client_gets() -> None:
    listeners = Listeners()
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url), taps=[listeners]) as running:
        got = await ask(running)
    (tap,) = listeners
    await tap.finished()
    assert tap.messages == got.events
    assert tap.scope["path"] == "/chat"
    label = tap.calls[0][2]
    assert tap.calls == [
        ("began", 1, label),
        *(event["type"] for event in got.events),
        ("ended", 1, None),
        "finish",
    ]


async def test_tap_gets_every_attempt_and_the_events_of_the_last_one() -> None:
    listeners = Listeners()
    script = in_turn((BUSY,), (BUSY,), (SSE, *map(chunk, HELLO), LAST_CHUNK))
    async with upstream(script) as server, gateway(retrying(server.url), taps=[listeners]) as running:
        got = await ask(running)
    (tap,) = listeners
    await tap.finished()
    assert tap.messages == got.events
    attempts = [call for call in tap.calls if isinstance(call, tuple)]
    assert attempts == [
        *(("began", 1, "model"), ("ended", 1, "UPSTREAM_ERROR")),
        *(("began", 2, "model"), ("ended", 2, "UPSTREAM_ERROR")),
        *(("began", 3, "model"), ("ended", 3, None)),
    ]
    assert tap.calls.index("session_start") > tap.calls.index(("began", 3, "model"))


async def test_tap_gets_the_failure_of_a_request_whose_attempts_all_failed() -> None:
    listeners = Listeners()
    script = in_turn((BUSY,))
    async with upstream(script) as server, gateway(retrying(server.url), taps=[listeners]) as running:
        got = await ask(running)
    (tap,) = listeners
    await tap.finished()
    assert tap.messages == got.events
    assert [message["type"] for message in tap.messages] == ["session_start", "error", "session_end"]


async def test_tap_of_a_client_that_left_is_finished() -> None:
    listeners = Listeners()

    async def script(call: Call) -> None:
        for piece in BEGUN:
            await call.send(piece)
        await call.until_closed()

    async with upstream(script) as server, gateway(one_endpoint(server.url), taps=[listeners]) as running:
        async with client(running) as connected:
            connected.send()
            await connected.until(b"session_start")
        line = await running.log.next_line()
    (tap,) = listeners
    await tap.finished()
    assert line["reason"] == "client_gone"
    assert tap.messages[-1]["type"] == "session_end"
    assert tap.messages[-1]["data"]["status"] == "cancelled"


async def test_tap_follows_a_resumable_run() -> None:
    listeners = Listeners()
    async with upstream(WHOLE) as server:
        config = retrying(server.url, resume={})
        async with gateway(config, taps=[listeners]) as running:
            got = await ask(running)
    (tap,) = listeners
    await tap.finished()
    assert tap.messages == got.events


async def test_tap_follows_an_agent_stream_of_a_relayed_service() -> None:
    listeners = Listeners()
    async with upstream(WHOLE) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "speaks": "legacy", "relay": "all"}})
        async with gateway(config, taps=[listeners]) as running:
            got = await ask(running, "GET", "/chat")
    assert got.status == 200
    (tap,) = listeners
    await tap.finished()
    assert (tap.calls[1], tap.messages[-1]["type"]) == ("session_start", "session_end")


async def test_tap_that_raises_or_is_slow_does_not_change_the_stream() -> None:
    class Broken(Listener):
        def write(self, event: Any, stamp: Any) -> None:
            raise RuntimeError("broken")

    class Slow(Listener):
        def write(self, event: Any, stamp: Any) -> None:
            time.sleep(0.5)

    async with upstream(WHOLE) as server:
        async with gateway(one_endpoint(server.url)) as running:
            plain = await ask(running)
        async with gateway(one_endpoint(server.url), taps=[Broken, Slow]) as running:
            began = time.monotonic()
            tapped = await ask(running)
            took = time.monotonic() - began
    assert [event["type"] for event in tapped.events] == [event["type"] for event in plain.events]
    assert took < 0.5 * len(tapped.events)


async def test_taps_that_are_not_callables_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="taps must be a list of callables"):
        build_app(one_endpoint("http://127.0.0.1:1/"), taps=["a"])  # type: ignore[list-item]


async def test_watcher_gets_each_stream_and_can_tap_it_and_learns_of_its_end() -> None:
    seen: list[tuple[LiveStream, Listener]] = []
    ended: list[str] = []

    def on_begin(stream: LiveStream) -> None:
        seen.append((stream, Listener()))
        stream.add_tap(seen[-1][1])
        stream.on_end(lambda: ended.append(stream.record.request_id))

    def broken(_stream: LiveStream) -> None:
        raise RuntimeError("a watcher that is broken")

    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
        running.streams.watch(broken)
        running.streams.watch(on_begin)
        got = await ask(running)
        await running.log.next_line()
    ((stream, tap),) = seen
    await tap.finished()
    assert tap.messages == got.events
    assert ended == [stream.record.request_id]
    assert stream.reader is not None
    assert stream.reader.dialect is not None
    assert stream.reader.dialect.name == "legacy"


async def test_tap_added_to_a_stream_under_way_gets_its_next_events() -> None:
    late, may_go_on = Listener(), asyncio.Event()
    streams: list[LiveStream] = []

    async def script(call: Call) -> None:
        for piece in BEGUN:
            await call.send(piece)
        await may_go_on.wait()
        for piece in (*map(chunk, HELLO[1:]), LAST_CHUNK):
            await call.send(piece)

    async with upstream(script) as server, gateway(one_endpoint(server.url)) as running:
        running.streams.watch(streams.append)
        async with client(running) as connected:
            connected.send()
            await connected.until(b"session_start")
            streams[0].add_tap(late)
            may_go_on.set()
            got = await connected.whole()
        await running.log.next_line()
    await late.finished()
    assert late.messages
    assert late.messages == got.events[-len(late.messages) :]
    assert len(late.messages) < len(got.events)
