"""The library's client reconnects by itself: it yields every event once, in order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loopback import Gateway, gateway, settled
from patience import PROMPTLY
from scripted_upstream import LAST_CHUNK, SSE, Call, Upstream, chunk, upstream
from streamweir.client import (
    ConnectionFailed,
    RequestRejected,
    StreamRequest,
    StreamTruncated,
    stream_request,
)
from streamweir.events import Content, Error, SessionEnd

pytestmark = pytest.mark.anyio

WORDS = 60


async def words(call: Call) -> None:
    left = asyncio.create_task(call.until_closed())
    await call.send(SSE)
    for i in range(WORDS):
        await asyncio.wait([left], timeout=0.01)
        if left.done():
            return
        await call.send(chunk(b'data: {"type": "token", "content": "%d "}\n\n' % i))
    await call.send(chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)
    left.cancel()


class Cutter:
    """A proxy that cuts each connection after a given number of bytes, as often as there are numbers."""

    def __init__(self, target: tuple[str, int], cuts: list[int]) -> None:
        self.target = target
        self.cuts = cuts
        self.connections = 0
        self.url = ""
        self._copying: set[asyncio.Task[Any]] = set()

    async def closed(self) -> None:
        """End every connection that is left."""
        for task in self._copying:
            task.cancel()
        await asyncio.gather(*self._copying, return_exceptions=True)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._copying.add(task)
        self.connections += 1
        left = self.cuts.pop(0) if self.cuts else 1 << 30
        there_reader, there_writer = await asyncio.open_connection(*self.target)

        async def pump() -> None:
            while data := await reader.read(65536):
                there_writer.write(data)

        pumping = asyncio.create_task(pump())
        try:
            while left > 0 and (data := await there_reader.read(min(left, 65536))):
                left -= len(data)
                writer.write(data)
                await writer.drain()
        finally:
            pumping.cancel()
            there_writer.transport.abort()
            if left <= 0:
                writer.transport.abort()
            else:
                writer.close()


@asynccontextmanager
async def cut(cuts: list[int], resume: str = "on") -> AsyncIterator[tuple[Cutter, Upstream, Gateway]]:
    async with upstream(words) as server:
        config = settled(endpoints={"/chat": {"upstream": server.url, "speaks": "legacy", "resume": resume}})
        async with gateway(config) as running:
            cutter = Cutter(running.address, cuts)
            listening = await asyncio.start_server(cutter, "127.0.0.1", 0)
            port = listening.sockets[0].getsockname()[1]
            cutter.url = f"http://127.0.0.1:{port}/chat"
            async with listening:
                yield cutter, server, running
            await cutter.closed()


async def test_client_with_breaking_connections_yields_every_event_once() -> None:
    async with cut([3000, 2000, 700, 4000, 900]) as (cutter, server, _):
        events = stream_request(cutter.url, json={})
        received = [event async for event in events]
    assert [event.metadata.sequence for event in received] == list(range(len(received)))
    text = "".join(event.data.content for event in received if isinstance(event.data, Content))
    assert text == "".join(f"{i} " for i in range(WORDS))
    assert received[-1].type == "session_end"
    assert events.resumes >= 3
    assert events.run is not None
    assert len(server.calls) == 1


async def test_client_with_its_own_handle_joins_its_run_before_any_answer() -> None:
    async with cut([0, 0, 2500]) as (cutter, server, _):
        events = stream_request(cutter.url, json={}, resume=True)
        received = [event async for event in events]
    assert [event.metadata.sequence for event in received] == list(range(len(received)))
    assert len(server.calls) == 1
    assert cutter.connections >= 3


@pytest.mark.parametrize("resume", [None, True])
async def test_client_that_reconnected_applies_idle_and_not_first_event_to_silence(
    resume: bool | None,
) -> None:
    goes_on = asyncio.Event()

    async def pausing(call: Call) -> None:
        await call.send(SSE, chunk(b'data: {"type": "token", "content": "Hello"}\n\n'))
        await goes_on.wait()
        await call.send(chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)

    async with upstream(pausing) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", "resume": "on", "heartbeat": "off"}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            url = "http://{}:{}/chat".format(*running.address)
            timeouts = {"connect": "100ms", "first_event": "100ms", "idle": "200ms"}
            events = stream_request(url, json={}, resume=resume, timeouts=timeouts)
            received = asyncio.create_task(_all(events))
            async with asyncio.timeout(PROMPTLY):
                while events.resumes < 2:
                    assert not received.done(), received
                    await asyncio.sleep(0.01)
            goes_on.set()
            await received


@pytest.mark.parametrize(
    ("statuses", "resume", "raised"),
    [
        ([503, 429], True, None),
        ([503], None, RequestRejected),
        ([503] * 99, True, StreamTruncated),
        ([500], True, RequestRejected),
    ],
)
async def test_client_repeats_a_busy_request_only_with_a_handle(
    statuses: list[int], resume: bool | None, raised: type[Exception] | None
) -> None:
    async with cut([]) as (cutter, server, _):
        waiting = list(statuses)

        async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if not waiting:
                await cutter(reader, writer)
                return
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 {waiting.pop(0)} Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n"
            writer.write(head.encode() + b"Connection: close\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(busy, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            url, timeouts = f"http://127.0.0.1:{port}/chat", {"resume": "500ms" if raised else "20s"}
            events = stream_request(url, json={}, resume=resume, timeouts=timeouts)
            if raised is None:
                await _all(events)
                assert len(server.calls) == 1
            else:
                with pytest.raises(raised):
                    await _all(events)


@pytest.mark.parametrize("option", [None, False])
async def test_client_without_a_run_raises_stream_truncated(option: bool | None) -> None:
    async with cut([3000], "off" if option is None else "on") as (cutter, _, _):
        events = stream_request(cutter.url, json={}, resume=option)
        with pytest.raises((StreamTruncated, ConnectionFailed)):
            await _all(events)
        assert events.resumes == 0


async def test_client_without_exceptions_yields_error_events_when_it_gives_up() -> None:
    async with cut([1500, *[0] * 50]) as (cutter, _, _):
        events = stream_request(cutter.url, json={}, raise_errors=False, timeouts={"resume": "1s"})
        received = [event async for event in events]
    assert [event.type for event in received[-2:]] == ["error", "session_end"]
    assert isinstance(received[-2].data, Error)
    assert events.resumes >= 2


async def test_client_cancel_stops_the_run() -> None:
    async with cut([]) as (cutter, server, _):
        async with stream_request(cutter.url, json={}) as events:
            async for event in events:
                if event.type == "content":
                    assert await events.cancel() == "cancelled"
        assert isinstance(event.data, SessionEnd)
        assert (event.data.status, event.data.reason) == ("cancelled", "cancelled")
        async with asyncio.timeout(PROMPTLY):
            while not server.call.closed.is_set():  # noqa: ASYNC110 (the script sets it when it looks)
                await asyncio.sleep(0.01)


async def _all(events: StreamRequest) -> None:
    async for _ in events:
        pass
