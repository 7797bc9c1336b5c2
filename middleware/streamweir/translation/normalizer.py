"""One stream from upstream bytes to valid events: a reader, a pipeline, and the rules for how the stream
ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from streamweir.codec.turn_collector import TurnCollector
from streamweir.errors import ErrorInfo, LimitExceeded, MalformedEvent, NotTheDialect, Reason
from streamweir.events import Error, Payload, SessionEnd, SessionStart, Status
from streamweir.framing import Frame
from streamweir.stages.endings import token_counts
from streamweir.translation.items import DONE, FrameItems, StreamItem, TextRun, collected
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader

__all__ = ["StreamNormalizer"]

HEAD_BYTES: Final = 4096
"""The bytes of the head that are kept while no message has been understood."""

UNDERSTOOD_HEAD_BYTES: Final = 1024
"""The bytes of the head that are kept once a message has been understood, as in nearly all streams."""

_OURS: Final = frozenset({"draining", "internal", "limit"})
"""Reasons of failures on our side: with one of these a stream fails, even with evidence of its end."""


class StreamNormalizer:
    """Reads one stream and pushes its events: call `feed` for each read, then `close`, `fail` or `cancel`.

    No call raises, whatever bytes arrive. Calls after the end do nothing.

    If a client gets the upstream's own frames, the stream ends in two steps:

    ============== ============================================== =========================================
    state          what the next frame does                       left by
    ============== ============================================== =========================================
    reading        its events are pushed; a terminal event of it  such an event (behind the end), or any end
                   is held back, and the frame goes out           that is not in a frame (ended)
    behind the end a frame without a message, `[DONE]`, or one    any other frame, the end of the body, a
                   that clients expect behind an error goes out;  failure, silence: the held event is pushed
                   any other one ends the stream
    ended          nothing
    ============== ============================================== =========================================

    Args:
        reader: the reader of the stream.
        pipeline: the pipeline of the stream.

    Attributes:
        reader: the reader of the stream.
        pipeline: the pipeline of the stream.
        bytes: the number of bytes that have arrived.
    """

    _collector: TurnCollector | None = None
    """Builds the message of the turn: the reader gives the collector single frames, this class gives it text
    runs.
    """

    _held_end: Sequence[StreamItem] = ()
    """The terminal event and the items after it in its frame. Set while the stream is behind the end."""

    _keeps_head = True

    def __init__(self, reader: StreamReader, pipeline: Pipeline) -> None:
        self.reader = reader
        self.pipeline = pipeline
        self.bytes = 0
        self._collector = None
        self._head = b""
        self._position = pipeline.position
        self._clock = pipeline.clock
        self._limit = reader.limits.stream_bytes
        self._event_limit = reader.limits.event_bytes
        self._body = reader.body
        reader.name_stream(pipeline.request_id)
        lifecycle = pipeline.lifecycle
        lifecycle.closing_warnings.append(reader.frames.unreadable.closing_warnings)
        lifecycle.on_silence = reader.silence_warning

    def collect(self, collector: TurnCollector) -> None:
        """Give `collector` everything that is read of a known dialect; call it before the first byte."""
        self._collector = collector
        self.reader.frames.collect(collector)

    @property
    def head(self) -> bytes:
        """The first bytes of the body; fewer once a message was understood. They do not depend on how the
        body is cut into reads.
        """
        return self._head[: _head_bytes(has_understood=self.reader.has_understood)]

    @property
    def started(self) -> bool:
        """Whether an event has been read."""
        return self.reader.started

    @property
    def tokens(self) -> dict[str, int]:
        """The token counts that the upstream has reported until now, those of its end included."""
        reported, summary = self.reader.tokens, self.pipeline.lifecycle.summary
        return token_counts({**reported, **summary}) if reported or summary else {}

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of the end, so silence is no failure."""
        return self.reader.complete or self.pipeline.lifecycle.has_failed

    @property
    def waits(self) -> bool:
        """Whether a person was asked and the upstream may go on: silence does not end the stream then."""
        pauses = self.reader.pauses
        if pauses is not None:
            return pauses
        return self.pipeline.lifecycle.pauses and not self.reader.complete

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body."""
        position, size = self._position, len(data)
        total = self.bytes + size
        if position.ended or total > self._limit:
            self._exceed_limit(data)
            return
        position.now = self._clock()
        self.bytes = total
        if total < UNDERSTOOD_HEAD_BYTES:
            self._head += data
        elif self._keeps_head:
            self._keep_head(data)
        body = self._body
        around = body.around
        if around is not None and size <= self._event_limit and (texts := around.texts_in(data)):
            template, raw = around.template, data
        elif (read := body.read_alone(data)) is not None and isinstance(read, Payload):
            self.pipeline.push_alone(read)
            return
        elif read is None and body.next_around is not None and (found := body.read_texts(data)) is not None:
            template, texts, raw = found
        else:
            self._take(self.reader.feed(data) if read is None else read)
            return
        piece = template.event
        if not self.pipeline.push_more(piece, texts, raw):
            if self.reader.keeps_frames:
                self._take((body.as_read(template, texts, raw),))
                return
            self.pipeline.push_alone(piece, TextRun(piece, texts, template.known))
        if self._collector is not None:
            self._collector.take_texts(piece, texts)

    def _exceed_limit(self, data: bytes) -> None:
        """Take the bytes that `stream_bytes` allows, and end the stream with an error unless it has ended."""
        if self._position.ended:
            return
        total = self.bytes + len(data)
        self.feed(data[: self._limit - self.bytes])
        self.bytes = total
        self.push_held_end()
        self.pipeline.end_for(LimitExceeded("a stream is larger than allowed"))

    def _keep_head(self, data: bytes) -> None:
        self._head = head = self._head + data[: HEAD_BYTES - len(self._head)]
        if len(head) >= UNDERSTOOD_HEAD_BYTES:
            self._keeps_head = len(head) < HEAD_BYTES and not self.reader.has_understood

    def read_message(self, data: bytes) -> None:
        """Take one whole message that did not arrive in the bytes of a body."""
        self.bytes += len(data)
        self.pipeline.tick()
        self._take(self.reader.read_message(data))

    def push(self, item: StreamItem) -> None:
        """Take an event that was made in this process."""
        self.pipeline.tick()
        self._take(self.reader.frames.release())
        self.pipeline.push(item)

    def reject(self) -> None:
        """Count a message that cannot be read as an event and did not arrive in the bytes of a body."""
        self.pipeline.tick()
        self.pipeline.take(self.reader.reject())

    def close(self) -> None:
        """End the stream, because the body ended properly. Without evidence of an end this is an error."""
        self._position.now = self._clock()
        if rest := self.reader.close():
            self._take(rest)
        self._conclude()

    def close_returned(self) -> None:
        """End the stream, because the function of this process that made the stream has returned.

        The return is evidence of the end, unless it happened within an event. Text in another dialect than
        the standard needs the evidence of that dialect.
        """
        self.pipeline.tick()
        self.read_rest()
        reader = self.reader
        if not reader.cut_off and (reader.speaks_standard or not reader.has_text):
            self.pipeline.end()
        self._conclude()

    def read_rest(self, failure: ErrorInfo | None = None) -> None:
        """Read the last frame, which the end of the body completes. The stream itself is not ended.

        Args:
            failure: why the body broke off, if it did.
        """
        if rest := self.reader.close():
            self._take(rest, failure)

    @property
    def is_behind_end(self) -> bool:
        """Whether the frame of the end is written, and its event is held back."""
        return bool(self._held_end)

    def copy_mark(self, data: bytes) -> None:
        """Copy the mark after the end (`[DONE]`), which was read once the stream had ended."""
        frame = Frame(DONE, raw=data)
        for sink in self.pipeline.frame_sinks:
            sink.begin_frame(frame, (), ())
            sink.frame(data, ())

    def push_held_end(self) -> bool:
        """Push the held end, if the stream is behind its end; return whether it was."""
        held, self._held_end = self._held_end, ()
        if not held:
            return False
        self._take_closing(held)
        return True

    def fail(self, info: ErrorInfo) -> None:
        """End the stream with an error, because the body broke off or is not read any more.

        If there is evidence of the end, or a person was asked, the stream counts as complete instead. A call
        that the client has to run is not such evidence: the upstream may have been about to make another
        call.
        """
        self.pipeline.tick()
        self.push_held_end()
        if info.reason not in _OURS:
            self.read_rest(info)
            self.push_held_end()
            if self.reader.complete or self.pipeline.lifecycle.waits_for_person:
                self._take_last_words()
        self.pipeline.end(info)

    def end_taken(self) -> None:
        """End the stream of an answer to a question: the run continues in the connection that asked."""
        self.pipeline.tick()
        self.pipeline.push(Status("session", "resumed"))
        self.pipeline.push(SessionEnd())

    def cancel(self, reason: Reason = "cancelled") -> None:
        """End the stream on request, which is not an error."""
        self.pipeline.tick()
        self.push_held_end()
        self.pipeline.cancel(reason)

    def _take(self, read: Iterable[FrameItems], failure: ErrorInfo | None = None) -> None:
        """Push the items that were read; `failure` is why the body broke off, if it did."""
        if self._collector is not None:
            read = collected(read, self._collector)
        if not self.reader.keeps_frames:
            self.pipeline.take_read(read, failure)
            return
        if self.pipeline.position.ended:
            return
        try:
            for items, frame in read:
                if frame is None or frame.raw is None:
                    self.pipeline.take(items)
                else:
                    self._take_frame(items, frame)
                if self._position.ended:
                    return
        except NotTheDialect as error:
            if failure is None:
                self.pipeline.end_for(error)
            else:
                self.pipeline.end(failure)
        except Exception as error:
            self.pipeline.end_for(error)

    def _take_frame(self, items: Sequence[StreamItem], frame: Frame) -> None:
        """Push the items of a frame whose bytes are kept; hold its end back if the frame is copied."""
        pipeline, first = self.pipeline, items[0] if items else None
        if type(first) is TextRun and not self._held_end:
            is_more = not first.whole and len(items) == 1
            if not (is_more and pipeline.push_more(first.event, first.texts, frame.raw)):
                pipeline.take_frame(items, frame)
            return
        if self._held_end:
            self._take_behind_end(frame)
            return
        end = _place_of_end(items) if items else None
        if (end is not None or frame.unterminated) and pipeline.copies_frames and not frame.is_unreadable:
            frame.is_unreadable = end is None and _is_half(frame)
        else:
            end = None
        if end is None:
            pipeline.take_frame(items, frame)
            return
        before = items[:end]
        if not before and pipeline.lifecycle.waiting and not pipeline.started:
            before = (SessionStart(),)  # warnings that wait for the start are written before the frame
        pipeline.take_frame(items, frame, before)
        if not self._position.ended:
            self._held_end = items[end:]
            self._body.has_ended = True

    def _take_behind_end(self, frame: Frame) -> None:
        """Pass on a frame that may follow the end; any other frame ends the stream."""
        data = frame.data.strip()
        if data == DONE or not (data or frame.unterminated) or self._is_expected(frame):
            for sink in self.pipeline.frame_sinks:
                sink.begin_frame(frame, (), ())
                sink.frame(frame.raw or b"", ())
        elif not frame.unterminated:
            self.push_held_end()

    def _is_expected(self, frame: Frame) -> bool:
        """Return whether the dialect's clients expect this frame after the error that is held back."""
        decoder = self.reader.frames.decoder
        if decoder is None or not decoder.behind_error:
            return False
        if not any(isinstance(item, Error) for item in self._held_end):
            return False
        try:
            message = frame.json()
        except MalformedEvent:
            return False
        kind = message.get("type") if isinstance(message, dict) else None
        return isinstance(kind, str) and kind in decoder.behind_error

    def _take_closing(self, items: Iterable[StreamItem]) -> None:
        """Push items that end the stream in the way that its frames reported."""
        for sink in self.pipeline.frame_sinks:
            sink.begin_closing()
        self.pipeline.take(items)
        for sink in self.pipeline.frame_sinks:
            sink.end_closing()

    def _conclude(self) -> None:
        if self._held_end:
            self.push_held_end()
        if not self._position.ended:
            self._take_last_words()
        if not self._position.ended:
            self.pipeline.end(self.reader.missing)

    @property
    def _has_open_call(self) -> bool:
        """Whether a call has no result, and no person was asked."""
        return self.pipeline.tools.has_open and not self.pipeline.lifecycle.waits_for_person

    def _take_last_words(self) -> None:
        """Push the last events of the decoder. A client that gets the frames already has these events.

        An end whose only evidence is EOF needs a whole body, in which every call has a result unless a person
        was asked. A stream that asked a question and got no answer is suspended, even if the dialect cannot
        express that.
        """
        reader, pipeline = self.reader, self.pipeline
        asks = pipeline.waits_for_answer
        is_cut_off = not reader.complete and (not reader.started or reader.cut_off or self._has_open_call)
        summary = None
        try:
            for event in reader.conclude():
                if (is_cut_off or asks) and type(event) is SessionEnd and event.status == "completed":
                    summary = event.summary
                else:
                    self._take_closing((event,))
        except Exception as error:
            pipeline.end_for(error)
        else:
            if asks and not is_cut_off:
                self._take_closing((SessionEnd(status="suspended", summary=summary),))


def _place_of_end(items: Sequence[StreamItem]) -> int | None:
    """Return the place of an end or a terminal error; None if there is none."""
    for place, item in enumerate(items):
        if type(item) is SessionEnd or (type(item) is Error and item.terminal):
            return place
    return None


def _is_half(frame: Frame) -> bool:
    """Return whether a frame without its line end is an SSE head without data. Blank bytes are not."""
    return frame.unterminated and not frame.data.strip() and bool((frame.raw or b"").strip())


def _head_bytes(*, has_understood: bool) -> int:
    return UNDERSTOOD_HEAD_BYTES if has_understood else HEAD_BYTES
