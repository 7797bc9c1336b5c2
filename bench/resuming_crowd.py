"""Many runs with two readers each: does everybody get everything, and what does it take in memory?"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from scenarios import resident_kb

from streamweir.codec.dialects import Dialects
from streamweir.runs.event_log import EventLog
from streamweir.runs.stored_event import Source
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader

__all__ = ["measure_crowd"]

RUNS: Final = 1000
READERS: Final = 2
EVENTS: Final = 100
BACKEND: Final = f"n={EVENTS}&delay=400000&bytes=200"
BEHIND: Final = 80
"""Memory is read when each reader has had so many events of its run, and none is over."""

STORED_TIMES: Final = 1.5
READER_KB: Final = 40
_RUN: Final = re.compile(rb"x-streamweir-run: (\S+)", re.IGNORECASE)
_TEXT: Final = re.compile(rb"@S[0-9]{8},[0-9]{19}@")


class _Crowd:
    """Those who read: how far they are, and what they got."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.far = 0
        self.all_far = asyncio.Event()
        self.bodies: list[bytes] = []

    async def run(self) -> None:
        """Start a run, read it, and let others read it from its start."""
        text = f"BENCH[{BACKEND}]"
        body = f'{{"messages":[{{"role":"user","content":"{text}"}}]}}'.encode()
        head = (
            b"POST /chat HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
        )
        reader, writer = await self._connected(head % len(body) + b"connection: close\r\n\r\n" + body)
        handle = _RUN.search(await reader.readuntil(b"\r\n\r\n"))
        assert handle is not None, "no run"
        await asyncio.gather(self._read(reader, writer), *(self._join(handle[1]) for _ in range(READERS - 1)))

    async def _join(self, handle: bytes) -> None:
        reader, writer = await self._connected(
            b"GET /-/runs/%b HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n" % handle
        )
        await reader.readuntil(b"\r\n\r\n")
        await self._read(reader, writer)

    async def _connected(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        return reader, writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body, is_far = bytearray(), False
        while data := await reader.read(1 << 16):
            body += data
            if not is_far and body.count(b"@S") >= BEHIND:
                is_far = True
                self._note_far()
        if not is_far:
            self._note_far()
        writer.close()
        self.bodies.append(bytes(body))

    def _note_far(self) -> None:
        self.far += 1
        if self.far == RUNS * READERS:
            self.all_far.set()


def measure_crowd(port: int, pid: int) -> dict[str, Any]:
    """Return who got all, and what the process took for it beside what is stored."""
    return asyncio.run(_measure(port, pid))


async def _measure(port: int, pid: int) -> dict[str, Any]:
    before = resident_kb(pid)
    crowd = _Crowd(port)
    runs = asyncio.gather(*(crowd.run() for _ in range(RUNS)))
    async with asyncio.timeout(300):
        await crowd.all_far.wait()
        grown = resident_kb(pid) - before
        await runs
    stored = RUNS * _stored_bytes(crowd.bodies[0]) / 1024
    return {
        "readers": RUNS * READERS,
        "whole": sum(len(_TEXT.findall(body)) == EVENTS for body in crowd.bodies),
        "stored_kb": stored,
        "grown_kb": grown,
        "allowed_kb": STORED_TIMES * stored + READER_KB * RUNS * READERS,
    }


def _stored_bytes(body: bytes) -> int:
    """Return the bytes of the events that a run was stored as, by what its client got."""
    chunks = re.sub(rb"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n", b"", body)
    reader = StreamReader("standard", dialects=Dialects.built_in())
    log = EventLog(Source)
    stream = StreamNormalizer(reader, Pipeline((log,), request_id="req_bench"))
    stream.feed(chunks)
    stream.close()
    batch = log.take()
    return 0 if batch is None else batch.size
