"""The run to play, as events on the wire: the script, or a recorded body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, cycle, islice
from typing import Final, Literal, NamedTuple, TypeAlias

from streamweir.codec.base import Encoder, Options
from streamweir.codec.registry import process_dialects
from streamweir.events import (
    Content,
    Error,
    Event,
    Meta,
    SessionEnd,
    Stamp,
    Status,
    ToolCallEnd,
    ToolCallStart,
    Warning,
)
from streamweir.framing import Frame, sse_writer, write_ndjson
from streamweir_gateway.fake.script import run_until_the_middle, the_rest
from streamweir_gateway.fake.secrets import TEXT

__all__ = ["Framing", "Run", "WireEvent", "recorded_events"]

Framing: TypeAlias = Literal["sse", "ndjson"]

_BEGAN: Final = 1_790_000_000_000
"""The time of every event, in Unix milliseconds. It is constant, so that all runs have equal bytes."""

_TICK: Final = 30
_LINE_ENDS: Final = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)|(?<=\r\r)")


class WireEvent(NamedTuple):
    """The bytes of one event."""

    data: bytes
    is_end: bool = False
    """Whether the event belongs to the end of the run."""


class Run:
    """One run.

    Args:
        dialect: the dialect that is written.
        framing: the framing, which the real backends of the dialect need not use.
        options: the options of the dialect.
        events: the approximate number of events, reached by more or less text; None: the number in the
            script.
        replay: a recorded body to play instead of the script.
    """

    def __init__(
        self,
        dialect: str,
        framing: Framing,
        *,
        options: Options,
        events: int | None = None,
        replay: bytes | None = None,
    ) -> None:
        self.framing = framing
        self._encoder: Encoder = process_dialects().to_write(dialect).make_encoder(options)
        self._write = sse_writer(self._encoder.sse_prefix) if framing == "sse" else write_ndjson
        self._events = events
        self._replay = replay
        self._sequence = 0

    def events(self) -> Iterator[WireEvent]:
        """Yield the whole run."""
        if self._replay is not None:
            yield from recorded_events(self._replay, self.framing)
            return
        middle, rest = list(run_until_the_middle()), list(the_rest())
        script = [beat.event for beat in chain(middle, rest)]
        texts = [event for event in script if _is_text(event)]
        first = script.index(texts[0])
        tail = script[first + len(texts) :]
        yield from self.play(script[:first])
        yield from self.play(self._texts(texts, len(tail)))
        yield from self.play(tail)

    def play(self, events: Iterable[Event]) -> Iterator[WireEvent]:
        """Yield the bytes of `events`, which continue this run."""
        for event in events:
            stamp = Stamp("fake-request", self._sequence, _BEGAN + _TICK * self._sequence)
            for frame in self._encoder.encode(event, stamp):
                self._sequence += 1
                yield WireEvent(self._bytes_of(frame), isinstance(event, SessionEnd))
            if isinstance(event, SessionEnd):
                for frame in self._encoder.close():
                    yield WireEvent(self._bytes_of(frame), is_end=True)

    def text(self) -> Iterator[WireEvent]:
        """Yield a piece of text in addition to the script."""
        return self.play([Content("+", meta={"message_id": "demo-msg-1"})])

    def open_tool(self, number: int) -> Iterator[WireEvent]:
        """Yield the start of a tool call that has no end."""
        meta: Meta = {"run_id": f"fake-call-{number}"}
        arguments = {"city": "杭州", "number": number}
        call = ToolCallStart(
            tool_id=f"fake-call-{number}", tool_name="query_orders", arguments=arguments, meta=meta
        )
        return self.play([call])

    def error(self, *, ends: bool) -> Iterator[WireEvent]:
        """Yield an error with internal details and, if `ends`, the end of the run."""
        error = Error(
            error_type="execution",
            code="UPSTREAM_ERROR",
            message=TEXT,
            recoverable=True,
            reason="upstream_error",
            details={"trace": TEXT},
        )
        return self.play([error, SessionEnd("error", "upstream_error")] if ends else [error])

    def failures(self) -> Iterator[WireEvent]:
        """Yield a failed tool, a failed step and a warning, all with internal details."""
        meta: Meta = {"run_id": "fake-call", "node_id": "fake-node", "node_name": "fake"}
        return self.play(
            [
                Status(scope="node", state="started", name="fake", meta=meta),
                ToolCallStart(tool_id="fake-call", tool_name="query_orders", meta=meta),
                ToolCallEnd(
                    tool_id="fake-call",
                    status="failed",
                    error={"code": "TOOL_FAILED", "message": TEXT},
                    meta=meta,
                ),
                Status(scope="node", state="failed", name="fake", detail={"error": TEXT}, meta=meta),
                Warning(message=TEXT, message_code="FAKE", detail={"trace": TEXT}),
            ]
        )

    def _texts(self, texts: list[Event], tail: int) -> Iterator[Event]:
        if self._events is None:
            return iter(texts)
        return islice(cycle(texts), max(self._events - self._sequence - tail, 0))

    def _bytes_of(self, frame: Frame) -> bytes:
        return self._write(frame)


def recorded_events(body: bytes, framing: Framing) -> Iterator[WireEvent]:
    """Yield the events of a recorded body unchanged. The last event counts as the end of the run."""
    if framing == "sse":
        blocks = [block for block in _LINE_ENDS.split(body) if block]
    else:
        blocks = [line + b"\n" for line in body.split(b"\n") if line.strip()]
    for number, block in enumerate(blocks, 1):
        yield WireEvent(block, is_end=number == len(blocks))


def _is_text(event: Event) -> bool:
    return isinstance(event, Content) and bool(event.content)
