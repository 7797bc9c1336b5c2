"""The demo backends: one for each dialect, each at a port of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import chain
from typing import Final

from streamweir.codec.registry import encoder_class
from streamweir.events import Stamp
from streamweir.framing import MEDIA_TYPES
from streamweir.translation.open_writer import Writer, open_writer
from streamweir_gateway.demo.scenario import Scenario, scenario_of
from streamweir_gateway.fake.request import Request
from streamweir_gateway.fake.script import Beat, failure, run_until_the_middle, the_rest
from streamweir_gateway.fake.server import serve_steps
from streamweir_gateway.fake.steps import Break, Pause, Raw, Send, Steps
from streamweir_gateway.fake.transfer import chunked

__all__ = ["serve_demos"]

STALL: Final = 180.0
"""Seconds without a word before a stalled demo gives up: longer than any sensible idle timeout."""

_REQUEST_ID: Final = "demo-request"


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
    framing = encoder_class(dialect).framings[0]
    open_run = partial(open_writer, dialect, framing, request_id=_REQUEST_ID)

    def answer(request: Request) -> Steps:
        yield Raw(_head(MEDIA_TYPES[framing]))
        yield from chunked(_body(scenario_of(request.body), _ScriptWriter(open_run()), pace), has_last=True)

    async with serve_steps(answer) as backend:
        yield backend.url


def _head(media_type: str) -> bytes:
    lines = (
        "HTTP/1.1 200 OK",
        f"Content-Type: {media_type}",
        "Cache-Control: no-cache",
        "Transfer-Encoding: chunked",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _body(scenario: Scenario, writer: _ScriptWriter, pace: float) -> Steps:
    for pause, data in writer.write(_script(scenario)):
        yield Pause(pause * pace)
        yield Send(data)
    match scenario:
        case "answer" | "fail":
            yield Send(writer.end())
        case "cut":
            yield Send(writer.half_an_event())
            yield Break("cut")
        case "stall":
            yield Pause(STALL)
            yield Break("cut")


def _script(scenario: Scenario) -> Iterator[Beat]:
    match scenario:
        case "answer":
            return chain(run_until_the_middle(), the_rest())
        case "fail":
            return chain(run_until_the_middle(), failure())
        case "cut" | "stall":
            return run_until_the_middle()


class _ScriptWriter:
    """The beats of a script as bytes in one dialect."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._sequence = 0

    def write(self, script: Iterable[Beat]) -> Iterator[tuple[float, bytes]]:
        """Yield the bytes of each beat that the dialect has a word for, with the pause before them."""
        waited = 0.0
        for pause, event in script:
            waited += pause
            stamp = Stamp(_REQUEST_ID, self._sequence, time.time_ns() // 1_000_000)
            self._sequence += 1
            self._writer.write(event, stamp)
            if data := self._writer.take():
                yield waited, data
                waited = 0.0

    def end(self) -> bytes:
        """Return what follows the last event."""
        self._writer.finish()
        return self._writer.take()

    def half_an_event(self) -> bytes:
        """Return the beginning of the bytes that would come next."""
        _, data = next(self.write(the_rest()))
        return data[: len(data) // 2]
