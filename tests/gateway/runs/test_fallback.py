"""Several upstreams: the next one is asked until one has sent an event."""

import asyncio
import socket
from typing import Any

import pytest

from loopback import ask, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, Script, answer, chunk, upstream
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

GOOD = SSE.replace(b"\r\n\r\n", b"\r\nX-From: second\r\n\r\n") + b"".join(map(chunk, HELLO)) + LAST_CHUNK
TOKEN, _, DONE = HELLO
TIMEOUTS = {"connect": "300ms", "first_event": "300ms", "idle": "5s"}


def a_list(*urls: str, speaks: str = "legacy", **options: Any) -> GatewayConfig:
    """`/chat` before these upstreams, in this order."""
    options = {"timeouts": TIMEOUTS, "forward_response_headers": ["X-From"], **options}
    return settled(endpoints={"/chat": {"upstream": list(urls), "speaks": speaks, **options}})


async def silent(call: Call) -> None:
    await call.until_closed()


async def only_comments(call: Call) -> None:
    await call.send(SSE, *[chunk(b": wait\n\n")] * 100, pause=0.02)


async def reset(call: Call) -> None:
    call.reset()


@pytest.mark.parametrize(
    "first",
    [
        answer(b"", status="500 Broken"),
        answer(b"", status="503 Busy"),
        answer(b"", status="401 Who"),
        answer(b"", "Location: /elsewhere", status="302 Found"),
        answer(b"<html>no</html>", "Content-Type: text/html"),
        answer(b"hello", "Content-Type: text/plain"),
        b"nonsense\r\n\r\n",
        b"",
        SSE.replace(b"\r\n\r\n", b"\r\nX-From: first\r\n\r\n") + LAST_CHUNK,
        SSE + chunk(b": hi\n\n") + chunk(b"data: {\n\n"),
        SSE + chunk(b"data: {\n\n" * 200),
        SSE + b"zz\r\n",
        reset,
        silent,
        only_comments,
    ],
    ids=[
        *("500", "503", "401", "redirect", "html", "text", "not http", "closed", "empty", "cut off"),
        *("malformed", "bad chunks", "reset", "silent", "comments"),
    ],
)
async def test_failure_before_the_first_event_asks_the_next_upstream(first: Script | bytes) -> None:
    async with (
        upstream(first) as one,
        upstream(GOOD) as two,
        gateway(a_list(one.url, two.url)) as running,
    ):
        got = await ask(running, body=b"{}")
        assert got.assert_valid().text == "Hello"
        assert got.types == ["session_start", "content", "content", "content", "session_end"]
        assert [value for name, value in got.headers if name == "x-from"] == ["second"]
        assert (one.connections, two.connections) == (1, 1)
        line = await running.log.next_line()
        assert (line["attempts"], line["upstream"], line["reason"]) == (2, two.url, "done")


async def test_refused_connection_asks_the_next_upstream() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with upstream(GOOD) as two, gateway(a_list(f"http://127.0.0.1:{port}", two.url)) as running:
        assert (await ask(running)).assert_valid().text == "Hello"


async def test_upstreams_of_a_list_can_have_different_dialects() -> None:
    standard = (
        b'data: {"type": "content", "data": {"content": "Hi"}, "metadata": {"message_id": "m"}}\n\n'
        b'data: {"type": "session_end", "data": {"status": "completed", "reason": "done"}}\n\n'
    )
    async with upstream(answer(b"", status="500 No")) as one, upstream(SSE + chunk(standard)) as two:
        config = settled(
            upstreams={
                "old": {"url": one.url, "speaks": "legacy", "headers": {"X-Key": "one"}},
                "new": {"url": two.url, "speaks": "standard", "headers": {"X-Key": "two"}},
            },
            endpoints={"/chat": {"upstream": ["old", "new"]}},
        )
        async with gateway(config) as running:
            got = await ask(running)
            line = await running.log.next_line()
    assert got.assert_valid().text == "Hi"
    assert (one.call.header("x-key"), two.call.header("x-key")) == ("one", "two")
    assert (line["upstream"], line["speaks"]) == ("new", "standard")


