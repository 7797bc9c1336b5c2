"""One stream from upstream bytes to valid events: a reader, a pipeline, and how a stream ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.errors import ErrorInfo, LimitExceeded, NotTheDialect, Reason
from streamweir.events import Event, SessionEnd
from streamweir.stages import error_event
from streamweir.translation.items import StreamItem
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.reading.surroundings import Surroundings
from streamweir.translation.verbatim.frame_copy import FrameCopy
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["StreamNormalizer"]

HEAD_BYTES: Final = 4096
"""So much of a stream is kept while nothing of it has been understood."""

_OURS: Final = frozenset({"draining", "internal", "limit"})
"""Failures on our side of the connection: what the upstream has said so far does not make them complete."""


class StreamNormalizer:
    """Bytes in, valid events to sinks: `feed` it what arrives, then `close`, `fail` or `cancel` it.

    Nothing is raised, whatever arrives, and nothing happens after the end.

    Args:
        reader: of the stream.
        pipeline: of the stream.
        verbatim: writes for a client that may have the frames as they came, if there is one.

    Attributes:
        reader: what the upstream has said so far.
        pipeline: what has become of it.
        bytes: how many have arrived.
        head: the first of them, up to the first that the dialect has understood.
    """

    def __init__(
        self, reader: StreamReader, pipeline: Pipeline, verbatim: VerbatimWriter | None = None
    ) -> None:
        self.reader = reader
        self.pipeline = pipeline
        self.bytes = 0
        self.head = b""
        self._keeps_head = True
        self._position = pipeline.position
        self._clock = pipeline.clock
        self._limit = reader.limits.stream_bytes
        self._copy = None if verbatim is None else FrameCopy(reader, pipeline, verbatim)
        pipeline.closing_warnings.append(reader.closing_warnings)
        pipeline.watch_silence(reader.silence_warning)

    @property
    def started(self) -> bool:
        """An event has come from the upstream."""
        return self.reader.started

    @property
    def complete(self) -> bool:
        """There is soft evidence of the end: silence from here on is no failure."""
        return self.reader.complete or self.pipeline.has_failed

    @property
    def waits(self) -> bool:
        """A person is asked, and the upstream may go on: silence is no end of the stream, and no failure."""
        pauses = self.reader.pauses
        if pauses is not None:
            return pauses
        return self.pipeline.pauses and not self.reader.complete

    def feed(self, data: bytes) -> None:
        """Take what has arrived from the upstream."""
        position = self._position
        if position.ended:
            return
        position.now = self._clock()
        self.bytes = total = self.bytes + len(data)
        if self._keeps_head:
            self._keep_head(data)
        is_too_large = total > self._limit
        if is_too_large:
            data = data[: max(0, self._limit - total + len(data))]
        around = self.reader.around
        if self._copy is not None:
            self._copy.feed(data)
        elif around is None or not self._takes_text(data, around):
            self.pipeline.take(self.reader.feed(data))
        if is_too_large:
            self.settle()
            self._give_over()
            self.pipeline.end_for(LimitExceeded("a stream is larger than allowed"))

    def _keep_head(self, data: bytes) -> None:
        self.head += data[: HEAD_BYTES - len(self.head)]
        self._keeps_head = not self.reader.has_understood and len(self.head) < HEAD_BYTES

    def read_message(self, data: bytes) -> None:
        """Take one whole message of the dialect, which is no piece of a body."""
        self.bytes += len(data)
        self.pipeline.tick()
        self._give_over()
        self.pipeline.take(self.reader.read_message(data))

    def push(self, item: StreamItem) -> None:
        """Take an event that was not read."""
        self.pipeline.tick()
        self.pipeline.take(self.reader.frames.release())
        self.pipeline.push(item)

    def reject(self) -> None:
        """Take note that something has come which is no event, in another way than as bytes."""
        self.pipeline.tick()
        self.pipeline.take(self.reader.reject())

    def close(self) -> None:
        """The body has ended properly: what is missing of the stream, if anything, is an error."""
        self.pipeline.tick()
        self.read_rest()
        self._conclude()

    def close_returned(self) -> None:
        """A function of this process has returned, whose return is the end of what it has sent.

        Unless it stopped within an event. Text in another dialect than the standard needs its terminal
        evidence all the same.
        """
        self.pipeline.tick()
        self.read_rest()
        reader = self.reader
        if not reader.cut_off and (reader.speaks_standard or not reader.has_text):
            self.pipeline.end()
        self._conclude()

    def read_rest(self) -> None:
        """Read what the end of the body completes, which is not the end of the stream yet."""
        if self._copy is not None:
            self._copy.close()
        else:
            self.pipeline.take(self.reader.close())

    def settle(self) -> bool:
        """Return whether the stream has ended but for the rest of its body, and end it if so."""
        if self._copy is None or not self._copy.has_ended:
            return False
        self._copy.settle()
        return True

    def fail(self, info: ErrorInfo) -> None:
        """The body broke off, or is not to be read on: end the stream with an error.

        One with evidence of its end, or that waits for a person, is complete all the same. A call that the
        client is to run is no such evidence: the upstream may have meant to make another one.
        """
        self.pipeline.tick()
        self.settle()
        if info.reason not in _OURS:
            self._take_rest(info)
            if self.reader.complete or self.pipeline.waits_for_person:
                self._take_last_words()
        self._give_over()
        self.pipeline.end(info)

    def cancel(self, reason: Reason = "cancelled") -> None:
        """The run was stopped on request: end the stream, which is no error."""
        self.pipeline.tick()
        self.settle()
        self._give_over()
        self.pipeline.cancel(reason)

    def _takes_text(self, data: bytes, around: Surroundings) -> bool:
        """Take a read that is one more text and nothing else; False, and nothing taken, for any other."""
        text = around.text_in(data) if len(data) <= self.reader.limits.event_bytes else None
        if not text:
            return False
        return self.pipeline.push_more(around.template.event, [text])

    def _conclude(self) -> None:
        self.settle()
        self._take_last_words()
        if not self._position.ended:
            self._give_over()
            self.pipeline.end(self.reader.missing)

    def _take_rest(self, info: ErrorInfo) -> None:
        if self._copy is not None:
            self._copy.close(info)
            self.settle()
        else:
            self.pipeline.take(self._rest(info))

    def _take_last_words(self) -> None:
        if self._copy is not None and not self._position.ended:
            self._copy.conclude(self._last_words())
        else:
            self.pipeline.take(self._last_words())

    def _give_over(self) -> None:
        """What the client gets from here on are no frames of the upstream's."""
        if self._copy is not None:
            self._copy.give_over()

    def _rest(self, info: ErrorInfo) -> Iterator[StreamItem]:
        """Yield what came whole before the break; `info` is why, also if it is nobody's dialect."""
        try:
            yield from self.reader.close()
        except NotTheDialect:
            yield error_event(info)

    def _last_words(self) -> Iterator[Event]:
        """Yield what the dialect says at the end of the input.

        An end that rests on EOF alone needs a body that is whole, without a call that has no result unless a
        person was asked something. A stream that asked for something and got no answer is suspended, whether
        or not the dialect says so.
        """
        reader, pipeline = self.reader, self.pipeline
        asks = pipeline.waits_for_answer
        has_call = pipeline.tools.has_open and not pipeline.waits_for_person
        is_cut_off = not reader.complete and (not reader.started or reader.cut_off or has_call)
        summary = None
        for event in reader.conclude():
            if isinstance(event, SessionEnd) and event.status == "completed" and (is_cut_off or asks):
                summary = event.summary
                continue
            yield event
        if asks and not is_cut_off:
            yield SessionEnd(status="suspended", summary=summary)
