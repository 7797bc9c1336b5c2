"""Counts the streams under way in a process, ends them at a drain, and reports them to watchers.

state    entered by                                  what happens
──────   ─────────────────────────────────────────   ─────────────────────────────────────────────────
opened   `LiveStreams.open`, a request that may      a recorder is made, if the process has a console
         become a stream
live     the first attempt                           watchers are called, taps are made
closed   `close`                                     `on_end` callbacks are called, taps are finished
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from starlette.types import Scope

from streamweir.codec.base import Options
from streamweir.errors import error_info
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventTap
from streamweir.translation.taps import TapMaker, Taps, TapSink, attach, taps_for
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.run_supervisor import Stop
from streamweir_gateway.runs.stream_recorder import AttemptFacts, StreamRecorder

__all__ = ["LiveStream", "LiveStreams", "RecorderMaker"]

logger = logging.getLogger("streamweir.gateway")


RecorderMaker: TypeAlias = Callable[[RequestRecord, Scope], StreamRecorder]
"""Makes the recorder for a request that may become a stream."""


class UnderWay(Protocol):
    """The supervisor of a stream or of a relayed exchange."""

    def leave_upstream(self, stop: Stop) -> None:
        """End reading from the upstream, so that the client gets a proper end of the stream."""


class LiveStreams:
    """The streams and relayed exchanges of a process.

    Attributes:
        draining: whether the process refuses new requests.
        make_recorder: makes the recorder of each request that may become a stream; None: no request is
            recorded.
        add: counts a stream or an exchange as under way, by its supervisor; `drain` will end it.
        discard: stops counting a stream or an exchange.
    """

    def __init__(self) -> None:
        self.draining = False
        self.make_recorder: RecorderMaker | None = None
        self._running: set[UnderWay] = set()
        self.add: Final = self._running.add
        self.discard: Final = self._running.discard
        self._watchers: list[Callable[[LiveStream], None]] = []

    def __len__(self) -> int:
        return len(self._running)

    def watch(self, on_begin: Callable[[LiveStream], None]) -> None:
        """Call `on_begin` with every stream that becomes live from now on.

        An exception from `on_begin` is logged.
        """
        self._watchers.append(on_begin)

    def open(
        self,
        record: RequestRecord,
        scope: Scope,
        makers: Sequence[TapMaker] = (),
        *,
        is_recorded: bool = True,
    ) -> LiveStream:
        """Return a new stream for a request; the caller closes the stream.

        Args:
            record: the record of the request.
            scope: the ASGI scope of the request, for the makers of taps.
            makers: functions that make the taps of every stream.
            is_recorded: whether the stream gets a recorder, if the process has a console.
        """
        recorder = self.recorder(record, scope) if is_recorded else None
        return LiveStream(self, record, scope, makers, recorder)

    def recorder(self, record: RequestRecord, scope: Scope) -> StreamRecorder | None:
        """Return a recorder for a request that may become or read a stream; None without a console."""
        return None if self.make_recorder is None else self.make_recorder(record, scope)

    def began(self, stream: LiveStream) -> None:
        """Call the watchers with a stream that became live."""
        for on_begin in self._watchers:
            try:
                on_begin(stream)
            except Exception:
                logger.exception("a watcher of streams raised")

    def refuse(self) -> None:
        """Refuse new requests from now on."""
        self.draining = True

    def drain(self) -> None:
        """Send every stream under way to its proper end."""
        self.draining = True
        for supervisor in tuple(self._running):
            supervisor.leave_upstream(error_info("GATEWAY_DRAINING"))


class LiveStream:
    """One stream of one request, through all its attempts. The docstring of this file lists its states.

    The taps get the same events as the client. Events of an attempt are held until no other attempt may
    follow, and are dropped if another attempt follows.

    Attributes:
        record: the record of the request; filled in during the stream.
        reader: reads the answer of the present attempt; None before the first attempt.
        pipeline: makes the events of the present attempt; None before the first attempt.
        recorder: keeps the data that the console shows of the stream; None without a console.
    """

    __slots__ = (
        "_makers",
        "_on_end",
        "_scope",
        "_sink",
        "_streams",
        "_supervisor",
        "_taps",
        "pipeline",
        "reader",
        "record",
        "recorder",
    )

    def __init__(
        self,
        streams: LiveStreams,
        record: RequestRecord,
        scope: Scope,
        makers: Sequence[TapMaker],
        recorder: StreamRecorder | None,
    ) -> None:
        self.record = record
        self.reader: StreamReader | None = None
        self.pipeline: Pipeline | None = None
        self.recorder = recorder
        self._streams = streams
        self._scope = scope
        self._makers = makers
        self._taps: Taps | None = None
        self._sink: TapSink | None = None
        self._supervisor: UnderWay | None = None
        self._on_end: Sequence[Callable[[], None]] = ()

    # For watchers and taps

    def add_tap(self, tap: EventTap) -> None:
        """Add a tap to the live stream; the tap gets all events that follow."""
        assert self.reader is not None, "a stream that is live"
        if self._taps is None:
            self._taps = Taps()
        self._taps.add(tap)
        if self._sink is None and self.reader is not None and self.pipeline is not None:
            self._sink = self._open_sink(self.reader, self.pipeline)

    def on_end(self, callback: Callable[[], None]) -> None:
        """Register `callback` to be called when the stream is over."""
        self._on_end = (*self._on_end, callback)

    # For the run

    def supervise(self, supervisor: UnderWay) -> None:
        """Count the stream as under way; `supervisor` ends it at a drain."""
        self._supervisor = supervisor
        self._streams.add(supervisor)

    def begin(self, reader: StreamReader, pipeline: Pipeline) -> TapSink | None:
        """Begin another attempt, before its first event.

        Return the sink of the taps; None if there are no taps.
        """
        is_first = self.reader is None
        self.reader, self.pipeline, self._sink = reader, pipeline, None
        if is_first and self._makers:
            self._taps = taps_for(self._makers, self._scope)
        if self._taps:
            self._sink = self._open_sink(reader, pipeline)
        if is_first:
            self._streams.began(self)
        return self._sink

    def attempt_began(
        self,
        attempt: int,
        destination: Destination,
        stream: StreamNormalizer,
        options: Mapping[str, Options],
    ) -> None:
        """Tell the taps and the recorder that an upstream is asked.

        Args:
            attempt: its number, from 1.
            destination: the upstream.
            stream: translates the answer of the upstream.
            options: the options of each dialect, by its name.
        """
        if self.recorder is not None:
            self.recorder.attempt_began(attempt, destination, stream, options)
        if self._taps:
            self._taps.call(lambda tap: tap.attempt_began(attempt, destination.label))

    def attempt_ended(self, attempt: int, facts: AttemptFacts) -> None:
        """Tell the taps and the recorder that an attempt has ended."""
        if self.recorder is not None:
            self.recorder.attempt_ended(attempt, facts.stream.pipeline.error, facts)
        if self._taps:
            error = facts.stream.pipeline.error
            code = None if error is None else error.code
            self._taps.call(lambda tap: tap.attempt_ended(attempt, code))

    def choose(self, sink: TapSink | None) -> None:
        """Give the taps the held events of the attempt whose stream the client gets."""
        self._sink = sink or self._sink
        if self._sink is not None:
            self._sink.release()

    def close(self) -> None:
        """Finish the taps and call the `on_end` callbacks, because the stream has ended."""
        if self._supervisor is not None:
            self._streams.discard(self._supervisor)
        if self._sink is not None:
            self._sink.release()
        if self._taps is not None:
            self._taps.finish()
        for callback in self._on_end:
            try:
                callback()
            except Exception:
                logger.exception("the end of a stream could not be reported")
        self._on_end = ()

    def _open_sink(self, reader: StreamReader, pipeline: Pipeline) -> TapSink:
        assert self._taps is not None
        return attach(self._taps, reader, pipeline, is_held=not pipeline.started, ends_taps=False)
