"""Event streams of a relayed service that begin with comments, and statuses and types of agent streams."""

import gc
import gzip
from typing import Any, Final

import anyio
import pytest

from cases import case
from loopback import ask, client, gateway, settled
from patience import PATIENCE, PROMPTLY
from scripted_upstream import HELLO, LAST_CHUNK, Call, answer, chunk, upstream
from streamweir.testing import check_stream
from streamweir_gateway.relay import quiet_stream
from streamweir_gateway.runs.client_gone import ClientGone

pytestmark = pytest.mark.anyio

HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Of-Service: yes\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
PINGS: Final = (b": one\n\n", b": two\n", b"\n: th", b"ree\n\n")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments leave after 0.2 s in place of 5 s."""
    monkeypatch.setattr(quiet_stream, "QUIET_SECONDS", 0.2)


def whole_service(url: str, **options: Any) -> Any:
    shared = {"upstream": url, "speaks": "legacy", "relay": "all", **options}
    return settled(endpoints={"/chat": shared, "/copied": {**shared, "answers": ["legacy"]}})


def service(*rest: bytes, shown: anyio.Event, head: bytes = HEAD) -> Any:
    """A service that sends comments, waits until the client has seen them, and goes on."""

    async def play(call: Call) -> None:
        await call.send(head, *map(chunk, PINGS[:2]))
        with anyio.move_on_after(PATIENCE):
            await shown.wait()
        await call.send(*map(chunk, (*PINGS[2:], *rest)), LAST_CHUNK)

    return play


@pytest.mark.parametrize("target", ["/chat", "/copied"])
async def test_agent_that_pings_for_long_is_an_agent_stream(target: str) -> None:
    shown = anyio.Event()
    async with (
        upstream(service(*HELLO, shown=shown)) as server,
        gateway(whole_service(server.url)) as running,
        client(running) as connected,
    ):
        connected.send(target=target)
        await connected.until(b": two\n")
        assert connected.answer.header("x-of-service") == "yes"
        shown.set()
        got = await connected.whole()
        assert got.is_whole
        assert got.body.count(b": one") == got.body.count(b": two") == 1
        if target == "/chat":
            assert check_stream(got.body, framing="sse") == []
            assert got.text == "Hello"
        else:
            assert got.body == b"".join((*PINGS, *HELLO))
        line = await running.log.next_line()
        assert (line["reason"], line["status"], line["speaks"]) == ("done", 200, "legacy")


async def test_quiet_stream_of_other_events_goes_through_unchanged() -> None:
    for rest in ((b"event: tick\ndata: 7\n\n", b"data: x\n\n"), ()):
        shown = anyio.Event()
        async with (
            upstream(service(*rest, shown=shown)) as server,
            gateway(whole_service(server.url)) as running,
            client(running) as connected,
        ):
            connected.send("GET", body=b"")
            await connected.until(b": two\n")
            shown.set()
            got = await connected.whole()
            assert got.is_whole
            assert got.body == b"".join((*PINGS, *rest))


async def test_quiet_stream_waits_for_a_client_of_another_framing() -> None:
    for accept in ("application/x-ndjson", "application/json"):

        async def play(call: Call) -> None:
            await call.send(HEAD, *map(chunk, PINGS), pause=0.1)
            await call.send(*map(chunk, HELLO), LAST_CHUNK)

        async with upstream(play) as server, gateway(whole_service(server.url)) as running:
            with case(accept):
                got = await ask(running, headers=[("Accept", accept)])
                assert (got.is_whole, b"Hel" in got.body, b": one" in got.body) == (True, True, False)


async def test_quiet_stream_that_breaks_off_is_not_whole() -> None:
    async def play(call: Call) -> None:
        await call.send(HEAD, chunk(PINGS[0]), pause=0.4)
        call.reset()

    async with upstream(play) as server, gateway(whole_service(server.url)) as running:
        got = await ask(running)
        assert (got.status, got.body, got.is_whole) == (200, PINGS[0], False)


async def test_quiet_stream_of_a_client_that_leaves_is_closed() -> None:
    async def play(call: Call) -> None:
        await call.send(HEAD, chunk(PINGS[0]))
        await call.until_closed()

    async with (
        upstream(play) as server,
        gateway(whole_service(server.url)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b": one")
        connected.leave()
        with anyio.fail_after(PROMPTLY):
            await server.call.closed.wait()


async def test_coded_stream_waits_for_its_first_frame() -> None:
    coded = gzip.compress(b"".join((*PINGS, *HELLO)))
    head = HEAD.replace(b"X-Of-Service: yes", b"Content-Encoding: gzip")

    async def play(call: Call) -> None:
        await call.send(head, chunk(coded[:12]), pause=0.4)
        await call.send(chunk(coded[12:]), LAST_CHUNK)

    async with upstream(play) as server, gateway(whole_service(server.url)) as running:
        assert (await ask(running)).assert_valid().text == "Hello"


@pytest.mark.parametrize("status", ["201 Created", "202 Accepted"])
@pytest.mark.parametrize("media_type", ["text/event-stream", "application/x-ndjson", "application/jsonl"])
async def test_answer_with_a_status_and_type_of_a_stream_is_an_agent_stream(
    status: str, media_type: str
) -> None:
    lines = b"".join(HELLO) if media_type == "text/event-stream" else b"".join(HELLO).replace(b"data: ", b"")
    whole = answer(lines, f"Content-Type: {media_type}", status=status)
    async with upstream(whole) as server, gateway(whole_service(server.url)) as running:
        got = (await ask(running, headers=[("Accept", "text/event-stream")])).assert_valid()
        assert (got.text, got.status) == ("Hello", int(status[:3]))


async def test_client_that_left_before_the_comments_is_no_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = anyio.Event()

    async def begin() -> None:
        begun.set()
        raise ClientGone

    async def send(data: bytes) -> None:
        raise AssertionError(data)

    stream = quiet_stream.QuietStream(begin, send, [PINGS[0]])
    with anyio.fail_after(PATIENCE):
        await begun.wait()
    await stream.close()
    del stream
    gc.collect()
    assert caplog.records == [], "asyncio logs the error of a task that is never looked at"
