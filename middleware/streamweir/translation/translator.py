"""Translates one stream from upstream bytes to client bytes, without I/O and without raising on input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from streamweir.classification import classify_break
from streamweir.codec.base import NO_OPTIONS
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import process_dialects
from streamweir.errors import CODES, ErrorInfo, Reason, error_info
from streamweir.events import Warning
from streamweir.metadata import unix_milliseconds
from streamweir.options.limits import Limits
from streamweir.options.signatures import checked, spells_out
from streamweir.request_id import new_request_id
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir.translation.stream_options import STREAM_DEFAULTS, StreamOptions
from streamweir.translation.taps import Taps, attach
from streamweir.translation.writer import StreamWriter

__all__ = ["Translator", "convert"]


class Translator:
    """Translates one stream: call `feed`, then `close` or `fail`, and send the bytes that each call returns.

    Args:
        speaks: the dialect of the upstream; `auto` detects it from the first messages.
        answers: the protocol of the client.
        framing: `sse`, `ndjson`, or `json` for one folded result at the end. If clients of the protocol
            cannot read it, the protocol's own framing is written.
        request_id: the id of all events; None: a new one.
        session_id: the id of the session, if the upstream names none; None: a new one.
        clock: returns the time in Unix milliseconds. With it and both ids given, the same input gives the
            same bytes, however it is cut.
        dialects: the set that `speaks` and `answers` are looked up in; None: that of the process.
        options: see `StreamOptions`.

    Attributes:
        request_id: the id of the stream.
        answers: the protocol of the client.
        stream: the normaliser: reader and pipeline.
        writer: writes the bytes of the client.

    Raises:
        UnknownDialectError: there is no decoder of `speaks` or no encoder of `answers`.
        ConfigurationError: another option has a value that it cannot have.
    """

    @spells_out(StreamOptions, STREAM_DEFAULTS, before="dialects")
    def __init__(
        self,
        *,
        speaks: str | Dialect = "auto",
        answers: str | Dialect = "standard",
        framing: str = "sse",
        request_id: str | None = None,
        session_id: str | None = None,
        clock: Callable[[], int] | None = None,
        dialects: Dialects | None = None,
        **options: Unpack[StreamOptions],
    ) -> None:
        self.request_id = request_id = request_id or new_request_id()
        self.answers = answers.name if isinstance(answers, Dialect) else answers
        given = checked(options, STREAM_DEFAULTS)
        debug, warnings = given["debug"], given["warnings"]
        self._debug = debug
        known = process_dialects() if dialects is None else dialects
        by_dialect = given["protocol_options"]
        dialect_options = known.checked_options(by_dialect) if by_dialect else NO_OPTIONS
        is_verbatim = given["verbatim"] and given["full_text"] == "dedupe"
        if is_verbatim and dialect_options:
            written = known.to_write(answers)
            is_verbatim = not written.asks_for_another_form(dialect_options.get(written.name, NO_OPTIONS))
        # The arguments are positional because keyword arguments double the cost, which each stream pays.
        reader = StreamReader(
            speaks, known, dialect_options, Limits.of(given["limits"]), given["raw"], given["eof"]
        )
        self.writer = open_writer(
            answers,
            framing,
            request_id=request_id,
            options=dialect_options,
            dialects=known,
            source=reader,
            verbatim=is_verbatim,
            opened_at=(clock or unix_milliseconds)(),
        )
        pipeline = Pipeline(
            (self.writer,),
            request_id,
            session_id,
            clock,
            given["full_text"],
            given["stream_tool_arguments"] or self.writer.streams_arguments,
            [_warning_of(item) for item in warnings] if warnings else (),
            debug,
            reader.limits.event_bytes,
            given["upstream"],
        )
        self.stream = StreamNormalizer(reader, pipeline)

    # What can be asked

    @property
    def media_type(self) -> str:
        """The content type of the output."""
        return self.writer.media_type

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a response with the output, in addition to those of every stream."""
        return self.writer.headers

    @property
    def framing(self) -> str:
        """The framing that is written: `sse`, `ndjson` or `json`."""
        return self.writer.framing

    @property
    def speaks(self) -> str:
        """The dialect of the upstream; `auto` before it is detected."""
        dialect = self.stream.reader.dialect
        return "auto" if dialect is None else dialect.name

    @property
    def started(self) -> bool:
        """Whether an event of the upstream has been read."""
        return self.stream.reader.started

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of the end, so silence is no failure."""
        return self.stream.complete

    @property
    def waits(self) -> bool:
        """Whether a person was asked and the upstream may go on: silence does not end the stream then."""
        return self.stream.waits

    @property
    def ended(self) -> bool:
        """Whether the stream is over: nothing more will be returned."""
        return self.stream.pipeline.position.ended

    @property
    def reason(self) -> Reason | None:
        """Why the stream ended; None before its end."""
        return self.stream.pipeline.reason

    @property
    def error(self) -> ErrorInfo | None:
        """The terminal error of the stream; None without one."""
        return self.stream.pipeline.error

    @property
    def has_answer(self) -> bool:
        """Whether the folded answer holds more than a failure; False if the output is no folded answer."""
        return isinstance(self.writer, FoldedWriter) and self.writer.has_answer

    @property
    def is_whole(self) -> bool:
        """Whether the output is one response body that decides the status: a folded answer, or a failure."""
        return isinstance(self.writer, FoldedWriter) or self.writer.is_failure

    @property
    def reports_by_status(self) -> bool:
        """Whether clients of the protocol go by the status and the headers of a failure."""
        return self.writer.reports_by_status

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the stream until now, for logs and metrics."""
        pipeline = self.stream.pipeline
        return {
            "bytes_in": self.stream.bytes,
            "events": pipeline.position.written + self.writer.added,
            "tool_calls": pipeline.tools.started,
            "malformed": self.stream.reader.malformed,
            "unknown": self.stream.reader.unknown,
            "repairs": pipeline.tools.repairs,
            "lost": self.writer.unsupported.total(),
        }

    # What can be done

    def add_sink(self, sink: EventSink) -> None:
        """Also pass the events to `sink`, from the next one on."""
        self.stream.pipeline.add_sink(sink)

    def add_taps(self, taps: Taps) -> None:
        """Let `taps` follow the stream, from the next event on."""
        if taps:
            attach(taps, self.stream.reader, self.stream.pipeline)

    def write_to(self, sink: EventSink) -> None:
        """Pass events to `sink` instead of the writer, from the next on; no bytes are returned any more."""
        self.stream.pipeline.write_to(sink)

    def release_writer(self) -> Writer:
        """Return the writer to a sink that takes its bytes from now on; this object returns no more bytes."""
        writer = self.writer
        if isinstance(writer, StreamWriter):
            self.writer = writer.twin()
        return writer

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the upstream; return bytes for the client. Never raises on input."""
        self.stream.feed(data)
        return self.writer.take()

    def close(self) -> bytes:
        """End the stream, because the upstream's body has ended properly; return the last bytes."""
        self.stream.close()
        return self.writer.take()

    def fail(self, failure: BaseException | ErrorInfo | str) -> bytes:
        """End the stream, because the upstream failed; return the last bytes.

        If there is evidence of the end, or a person was asked, the stream counts as complete instead.

        Args:
            failure: an exception, a classified failure, or a code of `CODES`.
        """
        self.stream.fail(self.info_of(failure))
        return self.writer.take()

    def info_of(self, failure: BaseException | ErrorInfo | str) -> ErrorInfo:
        """Return the report that `fail` makes of a failure: exceptions and codes are classified."""
        if isinstance(failure, ErrorInfo):
            return failure
        if isinstance(failure, BaseException):
            return classify_break(failure, has_begun=self.started, debug=self._debug)
        return error_info(failure if failure in CODES else "INTERNAL")

    def cancel(self, reason: Reason = "cancelled") -> bytes:
        """End the stream on request, which is not a failure; return the last bytes."""
        self.stream.cancel(reason)
        return self.writer.take()

    def take(self) -> bytes:
        """Return bytes for the client after calls to `stream` itself."""
        return self.writer.take()

    def heartbeat(self) -> bytes:
        """Return a heartbeat; empty after the end."""
        return b"" if self.ended else self.writer.heartbeat()

    def warn(self, message: str, message_code: str | None = None, detail: Any = None) -> None:
        """Send a warning before the next event; its message is sent unchanged."""
        warning = {"message": message, "message_code": message_code}
        self.stream.pipeline.warn(_warning_of(warning, detail if self._debug else None))


def convert(
    data: bytes | str | Iterable[bytes],
    *,
    speaks: str | Dialect = "auto",
    answers: str | Dialect = "standard",
    framing: str = "sse",
    **options: Any,
) -> bytes:
    """Return the whole body `data`, translated; `options` are the other options of `Translator`.

    Raises:
        ConfigurationError: an option has a value that it cannot have.
    """
    translator = Translator(speaks=speaks, answers=answers, framing=framing, **options)
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    pieces = [data] if isinstance(data, bytes) else data
    return b"".join([*map(translator.feed, pieces), translator.close()])


def _warning_of(item: str | Mapping[str, Any], detail: Any = None) -> Warning:
    """Return a warning with the caller's text, which is sent unchanged."""
    if isinstance(item, str):
        item = {"message": item}
    code = item.get("message_code")
    return Warning(
        message=str(item["message"]) or "Warning.",
        message_code=str(code) if code else None,
        detail=detail,
        for_users=True,
    )
