"""One response that is a stream: the messages of the application go in, the bytes for the client go out.

For each message of the application at most one is sent; the headers are sent with the first one. Source: the
standard protocol 1.1, sections 2 to 5; the library contract, section 1.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

import anyio.lowlevel

from streamweir.asgi.hint_log import HintLog
from streamweir.asgi.response_delivery import ResponseDelivery
from streamweir.asgi.work_behind_end import WorkBehindEnd
from streamweir.codec.registry import process_dialects
from streamweir.delivery.client_port import ClientPort
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ErrorInfo
from streamweir.failures.ending import Ending, FailureFacts, FailureMode, Sent, ending_of
from streamweir.failures.whole_response import WholeResponse, envelope_response
from streamweir.framing.content_coding import BodyDecoder, CodedBodyError, unreadable_coding
from streamweir.http.fair_lock import FairLock
from streamweir.http.sending import Message, Send
from streamweir.translation.clock import StreamClock
from streamweir.translation.parts import WHOLE_BYTES, ReadParts
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["FILES", "NormalizedStream"]

FILES: Final = frozenset({"http.response.pathsend", "http.response.zerocopysend"})
"""Messages that name a file as the body. Its bytes never pass through the middleware."""

_BODY: Final = "http.response.body"


class NormalizedStream(ResponseDelivery):
    """The response of one request.

    state     entered by                                              messages of the application
    ───────   ─────────────────────────────────────────────────────   ───────────────────────────────────────
    reading   construction                                            are translated
    ended     the last part of the body: `source_ended`               are translated: they end the stream
    over      the last event is written: `is_over`                    are dropped

    `fail` sets `_can_break` before the end: the body may be left unended. `_first_read` is set with the first
    event; `_unread` and `_failure` are set with the error that ends the stream.

    Args:
        events: the events of this stream.
        client: gets the response.
        send: the ASGI `send` of the server, for messages that are neither a start nor a body.
        clock: the clock of the request.
        headers: the headers of the application's response; those that describe the old body are left out.
        behind: tells the application to stop some time after its stream has ended.
        hints: logs a hint for a stream that was not understood.
        decoder: undoes the content coding of the application's body; None if it has none.
        unreadable: the failure if the content coding is not supported.
        coding: the content coding as the headers name it.
        failures: how failures reach a client that gets the application's frames.
        debug: add details to an envelope.

    Attributes:
        is_over: the stream has ended. Set once; later messages of the application are dropped.
        source_ended: the application has sent the end of its body.
    """

    __slots__ = (
        "_behind",
        "_can_break",
        "_coding",
        "_debug",
        "_decoder",
        "_events",
        "_failure",
        "_failures",
        "_first_read",
        "_hints",
        "_is_plain",
        "_position",
        "_reading",
        "_send_other",
        "_unread",
        "_unreadable",
        "is_over",
        "source_ended",
        "translator",
    )

    def __init__(  # noqa: PLR0913 (what there is of a response)
        self,
        events: ApplicationStream,
        client: ClientPort,
        send: Send,
        *,
        clock: StreamClock,
        headers: Sequence[tuple[bytes, bytes]] = (),
        behind: WorkBehindEnd,
        hints: HintLog,
        decoder: BodyDecoder | None = None,
        unreadable: ErrorInfo | None = None,
        coding: str = "",
        failures: FailureMode = "told",
        debug: bool = False,
    ) -> None:
        super().__init__(client, clock, request_id=events.translator.request_id, headers=headers)
        self.translator = events.translator
        self.sink = events.translator.writer
        self.is_over = False
        self.source_ended = False
        self._position = events.translator.stream.pipeline.position
        self._events = events
        self._reading = FairLock()
        """The lock that is held while a message is translated in parts; later messages wait for it."""
        self._send_other = send
        self._decoder = decoder
        self._is_plain = decoder is None and unreadable is None
        self._hints = hints
        self._behind = behind
        self._unreadable = unreadable
        self._coding = coding
        self._failures = failures
        self._debug = debug
        self._can_break = False
        """The application has returned or raised: the body may be left unended."""
        self._unread: str | None = None
        self._failure: ErrorInfo | None = None
        self._first_read: float | None = None
        """The time when the first event was read; None before."""

    # Messages of the application

    def take(self, message: Message) -> Awaitable[None]:
        """Take a message of the application; drop it if the stream is over.

        This is a plain function: one more coroutine per event would cost half as much as the translation.

        Raises:
            OSError: the client has left, if the server reports that.
        """
        if message["type"] == _BODY and self._is_plain and message.get("more_body") and not self.is_over:
            body = message.get("body", b"")
            data = body if type(body) is bytes else bytes(body)
            if len(data) <= WHOLE_BYTES and not self._reading.is_taken:
                self._events.feed(data)
                return self.send() if self._first_read and not self._position.ended else self._flush()
        return self._take_rarely(message)

    async def _take_rarely(self, message: Message) -> None:
        if self.is_over:
            return
        match message["type"]:
            case kind if kind == _BODY:
                data, more = bytes(message.get("body", b"")), bool(message.get("more_body"))
                if self._unreadable is None:
                    await self.take_body(self._decoded(data), more=more)
                else:
                    self.source_ended = not more
                    self._fail_unread(self._unreadable)
                    await self._flush()
            case kind if kind in FILES:
                await self.fail("INTERNAL")
            case "http.response.start" | "http.response.trailers":
                pass  # a second start is ignored; trailers are about the body that is replaced
            case _:
                await self._send_other(message)

    async def take_body(self, pieces: Iterable[bytes], *, more: bool) -> None:
        """Take a decoded part of the body; with `more`, another part follows.

        Raises:
            OSError: the client has left, if the server reports that.
        """
        async with self._reading:
            if not self.is_over:
                await self._read(pieces, more=more)

    async def _read(self, pieces: Iterable[bytes], *, more: bool) -> None:
        self.source_ended = not more
        try:
            for piece in pieces:
                parts = ReadParts(piece)
                while not parts.feed(self._events.feed) and not self._position.ended:
                    await self._flush()
                    await anyio.lowlevel.checkpoint()
                if self._position.ended:
                    break
            if not more and not self._position.ended:
                if self._decoder is not None:
                    self._decoder.finish()
                self._events.close()
        except CodedBodyError as error:
            self._fail_unread(error.info)
        await self._flush()

    # The end

    async def end(self, how: Callable[[ApplicationStream], None]) -> None:
        """End the stream by calling `how`, unless the stream is over.

        Raises:
            OSError: the client has left, if the server reports that.
        """
        if not self.is_over:
            how(self._events)
            await self._flush()

    async def fail(self, failure: ErrorInfo | str, *, can_break: bool = False) -> None:
        """End the stream with an error, unless the stream is over.

        Args:
            failure: the classified failure, or a code.
            can_break: the application has returned or raised, so that the server closes an unended body.

        Raises:
            OSError: the client has left, if the server reports that.
        """
        self._can_break = can_break
        await self.end(lambda _events: self._fail(failure))

    def _fail(self, failure: ErrorInfo | str) -> None:
        if isinstance(failure, ErrorInfo):
            self._failure = failure
        self._events.fail(failure)

    def _fail_unread(self, failure: ErrorInfo) -> None:
        if failure.code == "UPSTREAM_INVALID_RESPONSE":  # otherwise the body is only cut off
            self._unread = unreadable_coding(self._coding.split(", "))
        self._fail(failure)

    async def _flush(self) -> None:
        """Send the bytes of the writer; end the body if the stream has ended."""
        if self._first_read is None and self.translator.started:
            self._first_read = time.monotonic()
        if not self._position.ended:
            await self.send()
            return
        if self.is_over:
            return
        self.is_over = True
        self._report_hint()
        self._behind.begin(self.translator.reason, body_ended=self.source_ended)
        await self._end_response()
        self._behind.note_end_sent()

    # The end of the response

    @property
    def passes_failures(self) -> bool:
        """Whether an exception of the application is raised to the server: the client gets its frames."""
        sink = self.sink
        return self._failures == "as_they_came" and isinstance(sink, VerbatimWriter) and sink.may_copy

    @property
    def holds_status(self) -> bool:
        """Whether a failure before the first byte is raised to the server, or has its own status."""
        return self.passes_failures

    async def _end_response(self) -> None:
        error, ending = self.translator.error, self._ending()
        if ending == "envelope" and error is not None:
            await self.answer(self._envelope(self._failure or error))
        elif ending == "break" and self._can_break:
            await self.send_rest()
        else:
            await self.finish(error, self._failure)

    def _ending(self) -> Ending:
        sink = self.sink
        if not isinstance(sink, VerbatimWriter):
            return "end"
        if self._can_break and not self.source_ended and sink.has_copied and self.passes_failures:
            return "break"  # the application has not ended its body, even if the stream is complete
        sent: Sent = "frames" if sink.has_copied else "heartbeats"
        return ending_of(
            FailureFacts(
                self.translator.error,
                sent if self.is_started or sink.has_copied else "nothing",
                copies=sink.may_copy,
                is_clean=self.source_ended,
                is_upstreams=sink.has_copied and not sink.has_own_end,
            ),
            self._failures,
        )

    def _envelope(self, info: ErrorInfo) -> WholeResponse:
        """Return the envelope, with other headers of the application such as those of CORS."""
        request_id, protocol = (
            self.translator.request_id,
            process_dialects().to_write(self.translator.answers),
        )
        made = envelope_response(info, request_id=request_id, debug=self._debug, protocol=protocol)
        known = {name for name, _ in made.headers}
        return made._replace(headers=[*made.headers, *(pair for pair in self._kept if pair[0] not in known)])

    def _decoded(self, data: bytes) -> Iterable[bytes]:
        return (data,) if self._decoder is None else self._decoder.feed(data)

    def _report_hint(self) -> None:
        now = time.monotonic()
        span = 0.0 if self._first_read is None else now - self._first_read
        reading = ((now - self.clock.began) * 1000, span * 1000)
        self._hints.report(
            self.translator, is_clean=self.source_ended, reading_ms=reading, unread=self._unread
        )
