"""One response that is a stream: what the application sends goes in, what the client gets goes out.

At most one message leaves for each that came, and the headers leave with the first. Source: the standard
protocol 1.1, sections 2 to 5; the library contract, section 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

import anyio

from streamweir.asgi.hint_log import HintLog
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ErrorInfo
from streamweir.framing.content_coding import BodyDecoder, CodedBodyError, unreadable_coding
from streamweir.http.fair_lock import FairLock
from streamweir.http.folded_response import folded_response
from streamweir.http.headers import encoded_headers, kept_headers, stream_headers
from streamweir.http.sending import Message, Send
from streamweir.translation.clock import StreamClock
from streamweir.translation.translator import Translator

__all__ = ["FILES", "ClientGoneError", "NormalizedStream", "stream_start"]

FILES: Final = frozenset({"http.response.pathsend", "http.response.zerocopysend"})
"""A body that never comes by here."""

_BODY: Final = "http.response.body"


class ClientGoneError(OSError):
    """There is nobody to send to, as a server says it since ASGI 2.4."""


class NormalizedStream:
    """The response of one request.

    Args:
        events: of this stream.
        send: of the server.
        clock: of the request.
        headers: the application's, kept as far as they still hold.
        on_over: called when the end of the body has been sent.
        hints: is told of a stream that was not understood.
        decoder: undoes the content coding of the application's body.
        unreadable: why the body cannot be read at all.
        coding: of the application's body, as its headers name it.

    Attributes:
        over: the body has ended, as far as the client can see.
        is_over: the same, to be asked for each message.
        source_ended: the application has ended its body itself.
        gone: why sending failed, None while it has not.
        clock: of the request; it is noted here when something came and left.
    """

    def __init__(  # noqa: PLR0913 (what there is of a response)
        self,
        events: ApplicationStream,
        send: Send,
        *,
        clock: StreamClock,
        headers: Sequence[tuple[bytes, bytes]] = (),
        on_over: Callable[[], None],
        hints: HintLog,
        decoder: BodyDecoder | None = None,
        unreadable: ErrorInfo | None = None,
        coding: str = "",
    ) -> None:
        self.translator = events.translator
        self._position = events.translator.stream.pipeline.position
        self._events = events
        self.over = anyio.Event()
        self.is_over = False
        self.source_ended = False
        self.is_started = False
        self.gone: OSError | None = None
        self.clock = clock
        self._send = send
        self._kept = kept_headers(headers)
        self._decoder = decoder
        self._is_plain = decoder is None and unreadable is None
        self._hints = hints
        self._on_over = on_over
        self._turn = FairLock()
        self._unreadable = unreadable
        self._coding = coding
        self._unread: str | None = None
        self._failure: ErrorInfo | None = None
        self._first_read: float | None = None
        """When the first event came."""

    async def take(self, message: Message, *, is_decoded: bool = False) -> None:
        """Take what the application sends; it is dropped if the stream is over.

        Args:
            message: of the application.
            is_decoded: the content coding of its body has been undone.

        Raises:
            OSError: the client has left, as far as the server says so.
        """
        turn = self._turn
        if turn.is_taken:  # by hand: `async with` costs as much for each event as sending it
            await turn.wait()
        else:
            turn.is_taken = True
        clock, sends = self.clock, False
        try:
            if self.is_over:
                return
            if message["type"] != _BODY:
                await self._take_other(message)
                return
            clock.is_busy = True
            more, data = bool(message.get("more_body")), bytes(message.get("body", b""))
            is_next = more and self._is_plain
            out = self._events.feed(data) if is_next else self._translated(data, more, is_decoded=is_decoded)
            if out and more and self._first_read and self.gone is None and not self._position.ended:
                # as `_write` does it: a coroutine more costs as much as translating half an event
                sends = True
                await self._send({"type": _BODY, "body": out, "more_body": True})
            else:
                await self._write(out)
        except OSError as error:
            self._note_gone(error)
            raise
        finally:
            if clock.is_busy:
                clock.is_busy = False
                clock.last_read = now = time.monotonic()
                if sends:
                    clock.last_write = now
            if turn.waiting:
                turn.pass_on()
            else:
                turn.is_taken = False

    async def _take_other(self, message: Message) -> None:
        match message["type"]:
            case kind if kind in FILES:
                await self._write(self._fail("INTERNAL"))
            case "http.response.start" | "http.response.trailers":
                pass  # a second start is nobody's; trailers spoke of the body that is replaced
            case _:
                await self._send(message)

    async def resume(self, head: bytes, *, more: bool) -> None:
        """Take the beginning of the body, its content coding undone; `more` is to come.

        Raises:
            OSError: the client has left, as far as the server says so.
        """
        await self.take({"type": _BODY, "body": head, "more_body": more}, is_decoded=True)

    async def end(self, how: Callable[[ApplicationStream], bytes]) -> None:
        """End the stream the way that `how` does, if it is not over.

        Raises:
            OSError: the client has left, as far as the server says so.
        """
        async with self._turn:
            if not self.is_over:
                await self._write(how(self._events))

    async def fail(self, failure: ErrorInfo) -> None:
        """End the stream with an error, if it is not over.

        Raises:
            OSError: the client has left, as far as the server says so.
        """
        await self.end(lambda _events: self._fail(failure))

    async def beat(self) -> None:
        """Send what says nothing, if nothing else is being sent."""
        self.clock.last_write = time.monotonic()
        if self._turn.is_taken:
            return
        async with self._turn:
            if not self.is_over:
                await self._write(self._events.heartbeat())

    def _translated(self, data: bytes, more: bool, *, is_decoded: bool) -> bytes:
        self.source_ended = not more
        try:
            out = self._events.feed(data) if is_decoded or self._is_plain else self._decoded(data)
            if more or self.translator.ended:
                return out
            if self._decoder is not None:
                self._decoder.finish()
        except CodedBodyError as error:
            return self._fail_unread(error.info)
        return out + self._events.close()

    def _decoded(self, data: bytes) -> bytes:
        if self._unreadable is not None:
            return self._fail_unread(self._unreadable)
        assert self._decoder is not None
        out = []
        for piece in self._decoder.feed(data):
            out.append(self._events.feed(piece))
            if self.translator.ended:
                break
        return b"".join(out)

    def _fail_unread(self, failure: ErrorInfo) -> bytes:
        if failure.code == "UPSTREAM_INVALID_RESPONSE":  # or else it only broke off
            self._unread = unreadable_coding(self._coding.split(", "))
        return self._fail(failure)

    def _fail(self, failure: ErrorInfo | str) -> bytes:
        if isinstance(failure, ErrorInfo):
            self._failure = failure
        return self._events.fail(failure)

    def _note_gone(self, error: OSError) -> None:
        """Sending failed; the traceback of what was raised has frames that keep this object."""
        if self.gone is None:
            self.gone = OSError(*error.args)

    async def _write(self, data: bytes) -> None:
        """Send `data`, and the end of the body with it if the stream has ended."""
        if self.gone is not None:
            raise ClientGoneError("the client has left") from self.gone
        ended = self.translator.ended
        if not data and not ended:
            return
        if self._first_read is None and self.translator.started:
            self._first_read = time.monotonic()
        if ended:
            self.is_over = True
            self.over.set()
            self._report_hint()
        try:
            if not self.is_started:
                self.is_started = True
                await self._send(stream_start(self.translator, data, kept=self._kept, failure=self._failure))
            await self._send({"type": _BODY, "body": data, "more_body": not ended})
        except OSError as error:
            self._note_gone(error)
            raise
        finally:
            self.clock.last_write = time.monotonic()
        if ended:
            self._on_over()

    def _report_hint(self) -> None:
        now = time.monotonic()
        span = 0.0 if self._first_read is None else now - self._first_read
        reading = ((now - self.clock.began) * 1000, span * 1000)
        self._hints.report(
            self.translator, is_clean=self.source_ended, reading_ms=reading, unread=self._unread
        )


def stream_start(
    translator: Translator,
    first: bytes,
    *,
    status: int = 200,
    kept: Sequence[tuple[bytes, bytes]] = (),
    failure: ErrorInfo | None = None,
) -> Message:
    """Return the message that starts the response of a stream.

    Args:
        translator: of the stream.
        first: the bytes that are sent with it: all of them where the answer is folded.
        status: where the stream is more than a failure.
        kept: other headers.
        failure: as it was classified, for the status of an answer that is nothing but a failure.
    """
    extra = [*kept, *encoded_headers(translator.headers)]
    if translator.is_whole:
        status, own = folded_response(
            first,
            translator.error,
            has_answer=translator.has_answer,
            status=status,
            failure=failure,
            own_form=translator.reports_by_status,
        )
        extra += own
    headers = stream_headers(translator.media_type, translator.request_id, extra)
    return {"type": "http.response.start", "status": status, "headers": headers}
