"""One stream from upstream bytes to client bytes: no I/O, no exceptions on input.

bytes -> framing -> decoder -> stages -> encoder -> framing -> bytes
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, ParamSpec, get_args

from streamweir.classification import classify_exception
from streamweir.detect import Detector
from streamweir.dialects.base import NO_OPTIONS, Decoder
from streamweir.dialects.registry import checked_options, decoder_class, make_decoder
from streamweir.errors import (
    CODES,
    ConfigurationError,
    ErrorInfo,
    LimitExceeded,
    MalformedEvent,
    NotTheDialect,
    Reason,
    error_info,
)
from streamweir.events import Event, SessionEnd, Stamp, Warning
from streamweir.framing import Frame, SniffingParser
from streamweir.limits import Limits
from streamweir.output import MEDIA_TYPES, open_output
from streamweir.raw_source import with_source
from streamweir.request_id import new_request_id
from streamweir.stages import FullText, Lifecycle, Messages, Safety, Stage, Tools, error_event, routes

__all__ = ["Translator", "convert"]

logger = logging.getLogger("streamweir")

P = ParamSpec("P")

_OURS: Final = frozenset({"draining", "internal", "limit"})
"""Failures on our side of the connection: what the upstream has said so far does not make them complete."""

TOLD_MALFORMED: Final = 10
"""So many malformed events are told one by one; of the others the number, at the end."""


def _unix_milliseconds() -> int:
    return time.time_ns() // 1_000_000


class Translator:
    """One stream: `feed` it what arrives, `close` or `fail` it, and send on what each call returns.

    Args:
        speaks: the dialect of the upstream; `auto` finds it out from the first events.
        answers: the protocol of the client.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end. A protocol whose clients cannot
            read it is written in its own framing.
        request_id: kept in every event; made up if None.
        session_id: used where the upstream gives none; made up if None.
        clock: Unix milliseconds. Given this and both ids, output does not depend on how input is cut.
        full_text: what to do when an upstream repeats the whole answer: dedupe, append, replace.
        stream_tool_arguments: let `tool_call_delta` through.
        protocol_options: per dialect, what it lets one choose when reading or writing it.
        raw: add `metadata.source` to the events.
        limits: bounds; see `Limits`.
        warnings: sent right after `session_start`: messages, or mappings with `message`, `message_code`.
        debug: let redacted details out in errors and warnings.

    Raises:
        UnknownDialectError: nobody reads `speaks` or writes `answers`.
        ConfigurationError: another option has a value that it cannot have.
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
        if full_text not in get_args(FullText):
            raise ConfigurationError(f"full_text cannot be {full_text!r} (one of: dedupe, append, replace)")
        self.request_id = request_id or new_request_id()
        self._options = checked_options(protocol_options or {})
        self._limits = Limits.of(limits)
        self._clock = clock or _unix_milliseconds
        self._now = self._clock()
        self._raw = raw
        self._debug = debug
        self._output = open_output(
            answers, framing, request_id=self.request_id, options=self._options.get(answers, NO_OPTIONS)
        )
        self._sequence = 0
        self._tools = Tools(stream_arguments=stream_tool_arguments)
        self._messages = Messages(full_text=full_text, can_replace=self._output.can_replace)
        self._lifecycle = Lifecycle(
            request_id=self.request_id,
            session_id=session_id or self.request_id.replace("req_", "sess_", 1),
            clock=lambda: self._now,
            written=lambda: self._sequence,
            warnings=[_warning(item) for item in warnings],
            closing_warnings=self._closing_warnings,
        )
        self._out: list[bytes] = []
        self._bytes = 0
        self._malformed = 0
        self._told_invalid_text = False
        self._half_a_frame: bytes | None = None
        self._finished = False
        self._decoder: Decoder | None = None
        self._detector: Detector | None = None
        self.speaks = speaks
        self.answers = answers
        self.started = False
        self._parser = SniffingParser(self._limits.event_bytes)
        self._use_stages(errors_for_users=False)
        if speaks == "auto":
            self._detector = Detector(self._limits.event_bytes)
        else:
            self._read_as(speaks)

    # What the shells ask

    @property
    def media_type(self) -> str:
        """The content type of the output."""
        return MEDIA_TYPES[self._output.framing]

    @property
    def framing(self) -> str:
        """The framing that is written: `sse`, `ndjson` or `json`."""
        return self._output.framing

    @property
    def ended(self) -> bool:
        """The stream is over: nothing more will be returned."""
        return self._lifecycle.ended

    @property
    def reason(self) -> Reason | None:
        """Why the stream ended, None while it has not."""
        return self._lifecycle.reason

    @property
    def error(self) -> ErrorInfo | None:
        """The terminal error of the stream, None if there is none."""
        return self._lifecycle.error

    @property
    def complete(self) -> bool:
        """There is soft evidence of a proper end: silence from here on is no failure."""
        return self._decoder is not None and self._decoder.complete

    @property
    def has_answer(self) -> bool:
        """A folded result holds more than a failure."""
        fold = getattr(self._output, "fold", None)
        return fold is not None and fold.has_answer

    @property
    def counts(self) -> dict[str, int]:
        """What has happened so far, for logs and metrics."""
        return {
            "bytes_in": self._bytes,
            "events": self._sequence,
            "tool_calls": self._tools.started,
            "malformed": self._malformed,
            "repairs": self._tools.repairs,
            "lost": self._output.lost.total() + self._messages.left_out,
        }

    # What the shells do

    def feed(self, data: bytes) -> bytes:
        """Take what arrived from the upstream; return what goes to the client. Never raises on input."""
        if self.ended:
            return b""
        self._now = self._clock()
        allowed = self._limits.stream_bytes - self._bytes
        self._bytes += len(data)
        if len(data) <= allowed:
            self._guarded(self._take, data)
        else:
            self._guarded(self._take, data[:allowed])
            self._guarded(lambda: self._end_with(error_info("STREAM_LIMIT_EXCEEDED")))
        return self._drain()

    def close(self) -> bytes:
        """The upstream's body has ended properly: return the end of the stream."""
        if self.ended:
            return b""
        self._now = self._clock()
        self._guarded(self._finish_input)
        self._guarded(self._close_decoder)
        self._guarded(lambda: self._end_with(self._what_is_missing()))
        return self._drain()

    def fail(self, failure: BaseException | ErrorInfo | str) -> bytes:
        """The upstream failed: return the end of the stream. A code is one of `CODES`.

        A stream with evidence of its end, or one that waits for a person, is complete all the same.
        """
        if self.ended:
            return b""
        self._now = self._clock()
        info = self._info(failure)
        if info.reason not in _OURS:
            self._guarded(lambda: self._finish_broken_input(info))
            if self.complete or self._lifecycle.waits_for_answer:
                self._guarded(self._close_decoder)
        self._guarded(lambda: self._end_with(info))
        return self._drain()

    def cancel(self, reason: Reason = "cancelled") -> bytes:
        """The run was stopped on request: return the end of the stream, which is no error."""
        if self.ended:
            return b""
        self._now = self._clock()
        self._guarded(lambda: self._push(SessionEnd(status="cancelled", reason=reason)))
        return self._drain()

    def heartbeat(self) -> bytes:
        """Return bytes that keep the connection busy without saying anything; nothing after the end."""
        return b"" if self.ended else self._output.heartbeat()

    def warn(self, message: str, message_code: str | None = None, detail: Any = None) -> None:
        """Send a warning before the next event; its message is the caller's and goes out as it is."""
        self._lifecycle.warn(
            _warning({"message": message, "message_code": message_code}, detail if self._debug else None)
        )

    # The chain

    def _read_as(self, name: str) -> None:
        """Settle the dialect of the upstream, and with it what depends on it."""
        cls = decoder_class(name)
        self.speaks = name
        self._decoder = make_decoder(name, self._options.get(name, NO_OPTIONS))
        self._parser = SniffingParser(self._limits.event_bytes, expected=cls.framing)
        self._use_stages(errors_for_users=cls.errors_for_users)
        self._output.read_as(name)

    def _use_stages(self, *, errors_for_users: bool) -> None:
        safety = Safety(errors_for_users=errors_for_users, debug=self._debug)
        stages: tuple[Stage, ...] = (safety, self._tools, self._messages, self._lifecycle)
        self._processes = [stage.process for stage in stages]
        self._routes = routes(tuple(map(type, stages)))

    def _take(self, data: bytes) -> None:
        if self._detector is not None:
            name = self._detector.feed(data)
            if name is None and not self._detector.exhausted:
                return
            data = self._settle(name or self._detector.finish())
        for frame in self._parser.feed(data):
            self._read(frame)
            if self._lifecycle.ended:
                return

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
        try:
            for event in self._decoder.decode(frame):
                self.started = True
                self._push(with_source(event, frame, self.speaks) if self._raw else event)
                if self._lifecycle.ended:
                    return
        except MalformedEvent:
            self._note_malformed(frame)
        if frame.invalid_text and not self._told_invalid_text:
            self._told_invalid_text = True
            self._tell("UPSTREAM_INVALID_TEXT", "Some text was not valid and was repaired.")

    def _note_malformed(self, frame: Frame) -> None:
        if frame.unterminated:
            self._half_a_frame = frame.data
            return
        self._malformed += 1
        if self._malformed > self._limits.malformed_events:
            self._end_with(error_info("STREAM_LIMIT_EXCEEDED", reason="malformed"))
        elif self._malformed <= TOLD_MALFORMED:
            self._tell("UPSTREAM_MALFORMED_EVENT", "A part of the answer could not be read and was left out.")

    def _tell(self, code: str, message: str) -> None:
        self._push(Warning(message=message, message_code=code, for_users=True))

    def _push(self, event: Event, position: int = 0) -> None:
        """Send `event` through the stages from `position` on, and out."""
        for index in self._routes[type(event)][position]:
            events = self._processes[index](event)
            if events is not None:
                for out in events:
                    self._push(out, index + 1)
                return
        self._write(event)

    def _write(self, event: Event) -> None:
        self._out.append(self._output.write(event, Stamp(self.request_id, self._sequence, self._now)))
        self._sequence += 1

    def _drain(self) -> bytes:
        if self.ended and not self._finished:
            self._finished = True
            self._guarded(lambda: self._out.append(self._output.finish()))
        out, self._out = self._out, []
        return b"".join(out)

    # The end

    def _finish_input(self) -> None:
        """Read what the end of the body completes."""
        if self._detector is not None and not self._detector.blank:
            self._take(self._settle(self._detector.finish()))
        for frame in self._parser.finish():
            if self.ended:
                return
            self._read(frame)

    def _finish_broken_input(self, info: ErrorInfo) -> None:
        """Read what came whole before the connection broke; `info` is why, also if it is nobody's dialect."""
        try:
            self._finish_input()
        except NotTheDialect:
            self._end_with(info)

    def _close_decoder(self) -> None:
        """Let the decoder say its last.

        An end that rests on EOF alone needs a body that is whole. A stream that asked for something and got
        no answer is suspended, whether or not the dialect says so.
        """
        if self.ended or self._decoder is None:
            return
        asks = self._lifecycle.waits_for_answer
        cut_off = not self._decoder.complete and (
            not self.started or self._is_cut_off or (self._tools.has_open and not asks)
        )
        for event in self._decoder.close():
            if isinstance(event, SessionEnd) and event.status == "completed" and (cut_off or asks):
                continue
            self._push(event)
        if asks and not cut_off:
            self._push(SessionEnd(status="suspended"))

    @property
    def _is_cut_off(self) -> bool:
        """The body ended within a line."""
        return self._half_a_frame is not None or self._parser.cut_off

    def _what_is_missing(self) -> ErrorInfo:
        """Why a body without terminal evidence is no answer: it broke off, or it is something else."""
        half = self._half_a_frame
        nothing_came = self._parser.blank and (self._detector is None or self._detector.blank)
        is_foreign = self._malformed or not self._parser.recognised or not _may_be_json(half)
        if not self.started and not nothing_came and is_foreign:
            return error_info("UPSTREAM_INVALID_RESPONSE")
        return error_info("UPSTREAM_TRUNCATED")

    def _end_with(self, info: ErrorInfo) -> None:
        if not self.ended:
            self._push(error_event(info))

    def _info(self, failure: BaseException | ErrorInfo | str) -> ErrorInfo:
        if isinstance(failure, ErrorInfo):
            return failure
        if isinstance(failure, BaseException):
            return classify_exception(failure, debug=self._debug)
        return error_info(failure if failure in CODES else "INTERNAL")

    def _guarded(self, step: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run `step`; whatever it raises ends the stream with the matching error."""
        try:
            step(*args, **kwargs)
        except LimitExceeded:
            self._end_safely(error_info("STREAM_LIMIT_EXCEEDED"))
        except NotTheDialect:
            self._end_safely(error_info("UPSTREAM_INVALID_RESPONSE"))
        except Exception:
            logger.exception("translating failed", extra={"request_id": self.request_id})
            self._end_safely(error_info("INTERNAL"))

    def _end_safely(self, info: ErrorInfo) -> None:
        try:
            self._end_with(info)
        except Exception:
            logger.exception("ending a stream failed", extra={"request_id": self.request_id})
            self._lifecycle.abandon()

    def _closing_warnings(self) -> Iterator[Warning]:
        untold = self._malformed - TOLD_MALFORMED
        if untold > 0:
            yield _warning(
                {
                    "message": f"{untold} more parts of the answer could not be read and were left out.",
                    "message_code": "UPSTREAM_MALFORMED_EVENT",
                }
            )
        lost = self._output.lost + Counter({"replaced text": self._messages.left_out})
        if lost:
            told = ", ".join(f"{number} x {kind}" for kind, number in sorted(lost.items()))
            yield _warning(
                {"message": f"This protocol could not carry: {told}.", "message_code": "LOSSY_CONVERSION"}
            )


def convert(
    data: bytes | str | Iterable[bytes],
    *,
    speaks: str = "auto",
    answers: str = "standard",
    framing: str = "sse",
    **options: Any,
) -> bytes:
    """Return the whole body `data`, translated; `options` are the other ones of `Translator`.

    Raises:
        ConfigurationError: an option has a value that it cannot have.
    """
    translator = Translator(speaks=speaks, answers=answers, framing=framing, **options)
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    pieces = [data] if isinstance(data, bytes) else data
    return b"".join([*map(translator.feed, pieces), translator.close()])


def _may_be_json(half: bytes | None) -> bool:
    """Is this half of a frame one that only broke off?"""
    return not half or half.startswith((b"{", b"["))


def _warning(item: str | Mapping[str, Any], detail: Any = None) -> Warning:
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
