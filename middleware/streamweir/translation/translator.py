"""One stream from upstream bytes to client bytes: no I/O, no exceptions on input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from streamweir.classification import classify_exception
from streamweir.codec.error_only_body import error_event_of, error_only_body
from streamweir.errors import CODES, ErrorInfo, LimitExceeded, NotTheDialect, Reason, error_info
from streamweir.events import SessionEnd
from streamweir.translation.stream_chain import StreamChain, caller_warning
from streamweir.translation.writer import MEDIA_TYPES

__all__ = ["Translator", "convert"]

_OURS: Final = frozenset({"draining", "internal", "limit"})
"""Failures on our side of the connection: what the upstream has said so far does not make them complete."""


class Translator(StreamChain):
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

    # What the shells ask

    @property
    def media_type(self) -> str:
        """The content type of the output."""
        return MEDIA_TYPES[self._writer.framing]

    @property
    def framing(self) -> str:
        """The framing that is written: `sse`, `ndjson` or `json`."""
        return self._writer.framing

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
        fold = getattr(self._writer, "fold", None)
        return fold is not None and fold.has_answer

    @property
    def counts(self) -> dict[str, int]:
        """What has happened so far, for logs and metrics."""
        return {
            "bytes_in": self._bytes,
            "events": self._progress.written,
            "tool_calls": self._tools.started,
            "malformed": self._report.malformed,
            "repairs": self._tools.repairs,
            "lost": self._report.unsupported,
        }

    # What the shells do

    def count_from(self, began: int) -> None:
        """Let the stream's duration count from `began`, in Unix milliseconds: the request may be older."""
        self._progress.began = began

    def feed(self, data: bytes) -> bytes:
        """Take what arrived from the upstream; return what goes to the client. Never raises on input."""
        if self._lifecycle.ended:
            return b""
        self._progress.now = self._clock()
        allowed = self._limits.stream_bytes - self._bytes
        self._bytes += len(data)
        try:  # as `_guarded` does, at less cost for each read
            self._take(data if len(data) <= allowed else data[:allowed])
        except Exception as error:
            self._end_for(error)
        if len(data) > allowed:
            self._end_for(LimitExceeded("a stream is larger than allowed"))
        return self._drain()

    def close(self) -> bytes:
        """The upstream's body has ended properly: return the end of the stream."""
        if self.ended:
            return b""
        self._progress.now = self._clock()
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
        self._progress.now = self._clock()
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
        self._progress.now = self._clock()
        self._guarded(lambda: self._push(SessionEnd(status="cancelled", reason=reason)))
        return self._drain()

    def heartbeat(self) -> bytes:
        """Return bytes that keep the connection busy without saying anything; nothing after the end."""
        return b"" if self.ended else self._writer.heartbeat()

    def warn(self, message: str, message_code: str | None = None, detail: Any = None) -> None:
        """Send a warning before the next event; its message is the caller's and goes out as it is."""
        self._lifecycle.warn(
            caller_warning(
                {"message": message, "message_code": message_code}, detail if self._debug else None
            )
        )

    # The end

    def _finish_input(self) -> None:
        """Read what the end of the body completes."""
        if self._detector is not None and not self._detector.blank:
            name = self._detector.finish()
            if name is None and (failure := error_only_body(bytes(self._detector.head))):
                self._push(error_event_of(failure))
                return
            self._take(self._settle(name))
        for frame in self._parser.finish():
            if self.ended:
                return
            self._read(frame)
        self._end_with_lone_failure()

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
        is_foreign = self._report.malformed or not self._parser.recognised or not _may_be_json(half)
        if not self.started and not nothing_came and is_foreign:
            return error_info("UPSTREAM_INVALID_RESPONSE")
        return error_info("UPSTREAM_TRUNCATED")

    def _info(self, failure: BaseException | ErrorInfo | str) -> ErrorInfo:
        if isinstance(failure, ErrorInfo):
            return failure
        if isinstance(failure, BaseException):
            return classify_exception(failure, debug=self._debug)
        return error_info(failure if failure in CODES else "INTERNAL")


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
