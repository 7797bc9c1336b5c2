"""The demo backends' HTTP servers.

aiohttp's server and not the gateway's own: it leaves signals and logging alone, so that any number of them
live beside the gateway in one process, and it lets a connection be cut in the middle of a chunk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from typing import Final

from aiohttp import web

from streamweir.dialects.base import NO_OPTIONS
from streamweir.dialects.registry import encoder_class
from streamweir.events import Stamp
from streamweir.output import MEDIA_TYPES, Output, open_output
from streamweir_gateway.demo.mood import Mood, mood_of
from streamweir_gateway.demo.script import Beat, failure, run_until_the_middle, the_rest

__all__ = ["serve_demos"]

STALL: Final = 180.0
"""Seconds without a word before a stalled demo gives up: longer than any sensible idle timeout."""

_GOODBYE: Final = 0.1
"""Seconds that running answers get when the demos stop."""


@asynccontextmanager
async def serve_demos(dialects: Iterable[str], *, pace: float = 1.0) -> AsyncIterator[Mapping[str, str]]:
    """Run one demo backend for each of `dialects`; yield the base URL of each.

    Args:
        pace: factor of all pauses; 0 plays the run without any.

    Raises:
        UnknownDialectError: nobody can write one of the dialects.
    """
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(_served(name, pace)) for name in dict.fromkeys(dialects)}


@asynccontextmanager
async def _served(dialect: str, pace: float) -> AsyncIterator[str]:
    backend = _Backend(dialect, pace)
    app = web.Application(client_max_size=16 << 20)
    app.router.add_route("*", "/{any:.*}", backend.answer)
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=_GOODBYE
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        _host, port = runner.addresses[0][:2]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


class _Backend:
    """Answers every request with the scripted run in one dialect."""

    def __init__(self, dialect: str, pace: float) -> None:
        self._dialect = dialect
        self._pace = pace
        self._framing = encoder_class(dialect).framings[0]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        mood = mood_of(await request.read())
        response = web.StreamResponse(
            headers={"Content-Type": MEDIA_TYPES[self._framing], "Cache-Control": "no-cache"}
        )
        await response.prepare(request)
        writer = _Writer(
            open_output(self._dialect, self._framing, request_id="demo-request", options=NO_OPTIONS)
        )
        for pause, data in writer.write(_script(mood)):
            await asyncio.sleep(pause * self._pace)
            await response.write(data)
        match mood:
            case "cut":
                _cut(request, writer.half_an_event())
            case "stall":
                await asyncio.sleep(STALL)
                _cut(request, b"")
            case _:
                await response.write_eof(writer.end())
        return response


class _Writer:
    """The beats of a script as bytes in one dialect."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._sequence = 0

    def write(self, script: Iterable[Beat]) -> Iterator[tuple[float, bytes]]:
        """Yield the bytes of each beat that the dialect has a word for, with the pause before them."""
        waited = 0.0
        for pause, event in script:
            waited += pause
            stamp = Stamp("demo-request", self._sequence, time.time_ns() // 1_000_000)
            self._sequence += 1
            data = self._output.write(event, stamp)
            if data:
                yield waited, data
                waited = 0.0

    def end(self) -> bytes:
        """Return what follows the last event."""
        return self._output.finish()

    def half_an_event(self) -> bytes:
        """Return the beginning of the bytes that would come next."""
        _, data = next(self.write(the_rest()))
        return data[: len(data) // 2]


def _script(mood: Mood) -> Iterator[Beat]:
    match mood:
        case "answer":
            return chain(run_until_the_middle(), the_rest())
        case "fail":
            return chain(run_until_the_middle(), failure())
        case "cut" | "stall":
            return run_until_the_middle()


def _cut(request: web.Request, half: bytes) -> None:
    """Close the connection within an HTTP chunk that promises more than `half`."""
    if request.transport is not None:
        request.transport.write(b"%x\r\n%s" % (len(half) + 64, half))
        request.transport.close()