async def test_connection_of_a_given_up_attempt_is_closed() -> None:
    async with (
        upstream(silent) as one,
        upstream(SSE + chunk(TOKEN)) as two,
        gateway(a_list(one.url, two.url)) as running,
    ):
        await ask(running)
        async with asyncio.timeout(PROMPTLY):
            await one.call.closed.wait()


async def test_error_event_is_an_answer_and_not_followed() -> None:
    error = SSE + chunk(b'data: {"type": "error", "content": "no"}\n\n') + LAST_CHUNK
    async with upstream(error) as one, upstream(GOOD) as two, gateway(a_list(one.url, two.url)) as running:
        got = await ask(running)
        assert got.assert_valid().end["status"] == "error"
        assert two.connections == 0


async def test_attempt_with_an_event_is_never_followed() -> None:
    async with (
        upstream(SSE + chunk(TOKEN)) as one,
        upstream(GOOD) as two,
        gateway(a_list(one.url, two.url)) as running,
    ):
        got = await ask(running)
        assert got.assert_valid().end["reason"] == "truncated"
        assert two.connections == 0


async def test_last_failure_is_reported() -> None:
    async with (
        upstream(answer(b"", status="500 No")) as one,
        upstream(answer(b"", status="404 No")) as two,
        gateway(a_list(one.url, two.url)) as running,
    ):
        got = await ask(running)
        assert got.assert_valid()
        assert got.error is not None
        assert got.error["code"] == "NOT_FOUND"
        folded = await ask(running, headers=[("Accept", "application/json")])
        assert (folded.status, folded.json["error"]["code"]) == (502, "NOT_FOUND")


async def test_first_event_timeout_starts_anew_for_each_attempt() -> None:
    async def late(call: Call) -> None:
        await asyncio.sleep(0.8)
        await call.send(GOOD)

    async with (
        upstream(silent) as one,
        upstream(late) as two,
        gateway(a_list(one.url, two.url, timeouts={**TIMEOUTS, "first_event": "1500ms"})) as running,
    ):
        assert (await ask(running)).assert_valid().text == "Hello"


async def test_total_timeout_counts_over_all_attempts() -> None:
    timeouts = {"connect": "300ms", "first_event": "300ms", "idle": "300ms", "total": "400ms"}
    async with (
        upstream(silent) as one,
        upstream(silent) as two,
        upstream(GOOD) as three,
        gateway(a_list(one.url, two.url, three.url, timeouts=timeouts)) as running,
    ):
        got = await ask(running)
        assert got.assert_valid().end["reason"] == "total_timeout"
        assert three.connections == 0


async def test_client_that_leaves_ends_all_attempts() -> None:
    async with (
        upstream(answer(b"", status="500 No")) as one,
        upstream(silent) as two,
        gateway(a_list(one.url, two.url, timeouts={**TIMEOUTS, "first_event": "5s"})) as running,
    ):
        async with client(running) as connected:
            connected.send()
            async with asyncio.timeout(PROMPTLY):
                await two.called.wait()
            connected.leave()
            async with asyncio.timeout(PROMPTLY):
                line = await running.log.next_line()
                await two.call.closed.wait()
        assert line["reason"] == "client_gone"
        assert line["attempts"] == 2
        assert len(running.streams) == 0


async def test_headers_sent_with_a_heartbeat_do_not_change() -> None:
    async with (
        upstream(silent) as one,
        upstream(GOOD) as two,
        gateway(a_list(one.url, two.url, heartbeat="50ms")) as running,
    ):
        got = await ask(running)
        assert got.assert_valid().text == "Hello"
        assert got.pieces[0] == b": ping\n"
        assert got.header("x-from") is None
