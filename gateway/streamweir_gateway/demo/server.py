"""Runs the demo backends: one for each dialect, each on a separate port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain
from typing import Final

from streamweir import Translator
from streamweir.codec.base import NO_OPTIONS, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.events import Interaction, Stamp
from streamweir.framing import MEDIA_TYPES, Frame, sse_writer, write_ndjson
from streamweir.jsontext import parse_json
from streamweir.metadata import unix_milliseconds
from streamweir_gateway.demo.given_answer import answer_in
from streamweir_gateway.demo.question import ask, cannot_ask, continue_with
from streamweir_gateway.demo.scenario import Scenario, scenario_of
from streamweir_gateway.demo_watchers import DemoWatchers
from streamweir_gateway.fake.request import Request
from streamweir_gateway.fake.script import Beat, failure, run_until_the_middle, the_rest
from streamweir_gateway.fake.server import serve_steps
from streamweir_gateway.fake.steps import Break, Pause, Raw, Send, Steps
from streamweir_gateway.fake.transfer import chunked

__all__ = ["serve_demos"]

STALL: Final = 180.0
"""The seconds after which a stalled demo gives up. This is longer than any sensible idle timeout."""

_REQUEST_ID: Final = "demo-request"


@asynccontextmanager
async def serve_demos(
    dialects: Iterable[Dialect], *, pace: float = 1.0, watchers: DemoWatchers | None = None
) -> AsyncIterator[Mapping[str, str]]:
    """Run a demo backend for each of `dialects`; yield the base URLs by dialect.

    Args:
        dialects: dialects that have an encoder.
        pace: the factor for all pauses; 0: no pauses.
        watchers: get the bytes that are sent, by request.
    """
    watchers = DemoWatchers() if watchers is None else watchers
    async with AsyncExitStack() as stack:
        yield {
            dialect.name: await stack.enter_async_context(_served(dialect, pace, watchers))
            for dialect in dialects
        }


@asynccontextmanager
async def _served(dialect: Dialect, pace: float, watchers: DemoWatchers) -> AsyncIterator[str]:
    encoder = _encoder_of(dialect)
    media_type = encoder.media_type or MEDIA_TYPES[encoder.framings[0]]

    def answer(request: Request) -> Steps:
        writer = _ScriptWriter(_encoder_of(dialect))
        yield Raw(_head(media_type))
        body = _body_for(request, dialect, writer, pace)
        yield from chunked(_reported(body, request, watchers), has_last=True)

    async with serve_steps(answer) as backend:
        yield backend.url


def _encoder_of(dialect: Dialect) -> Encoder:
    """Return an encoder.

    If the dialect has an option to write calls that were already run, it is set (Anthropic).
    """
    encoder = dialect.make_encoder(NO_OPTIONS)
    if "blocks" in encoder.option_values.get("tools", ()):
        encoder.options = {"tools": "blocks"}
    return encoder


def _head(media_type: str) -> bytes:
    lines = (
        "HTTP/1.1 200 OK",
        f"Content-Type: {media_type}",
        "Cache-Control: no-cache",
        "Transfer-Encoding: chunked",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _body_for(request: Request, dialect: Dialect, writer: _ScriptWriter, pace: float) -> Steps:
    """Play the run after an answer, if the request has one; else the run that the message names."""
    if given := answer_in(request.body, dialect.name):
        return _body("answer", continue_with(given), writer, pace)
    scenario = scenario_of(request.body)
    if scenario == "ask" and not _can_ask(dialect):
        return _body(scenario, cannot_ask(dialect.name), writer, pace)
    return _body(scenario, _script(scenario), writer, pace)


def _can_ask(dialect: Dialect) -> bool:
    """Return whether a decoder of the dialect reads the question back from the bytes of its encoder."""
    writer, reader = _ScriptWriter(_encoder_of(dialect)), Translator(speaks=dialect, framing="ndjson")
    asked = [data for _, data in writer.write(ask())]
    body = reader.feed(b"".join((*asked, writer.end()))) + reader.close()
    return any(parse_json(line)[0]["type"] == Interaction.type for line in body.splitlines())


def _body(scenario: Scenario, script: Iterator[Beat], writer: _ScriptWriter, pace: float) -> Steps:
    for pause, data in writer.write(script):
        yield Pause(pause * pace)
        yield Send(data)
    match scenario:
        case "answer" | "fail" | "ask":
            yield Send(writer.end())
        case "cut":
            yield Send(writer.half_an_event())
            yield Break("cut")
        case "stall":
            yield Pause(STALL)
            yield Break("cut")


def _reported(steps: Steps, request: Request, watchers: DemoWatchers) -> Steps:
    """Yield the steps, and report the bytes that they send to those who watch the request."""
    request_ids = request.values_of("x-request-id")
    for step in steps:
        if isinstance(step, Send) and request_ids:
            watchers.report(request_ids[0], step.data)
        yield step


def _script(scenario: Scenario) -> Iterator[Beat]:
    match scenario:
        case "answer":
            return chain(run_until_the_middle(), the_rest())
        case "fail":
            return chain(run_until_the_middle(), failure())
        case "cut" | "stall":
            return run_until_the_middle()
        case "ask":
            return ask()


class _ScriptWriter:
    """Encodes a script in one dialect. Events that the dialect cannot express are left out."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._bytes_of = sse_writer(encoder.sse_prefix) if encoder.framings[0] == "sse" else write_ndjson
        self._sequence = 0

    def write(self, script: Iterable[Beat]) -> Iterator[tuple[float, bytes]]:
        """Yield the bytes of each beat that the dialect can express, with the pause before it."""
        waited = 0.0
        for pause, event in script:
            waited += pause
            stamp = Stamp(_REQUEST_ID, self._sequence, unix_milliseconds())
            self._sequence += 1
            if data := self._joined(self._encoder.encode(event, stamp)):
                yield waited, data
                waited = 0.0

    def end(self) -> bytes:
        """Return the bytes after the last event."""
        return self._joined(self._encoder.close())

    def half_an_event(self) -> bytes:
        """Return the first half of the next event's bytes."""
        _, data = next(self.write(the_rest()))
        return data[: len(data) // 2]

    def _joined(self, frames: Iterable[Frame]) -> bytes:
        return b"".join(map(self._bytes_of, frames))
