"""The stages of one stream: its sinks get a valid stream, whatever events are pushed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from streamweir.codec.short_names import with_short_names
from streamweir.errors import ErrorInfo, LimitExceeded, NotTheDialect, Reason, error_info
from streamweir.events import Content, Event, Meta, SessionEnd, Stamp, Thinking, Warning
from streamweir.framing import Frame
from streamweir.metadata import unix_milliseconds
from streamweir.options.limits import EVENT_BYTES
from streamweir.request_id import session_id_of
from streamweir.stages import (
    ErrorSanitizer,
    FullText,
    HeldQuestions,
    Lifecycle,
    Stage,
    StreamPosition,
    TextDeduplication,
    Tools,
    error_event,
    routes,
)
from streamweir.translation.growing_runs import piece_of
from streamweir.translation.items import SafeEvent, StreamItem, TextRun, ThoughtRun
from streamweir.translation.pipeline_watcher import PipelineWatcher, note_rest
from streamweir.translation.run_sinks import FOR_LISTENER, finish_all, has_one_writer, write_run_to_all
from streamweir.translation.sink import EventSink, FrameSink, ListeningSink, raise_apart
from streamweir.translation.thought_writer import write_at_once

__all__ = ["Pipeline"]

logger = logging.getLogger("streamweir")
_STAGES: Final[tuple[type[Stage], ...]] = (ErrorSanitizer, Tools, TextDeduplication, HeldQuestions)
"""The stages before `Lifecycle`, which gets every event."""
_ROUTES: Final = routes(_STAGES, with_meta=False)
_ROUTES_WITH_META: Final = routes(_STAGES, with_meta=True)
_BEHIND_SANITIZER: Final = 1
_REPLACING: Final = frozenset({_STAGES.index(ErrorSanitizer), _STAGES.index(TextDeduplication)})
_COPIES: Final = attrgetter("copies")
_MOST_KEPT: Final = 1024  # characters of a text that is kept with the fields of its run
_FAULTS: Final = {LimitExceeded: "STREAM_LIMIT_EXCEEDED", NotTheDialect: "UPSTREAM_INVALID_RESPONSE"}


class Pipeline:
    """Pushes events through the stages to the sinks. Time and ids are passed in; no bytes, no network.

    The sinks get events of protocol 1.1; a writer adapts them to its client. No stage holds a reference to
    the pipeline, so a stream that is dropped is freed without a garbage collection.

    Args:
        sinks: get every event; `add_sink` adds more.
        request_id: the id of the stream.
        session_id: the session's id if the upstream names none; None: it is made of the request id.
        clock: Unix milliseconds.
        full_text: the handling of text that repeats the whole answer: dedupe, append, replace.
        stream_tool_arguments: let `tool_call_delta` through.
        warnings: sent right after `session_start`.
        debug: send redacted details in errors and warnings.
        room: roughly how many bytes of the stream may be kept in memory: as many as one event may have.
        upstream: the name or URL of the upstream, to which opaque values are bound for other clients.

    Attributes:
        position: the number of events so far, and the current time.
        frame_sinks: the sinks that also get the frames.
        lifecycle: the last stage.
        stages: the stages before it, in the order of `_STAGES`. `tools` and `questions` are two of them.
        last: the type of the last event that was pushed.
        watcher: learns what the stages do; None: no watcher. Set it before the first event.
        listener: called with each start, question and event with metadata, before the sinks get it; None: not
            needed. Of runs of texts with the same event it only gets the first.

    Raises:
        ConfigurationError: `full_text` is unknown.
    """

    last: type[Event] | None = None
    _is_breaking_off = False
    """The stream is being ended because of a fault: failures of sinks are ignored."""
    _piece: Content | Thinking | None = None
    """The event of the text run; None after another event, while a warning waits, and after the end."""

    def __init__(  # noqa: PLR0913, PLR0917 (what there is to settle of a stream)
        self,
        sinks: Sequence[EventSink],
        request_id: str,
        session_id: str | None = None,
        clock: Callable[[], int] | None = None,
        full_text: FullText = "dedupe",
        stream_tool_arguments: bool = False,
        warnings: Sequence[Warning] = (),
        debug: bool = False,
        room: int = EVENT_BYTES,
        upstream: str = "",
    ) -> None:
        self.request_id, self.clock = request_id, clock or unix_milliseconds
        self.position = position = StreamPosition(now := self.clock(), now)
        self._set_sinks([*sinks])
        sanitizer = ErrorSanitizer(debug)
        self.tools = tools = Tools(stream_tool_arguments, position, room // 2, request_id)
        self._texts = texts = TextDeduplication(full_text, room, sanitizer)
        self.questions = questions = HeldQuestions()
        session_id = session_id or session_id_of(request_id)
        self.lifecycle = Lifecycle(request_id, session_id, position, warnings, room // 16, upstream)
        self.watcher: PipelineWatcher | None = None
        self.listener: Callable[[Event], object] | None = None
        self.stages: Sequence[Stage] = (sanitizer, tools, texts, questions)

    @property
    def started(self) -> bool:
        """Whether `session_start` has been written."""
        return self.lifecycle.started

    @property
    def ended(self) -> bool:
        """Whether the last event has been written."""
        return self.position.ended

    @property
    def reason(self) -> Reason | None:
        """Why the stream ended; None before its end."""
        return self.lifecycle.reason

    @property
    def error(self) -> ErrorInfo | None:
        """The terminal error of the stream; None without one."""
        return self.lifecycle.error

    @property
    def waits_for_answer(self) -> bool:
        """Whether a question to a person, or a call for the client, is open."""
        return self.lifecycle.waits_for_answer or bool(self.questions.held)

    def add_sink(self, sink: EventSink) -> None:
        """Pass every event to `sink`, from the next one on."""
        self._set_sinks([*self._sinks, sink])

    def write_to(self, sink: EventSink) -> None:
        """Pass every event to `sink` instead of the other sinks, from the next one on; taps stay."""
        self._set_sinks([sink, *(other for other in self._sinks if isinstance(other, ListeningSink))])

    def replace_sink(self, before: EventSink, sink: EventSink) -> None:
        """Pass every event to `sink` in place of the sink `before`."""
        self._set_sinks([sink if other is before else other for other in self._sinks])

    def _set_sinks(self, sinks: list[EventSink]) -> None:
        self._sinks, self._only_sink = sinks, sinks[0] if len(sinks) == 1 else None
        self.frame_sinks = frame_sinks = [sink for sink in sinks if isinstance(sink, FrameSink)]
        self._copier = frame_sinks[0] if frame_sinks and self._only_sink is not None else None

    def tick(self) -> None:
        """Update the current time, which the next events get."""
        self.position.now = self.clock()

    def warn(self, warning: Warning) -> None:
        """Send `warning` before the next event."""
        self._piece = None
        self.lifecycle.warn(warning)

    def write_waiting(self) -> None:
        """Send the waiting warnings now. Never raises."""
        try:
            for warning in self.lifecycle.take_waiting():
                self._write(warning, None)
        except Exception as error:
            self.end_for(error)

    def push(self, item: StreamItem) -> None:
        """Push `item` through the stages to the sinks; do nothing after the end."""
        self.take((item,))

    def push_alone(self, event: Event, run: TextRun | None = None, is_safe: bool = False) -> None:
        """Push an event, or a run of texts like it, of a stream that has not ended; see `take`."""
        try:
            if run is None:
                self._push(with_short_names(event), _BEHIND_SANITIZER if is_safe else 0)
            else:
                self._push_run(run)
            self.last = type(event)
        except Exception as error:
            self.end_for(error)

    def take(self, items: Iterable[StreamItem]) -> None:
        """Push `items` until the stream has ended. Never raises: an exception ends the stream."""
        self.take_read(((items, None),))

    def take_read(
        self, read: Iterable[tuple[Iterable[StreamItem], object]], failure: ErrorInfo | None = None
    ) -> None:
        """Push the items of frames whose bytes are not kept; see `take`.

        Args:
            read: items, and their frames.
            failure: the error of the stream if its dialect cannot be found; None: that of `end_for`.
        """
        position = self.position
        if self.position.ended:
            return
        event: Event | None = None
        try:
            for items, _ in (frames := iter(read)):
                for item in (pending := iter(items)):
                    if type(item) is TextRun:
                        event = item.event
                        if event is not self._piece or not self.push_more(event, item.texts):
                            self._push_run(item)
                    elif type(item) is SafeEvent:
                        event = item.event
                        self._push(event, _BEHIND_SANITIZER)
                    elif type(item) is ThoughtRun:
                        self._push_thoughts(item, event)
                        event = item.event
                    else:
                        event = item
                        self._push(with_short_names(event), 0)
                    if position.ended:
                        note_rest(self.watcher, pending, frames)
                        return
            self.last = self.last if event is None else type(event)
        except Exception as error:
            if failure is not None and isinstance(error, NotTheDialect):
                self.end(failure)
            else:
                self.end_for(error)

    @property
    def copies_frames(self) -> bool:
        """Whether a client of this stream gets copies of the frames."""
        return any(map(_COPIES, self.frame_sinks))

    def take_frame(
        self, items: Sequence[StreamItem], frame: Frame, pushed: Sequence[StreamItem] | None = None
    ) -> None:
        """Push the items of a frame, or `pushed` in their place; give the frame to the frame sinks."""
        lifecycle, is_safe = self.lifecycle, False
        if lifecycle.waiting and lifecycle.started and self.copies_frames:
            self.write_waiting()
        if self.questions.is_on and self.copies_frames:
            self.questions.is_on = False
        announced = () if lifecycle.started else (*lifecycle.waiting,)
        for sink in self.frame_sinks:
            is_safe = sink.begin_frame(frame, items, announced) or is_safe
        only = items[0] if pushed is None and len(items) == 1 and not self.position.ended else None
        if type(only) is TextRun and only.event is not self._piece:
            self.push_alone(only.event, only)
        elif is_safe and only is not None:
            self.push_alone(only, None, True)  # type: ignore[arg-type]
        else:
            self.take_read(((items if pushed is None else pushed, None),))
        for sink in self.frame_sinks:
            sink.frame(frame.raw or b"", items)

    def push_more(
        self, event: Content | Thinking, texts: list[str], raw: bytes | None = None, is_noted: bool = False
    ) -> bool:
        """Push texts if they extend the current run, and return True; otherwise do nothing and return False.

        Args:
            event: the common event of the texts.
            texts: at least one; none is empty.
            raw: the bytes of their frames, unless these are given to `take_frame`.
            is_noted: the texts have already passed the stages.
        """
        if event is not self._piece:
            return False
        position, written = self.position, self.position.written
        try:
            if not is_noted:
                self._texts.go_on(texts[0] if len(texts) == 1 else "".join(texts))
            position.written = written + len(texts)
            if raw is not None and self._copier is not None and self._copier.copy_run(raw, self._named_piece):
                return True
            stamp = Stamp(self.request_id, written, position.now)
            if self._only_sink is not None:
                self._only_sink.write_run(self._named_piece, texts, stamp)
            else:
                write_run_to_all(self._sinks, self._named_piece, texts, stamp)
            if raw is not None:
                for frame_sink in self.frame_sinks:
                    frame_sink.run_frames(raw, event, texts)
        except Exception as error:
            if isinstance(error, LimitExceeded) and error.taken and has_one_writer(self._sinks):
                position.written = written + error.taken
            self.end_for(error)
        return True

    def end(self, info: ErrorInfo | None = None, *, meta: Meta | None = None) -> None:
        """End the stream with an error; without one it is completed, or suspended. Never raises."""
        if self.ended:
            return
        end = SessionEnd(status="suspended" if self.waits_for_answer else "completed")
        try:
            self._push(end if info is None else error_event(info, meta=meta), 0)
        except Exception as error:
            self.end_for(error)

    def end_for(self, error: Exception) -> None:
        """End the stream with the error for an exception. Never raises."""
        code = next((code for kind, code in _FAULTS.items() if isinstance(error, kind)), "INTERNAL")
        if code == "INTERNAL":
            logger.exception("translating failed", extra={"request_id": self.request_id})
        if self.ended:
            return
        self._is_breaking_off = True
        try:
            self._push(error_event(error_info(code)), 0)
        except Exception:
            logger.exception("ending a stream failed", extra={"request_id": self.request_id})
            self.lifecycle.abandon()
            finish_all(self._sinks, self.request_id)

    def cancel(self, reason: Reason = "cancelled") -> None:
        """End the stream on request, which is not an error. Never raises."""
        self.take((SessionEnd(status="cancelled", reason=reason),))

    def _push(self, event: Any, position: int, run: TextRun | None = None) -> None:
        """Pass `event`, or the texts of `run` as one, through the stages from `position` on; write it."""
        self._piece = None
        for index in (_ROUTES if event.meta is None else _ROUTES_WITH_META)[type(event)][position]:
            events: Iterable[Any] | None = self.stages[index].process(event)
            if events is not None:
                if self.watcher is not None and index in _REPLACING:
                    events = (*events,)
                    self.watcher.replaced(event, events)
                if run is not None and run.whole:
                    run, event = piece_of(run, event, events, None if self.watcher else self._texts)
                for out in events:
                    is_run = run is not None and type(out) is type(event) and out.content is event.content
                    self._push(out, index + 1, run if is_run else None)
                return
        passed = self.lifecycle.process(event)
        if passed is None:
            self._write(event, run)
            return
        for out in passed:
            self._write(out, run if out is event else None)

    def _push_run(self, run: TextRun) -> None:
        """Pass a run that does not extend the current one through the stages: joined, or each whole text."""
        if not self.lifecycle.has_failed:
            begin = 0 if "extra" in (run.event.meta or ()) else _BEHIND_SANITIZER  # it looks at nothing else
            for event in run if run.whole else (run.event.with_text("".join(run.texts)),):
                self._push(with_short_names(event), begin, run)

    def _push_thoughts(self, run: ThoughtRun, last: Event | None) -> None:
        """Push thoughts: at once behind such a thought if nothing waits. `last` was pushed last, if known."""
        position = self.position
        if self._piece is not run.event:
            if last is not run.event:
                last, run = run.first, run.rest(1)
                self._push(with_short_names(last), 0)
            may_go_on = position.is_quiet and self.lifecycle.has_answer and not self.lifecycle.pauses
            if may_go_on and with_short_names(last) is last and self.watcher is None:
                self._piece = run.event
        if self._piece is run.event and run.texts:
            stamp = Stamp(self.request_id, position.written, position.now)
            if write_at_once(run, self._only_sink, self._texts, stamp):
                position.written += len(run.texts)
                return
        for event in run:
            self._push(with_short_names(event), 0)

    def _write_run(self, event: Content | Thinking, run: TextRun) -> None:
        """Write the texts of a run that has gone through the stages as `event`."""
        texts = run.texts
        named = event if len(event.content) < _MOST_KEPT else event.with_text(texts[0])
        self._piece, self._named_piece = run.event, named
        if self.watcher is not None:
            self.watcher.noted(named, self.position.written)
        self.push_more(run.event, texts, None, True)
        if not self.lifecycle.has_answer or self.lifecycle.pauses:
            self._piece = None  # a further text may be the answer

    def _write(self, event: Any, run: TextRun | None) -> None:
        if self.listener is not None and (event.meta or type(event) in FOR_LISTENER):
            self.listener(event)
        if run is not None:
            self._write_run(event, run)
            return
        position = self.position
        stamp = Stamp(self.request_id, position.written, position.now)
        if self.watcher is not None:
            self.watcher.noted(event, position.written)
        position.written += 1
        failure: Exception | None = None
        for sink in self._sinks:
            try:
                sink.write(event, stamp)
            except Exception as error:
                failure = error
        if position.ended:
            finish_all(self._sinks, self.request_id)
        if failure is not None and not self._is_breaking_off:
            raise_apart(failure)
