"""The chain of one stream, from upstream bytes to client bytes; `Translator` is its outside.

bytes -> framing -> decoder -> stages -> encoder -> framing -> bytes
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, ParamSpec, get_args

from streamweir.codec.base import NO_OPTIONS, Decoder
from streamweir.codec.detector import Detector
from streamweir.codec.error_only_body import (
    ErrorOnlyBody,
    error_event_of,
    failure_in_frame,
    is_unknown,
    refined,
)
from streamweir.codec.message_template import MessageTemplates
from streamweir.codec.registry import checked_options, decoder_class, make_decoder
from streamweir.errors import (
    ConfigurationError,
    ErrorInfo,
    LimitExceeded,
    MalformedEvent,
    NotTheDialect,
    error_info,
)
from streamweir.events import Content, Data, Error, Event, Stamp, Thinking, Warning
from streamweir.framing import Frame, SniffingParser
from streamweir.options.limits import Limits
from streamweir.request_id import new_request_id
from streamweir.stages import (
    ErrorSanitizer,
    FullText,
    Lifecycle,
    Stage,
    StreamPosition,
    TextDeduplication,
    Tools,
    error_event,
    routes,
)
from streamweir.translation.provenance import with_source
from streamweir.translation.report import MAX_REPORTED_MALFORMED, ConversionReport
from streamweir.translation.writer import open_writer

__all__ = ["StreamChain", "caller_warning"]

logger = logging.getLogger("streamweir")

P = ParamSpec("P")

_STAGES: Final[tuple[type[Stage], ...]] = (ErrorSanitizer, Tools, TextDeduplication, Lifecycle)
_ROUTES: Final = routes(_STAGES)
_FULL_TEXT: Final = get_args(FullText)


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


class StreamChain:
    """What becomes of bytes and of events on their way; when there are any, a `Translator` knows.

    What the chain is made of knows nothing of the chain: there is no cycle of references, and all of a stream
    goes the moment it is dropped, without a garbage collection.
    """

    def __init__(  # noqa: PLR0913 (the keyword-only options are the contract of the library)
        self,
        *,
        speaks: str = "auto",
        answers: str = "standard",
        framing: str = "sse",
        request_id: str | None = None,
        session_id: str | None = None,
        clock: Callable[[], int] | None = None,
        full_text: FullText = "dedupe",
        stream_tool_arguments: bool = False,
        protocol_options: Mapping[str, Mapping[str, Any]] | None = None,
        raw: bool = False,
        limits: Limits | Mapping[str, Any] | None = None,
        warnings: Sequence[str | Mapping[str, Any]] = (),
        debug: bool = False,
    ) -> None:
        if full_text not in _FULL_TEXT:
            raise ConfigurationError(f"full_text cannot be {full_text!r} (one of: dedupe, append, replace)")
        self.request_id = request_id or new_request_id()
        self._options = checked_options(protocol_options or {})
        self._limits = Limits.of(limits)
        self._clock = clock or _unix_milliseconds
        self._progress = StreamPosition(self._clock())
        self._raw = raw
        self._debug = debug
        self._writer = open_writer(
            answers, framing, request_id=self.request_id, options=self._options.get(answers, NO_OPTIONS)
        )
        self._tools = Tools(stream_arguments=stream_tool_arguments)
        self._messages = TextDeduplication(full_text=full_text, can_replace=self._writer.can_replace)
        self._lifecycle = Lifecycle(
            request_id=self.request_id,
            session_id=session_id or self.request_id.replace("req_", "sess_", 1),
            progress=self._progress,
            warnings=[caller_warning(item) for item in warnings],
        )
        self._report = ConversionReport(self._writer.lost, self._messages)
        self._lifecycle.closing_warnings.append(self._report.warnings)
        self._out: list[bytes] = []
        self._bytes = 0
        self._told_invalid_text = False
        self._half_a_frame: bytes | None = None
        self._lone: ErrorOnlyBody | None = None
        self._finished = False
        self._decoder: Decoder | None = None
        self._detector: Detector | None = None
        self._forms = MessageTemplates(None)
        self._text: Content | Thinking | None = None
        self.speaks = speaks
        self.answers = answers
        self.started = False
        if speaks == "auto":
            self._detector = Detector(self._limits.event_bytes)
            self._parser = SniffingParser(self._limits.event_bytes)
            self._use_stages(errors_for_users=False)
        else:
            self._read_as(speaks)

    def _read_as(self, name: str) -> None:
        """Settle the dialect of the upstream, and with it what depends on it."""
        cls = decoder_class(name)
        self.speaks = name
        self._decoder = make_decoder(name, self._options.get(name, NO_OPTIONS))
        self._parser = SniffingParser(self._limits.event_bytes, expected=cls.framing)
        self._use_stages(errors_for_users=cls.errors_for_users)
        self._writer.read_as(name)
        self._forms = MessageTemplates(None if self._raw else cls.text_fields)

    def _use_stages(self, *, errors_for_users: bool) -> None:
        safety = ErrorSanitizer(errors_for_users=errors_for_users, debug=self._debug)
        stages: tuple[Stage, ...] = (safety, self._tools, self._messages, self._lifecycle)
        self._processes = [stage.process for stage in stages]  # in the order of `_STAGES`

    def _take(self, data: bytes) -> None:
        if self._detector is not None:
            name = self._detector.feed(data)
            if name is None and not self._detector.exhausted:
                return
            data = self._settle(name or self._detector.finish())
        assert self._decoder is not None
        forms, accepts_text, texts = self._forms, self._decoder.accepts_text, []
        try:
            for frame in (self._parser.chosen or self._parser).feed(data):
                form = forms.form
                text = form.text_of(frame) if form is not None else None
                if text is not None and accepts_text(text):
                    texts.append(text)
                    continue
                if texts:
                    self._push_texts(texts)
                    texts = []
                self._read(frame)
                if self._lifecycle.ended:
                    return
        finally:  # also where the next event is larger than allowed
            if texts:
                self._push_texts(texts)

    def _settle(self, name: str | None) -> bytes:
        """The dialect is known: return what was held back to find it out."""
        assert self._detector is not None
        if name is None:
            raise NotTheDialect("no dialect claims this body")
        head = bytes(self._detector.head)
        self._detector = None
        self._read_as(name)
        return head

    def _read(self, frame: Frame) -> None:
        assert self._decoder is not None
        events: list[Event] = []
        try:
            decoded = self._decoder.decode(frame)
            for event in decoded if self.started else self._first(frame, decoded):
                self.started = True
                self._push(with_source(event, frame, self.speaks) if self._raw else event)
                if self._lifecycle.ended:
                    return
                events.append(event)
        except MalformedEvent:
            self._note_malformed(frame)
            events.clear()
        self._forms.note(frame, events[0] if len(events) == 1 else None)
        if frame.invalid_text and not self._told_invalid_text:
            self._told_invalid_text = True
            self._tell("UPSTREAM_INVALID_TEXT", "Some text was not valid and was repaired.")

    def _first(self, frame: Frame, decoded: Iterable[Event]) -> Iterable[Event]:
        """Return what may leave of the first message; a failure that is no event waits for the next one."""
        if self._lone:
            return self._after_lone(decoded)
        rest = iter(decoded)
        events = [*islice(rest, 1)]
        begins_otherwise = events and not isinstance(events[0], Error | Data)
        failure = None if begins_otherwise else failure_in_frame(frame)
        if failure is None:
            return chain(events, rest)
        events += rest
        if not is_unknown(events):
            return refined(events, failure)
        self._lone = ErrorOnlyBody(failure, frame, events)
        return ()

    def _after_lone(self, decoded: Iterable[Event]) -> Iterator[Event]:
        for event in decoded:
            self._release_lone()
            yield event

    def _release_lone(self) -> None:
        """Something follows the first message: it is an event that no rule knows."""
        lone, self._lone = self._lone, None
        for event in lone.events if lone else ():
            self.started = True
            self._push(with_source(event, lone.frame, self.speaks) if self._raw and lone else event)

    def _end_with_lone_failure(self) -> None:
        """Nothing has followed it: it is how the run failed."""
        if self._lone is not None and not self._lifecycle.ended:
            self._push(error_event_of(self._lone.failure))

    def _note_malformed(self, frame: Frame) -> None:
        if frame.unterminated:
            self._half_a_frame = frame.data
            return
        self._report.malformed += 1
        if self._report.malformed > self._limits.malformed_events:
            self._end_with(error_info("STREAM_LIMIT_EXCEEDED", reason="malformed"))
        elif self._report.malformed <= MAX_REPORTED_MALFORMED:
            self._tell("UPSTREAM_MALFORMED_EVENT", "A part of the answer could not be read and was left out.")

    def _tell(self, code: str, message: str) -> None:
        self._push(Warning(message=message, message_code=code, for_users=True))

    def _push(self, event: Event, position: int = 0) -> None:
        """Send `event` through the stages from `position` on, and out."""
        self._text = None
        for index in _ROUTES[type(event)][position]:
            events = self._processes[index](event)
            if events is not None:
                for out in events:
                    self._push(out, index + 1)
                return
        self._write(event)

    def _push_texts(self, texts: list[str]) -> None:
        """Send pieces of text that have the form in force.

        The first goes the way of all events. What follows it at once is more of the same message, which
        concerns one stage: that which remembers what was said.
        """
        assert self._forms.form is not None
        event, progress = self._forms.form.event, self._progress
        if event is not self._text or self._lifecycle.has_waiting:
            self._push(event.with_text(texts.pop(0)))
            self._text = event
        if texts and not self._lifecycle.ended:
            self._messages.go_on("".join(texts))
            stamp = Stamp(self.request_id, progress.written, progress.now)
            self._out.append(self._writer.write_texts(event, texts, stamp))
            progress.written += len(texts)

    def _write(self, event: Event) -> None:
        progress = self._progress
        stamp = Stamp(self.request_id, progress.written, progress.now)
        self._out.append(self._writer.write(event, stamp))
        progress.written += 1

    def _drain(self) -> bytes:
        if self._lifecycle.ended and not self._finished:
            self._finished = True
            self._guarded(lambda: self._out.append(self._writer.finish()))
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _end_with(self, info: ErrorInfo) -> None:
        if not self._lifecycle.ended:
            self._push(error_event(info))

    def _guarded(self, step: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run `step`; whatever it raises ends the stream with the matching error."""
        try:
            step(*args, **kwargs)
        except Exception as error:
            self._end_for(error)

    def _end_for(self, error: Exception) -> None:
        """End the stream with the error that matches what was raised."""
        match error:
            case LimitExceeded():
                code = "STREAM_LIMIT_EXCEEDED"
            case NotTheDialect():
                code = "UPSTREAM_INVALID_RESPONSE"
            case _:
                logger.exception("translating failed", extra={"request_id": self.request_id})
                code = "INTERNAL"
        try:
            self._end_with(error_info(code))
        except Exception:
            logger.exception("ending a stream failed", extra={"request_id": self.request_id})
            self._lifecycle.abandon()


def caller_warning(item: str | Mapping[str, Any], detail: Any = None) -> Warning:
    """The warning of a caller, whose text goes out as it is."""
    if isinstance(item, str):
        item = {"message": item}
    code = item.get("message_code")
    return Warning(
        message=str(item["message"]) or "Warning.",
        message_code=str(code) if code else None,
        detail=detail,
        for_users=True,
    )
