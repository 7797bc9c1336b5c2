"""One covered request: the application's response passes through, or is translated.

    the application's response          state of the interceptor
    ─────────────────────────────────   ──────────────────────────────────────────────────────────────────────
    not begun                           waiting; a failure or a timeout begins a stream
    begun, of a type that is a stream   `_stream` is set; with `auto` first `_undecided`, until the dialect is
                                        known
    any other, or of no dialect         `_passes` is set: messages pass unchanged from here on

Source: the library contract, section 1.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio

from streamweir.asgi.normalized_stream import FILES, NormalizedStream
from streamweir.asgi.receive_proxy import ReceiveProxy
from streamweir.asgi.sniffed_response import SniffedResponse
from streamweir.asgi.stream_factory import AUTO, StreamFactory
from streamweir.asgi.work_behind_end import WorkBehindEnd
from streamweir.classification import classify_break
from streamweir.classification.statuses import STREAM_STATUSES
from streamweir.codec.registry import process_dialects
from streamweir.context import WarningCollector
from streamweir.delivery.asgi_client import AsgiClient
from streamweir.delivery.delivery import ClientGoneError
from streamweir.delivery.scheduler import GroupScheduler
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ErrorInfo, error_info
from streamweir.failures.whole_response import envelope_response
from streamweir.framing.content_coding import BodyDecoder, CodedBodyError, body_decoder
from streamweir.http.asked_answer import asked_framing
from streamweir.http.headers import REQUEST_ID, HeaderList, header_value
from streamweir.http.negotiation import choose_framing, chooses_protocol
from streamweir.http.ownership import StreamOwnership
from streamweir.http.sending import ASGIApp, Message, Receive, Scope, Send, with_header_list
from streamweir.stream_error import log_failure, log_passed_failure, purpose_of
from streamweir.translation.clock import Due, StreamClock, timeout_error
from streamweir.translation.taps import Taps, taps_for

__all__ = ["ResponseInterceptor"]

_START: Final = "http.response.start"
_BODY: Final = "http.response.body"
_RAISES_WHEN_GONE: Final = (2, 4)
"""The ASGI version since which `send` raises if the client has left."""


class ResponseInterceptor:
    """One request and its response.

    Args:
        options: the options of the middleware.
        answers: the protocol in which the client is answered.
        request_id: the id of the request.
        scope: the ASGI scope for the application.
        receive: the ASGI `receive` of the server.
        send: the ASGI `send` of the server.
        ownership: its `taken` is set if a layer below makes the stream.
        collector: the collector of the request's warnings.
        owns_collector: whether the collector is closed here.
        is_covered: whether a failure before the response becomes a stream.
    """

    def __init__(  # noqa: PLR0913 (what there is of a request)
        self,
        options: StreamFactory,
        *,
        answers: str,
        request_id: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        ownership: StreamOwnership,
        collector: WarningCollector,
        owns_collector: bool,
        is_covered: bool,
    ) -> None:
        self._options = options
        self._answers = answers
        self._request_id = request_id
        self._scope = scope
        self._send = send
        self._ownership = ownership
        self._collector = collector
        self._owns_collector = owns_collector
        self._is_covered = is_covered
        self._listening = ReceiveProxy(receive)
        self._start: Message | None = None
        self._taps = Taps()
        self._stream: NormalizedStream | None = None
        self._undecided: SniffedResponse | None = None
        self._passes = False
        now = time.monotonic()
        self._clock = StreamClock(began=now, timeouts=options.timeouts, heartbeat=options.heartbeat)
        self._clock.asked, self._clock.is_closed = now, True
        self._client_port = AsgiClient(receive, send)
        self._scheduler: GroupScheduler
        self._behind: WorkBehindEnd
        self._supervisor: DeliverySupervisor

    async def run(self, app: ASGIApp, *, reraise: bool) -> None:
        """Let `app` answer the request.

        Raises:
            BaseException: the application's exception, if the exception is not answered here; with `reraise`
                also an answered one, once the response is complete.
        """
        failure: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            self._scheduler = GroupScheduler(tasks)
            self._behind = WorkBehindEnd(self._listening, self._scheduler)
            self._supervisor = DeliverySupervisor(self._clock, self, self._scheduler)
            if self._is_covered and self._options.has_early_clock:
                self._supervisor.update()
            try:
                failure = await self._called(app)
                if failure is None or isinstance(failure, Exception):
                    failure = await self._conclude(failure, reraise=reraise)
            finally:
                self._supervisor.close()
                self._taps.finish()
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # its traceback has this frame, which would keep it and all of the request

    async def _called(self, app: ASGIApp) -> BaseException | None:
        """Call `app`; return its exception instead of raising it, because the task group would wrap it."""
        try:
            await app(self._scope, self._listening.receive, self.send)
        except (anyio.get_cancelled_exc_class(), GeneratorExit):
            raise
        except BaseException as error:
            return error
        return None

    # Messages of the application

    def send(self, message: Message) -> Awaitable[None]:
        """Take a message. This is a plain function: one more coroutine would cost as much as its work."""
        stream = self._stream
        if stream is not None and stream.is_started and not stream.is_over:
            return stream.take(message)
        return self._send_rarely(message)

    async def _send_rarely(self, message: Message) -> None:
        """Take any message other than one in the middle of a stream."""
        stream = self._stream
        if stream is not None:
            if stream.is_over:
                await self._refuse(message)
            elif stream.is_started or message["type"] not in FILES or stream.clock.last_read is not None:
                await stream.take(message)
            else:
                await self._pass_on_file(message)
        elif self._undecided is not None:
            self._undecided.take(message)
            await self._decide(self._undecided)
        elif self._start is None and not self._passes and message["type"] == _START:
            await self._begin(message)
        else:
            await self._send(message)

    async def _begin(self, start: Message) -> None:
        start = with_header_list(start)
        headers = start.get("headers", ())
        may_be_stream = start["status"] in STREAM_STATUSES and self._options.reads(headers)
        if not may_be_stream or self._is_ours(headers):
            await self._pass_on([start])
            return
        self._start = start
        if self._options.speaks != AUTO:
            self._open(start)
            return
        self._undecided = SniffedResponse(start, limit=self._options.event_bytes)
        await self._decide(self._undecided)

    def _is_ours(self, headers: HeaderList) -> bool:
        """Return whether a layer below or an `EventStream` makes the stream, which is then not translated."""
        return self._ownership.taken or (self._collector.attached and bool(header_value(headers, REQUEST_ID)))

    async def _decide(self, undecided: SniffedResponse) -> None:
        if undecided.is_foreign:
            self._undecided = None
            await self._pass_on(undecided.messages)
        elif undecided.dialect is not None:
            self._undecided = None
            stream = self._open_as(undecided.dialect, undecided.messages[0], undecided.decoder)
            await stream.take_body((bytes(undecided.head),), more=not undecided.has_ended)

    async def _pass_on(self, messages: list[Message]) -> None:
        """Pass the response on unchanged from now on, beginning with `messages`."""
        self._passes = True
        self._scheduler.close()
        if self._owns_collector and not self._collector.attached:
            self._collector.close()
        for message in messages:
            await self._send(message)

    async def _pass_on_file(self, message: Message) -> None:
        """Pass the response on: its body is a file, whose bytes the middleware does not see."""
        assert self._start is not None
        self._stream = None
        await self._pass_on([self._start, message])

    async def _refuse(self, message: Message) -> None:
        """Drop a message that is sent after the end of the stream; raise if it comes too late."""
        if message["type"] == _BODY and not message.get("more_body"):
            self._behind.note_body_ended()
            return
        if not self._behind.allows_message() and self._server_raises:
            raise ClientGoneError("the stream is over")
        await self._behind.yield_to_others()

    @property
    def _server_raises(self) -> bool:
        version = str(self._scope.get("asgi", {}).get("spec_version", "2.0"))
        return tuple(int(part) for part in version.split(".") if part.isdigit()) >= _RAISES_WHEN_GONE

    # Making the stream

    def _open(self, start: Message | None) -> NormalizedStream:
        """Begin the stream with the start of the application's response, or without one after a failure."""
        headers = start.get("headers", ()) if start is not None else ()
        failure: ErrorInfo | None = None
        decoder = None
        try:
            decoder = body_decoder(header_value(headers, b"content-encoding"))
        except CodedBodyError as error:
            failure = error.info
        speaks = self._options.speaks
        if speaks == AUTO:
            speaks = self._answers if self._options.passes_failures(self._answers) else "standard"
        return self._open_as(speaks, start, decoder, failure)

    def _open_as(
        self,
        speaks: str,
        start: Message | None,
        decoder: BodyDecoder | None,
        failure: ErrorInfo | None = None,
    ) -> NormalizedStream:
        headers: HeaderList = start.get("headers", ()) if start is not None else ()
        events = self._options.stream(
            answers=self._answers,
            framing=self._framing(speaks, headers),
            request_id=self._request_id,
            speaks=speaks,
            collector=self._collector,
        )
        events.translator.stream.reader.note_headers(headers)
        if self._ownership.asked is not None:
            events.translator.writer.take_names(self._ownership.asked.names)
        self._taps = taps_for(self._ownership.all_taps, self._scope)
        events.translator.add_taps(self._taps)
        self._ownership.take_above()
        self._collector.attach()
        self._collector.open()
        stream = self._make_stream(
            events,
            clock=self._clock,
            headers=tuple(headers),
            behind=self._behind,
            hints=self._options.hints,
            decoder=decoder,
            unreadable=failure,
            coding=header_value(headers, b"content-encoding"),
            failures=self._options.failures,
            debug=self._options.debug,
        )
        stream.status = start["status"] if start is not None else 200
        self._stream = self._supervisor.delivery = stream
        self._clock.source = stream.translator
        self._clock.is_closed = False
        self._supervisor.update()
        return stream

    def _framing(self, speaks: str, headers: HeaderList) -> str:
        """Return the framing of the client; `headers` are the application's."""
        request, usual = self._scope["headers"], self._options.framing_of(headers)
        accept, asked = header_value(request, b"accept"), self._ownership.asked
        framing = choose_framing(accept, usual)
        if asked is not None:
            return asked_framing(asked.protocol, asked.body, accept, framing, usual)
        if framing != "json" or not self._options.copies(self._answers, speaks):
            return framing
        has_chosen = chooses_protocol(request, self._scope.get("query_string", b""), self._options.answers)
        return framing if has_chosen else usual

    def _make_stream(self, events: ApplicationStream, **options: Any) -> NormalizedStream:
        """Return the stream of the response; `options` are those of `NormalizedStream`."""
        return NormalizedStream(events, self._client_port, self._send, **options)

    # The source of the delivery

    def lose_client(self) -> None:
        """Do nothing: the next message of the application raises, as it would without the middleware."""

    def abandon(self) -> None:
        """Do nothing, as in `lose_client`."""

    def run_out(self, due: Due) -> None:
        """End the stream; if it has not begun, begin a stream that reports the timeout."""
        self._scheduler.start(partial(self._end_for, due))

    async def _end_for(self, due: Due) -> None:
        if self._passes:
            return
        self._undecided = None
        stream = self._stream or self._open(self._start)
        with suppress(OSError):
            if due in ("total_timeout", "first_event_timeout", "idle_timeout"):
                await stream.fail(timeout_error(due))
            else:
                await stream.end(lambda events: events.close())

    # The end

    async def _conclude(self, failure: Exception | None, *, reraise: bool) -> Exception | None:
        """End the stream when the application has returned; return the exception that has to be raised."""
        if self._undecided is not None:
            self._undecided.give_up()
            passes = self._options.passes_failures(self._answers)
            if self._undecided.is_blank and (self._is_covered or passes) and failure is not None:
                self._undecided = None
            else:
                await self._decide(self._undecided)
        stream = self._stream
        if stream is not None:
            return await self._conclude_stream(stream, failure, reraise=reraise)
        if failure is None or self._passes or self._ownership.failure_passes:
            return failure
        if self._options.passes_failures(self._answers) and self._framing(self._answers, ()) != "json":
            return await self._pass_failure(failure)
        if not self._is_covered:
            return failure
        return await self._conclude_stream(self._open(self._start), failure, reraise=reraise)

    async def _conclude_stream(
        self, stream: NormalizedStream, failure: Exception | None, *, reraise: bool
    ) -> Exception | None:
        passes = stream.passes_failures
        try:
            if failure is None:
                await stream.fail(error_info("UPSTREAM_TRUNCATED"), can_break=True)
                return None
            if stream.source_ended or stream.gone is not None:
                return failure  # the response is complete, or has no client
            if _follows_from_the_end(failure):
                return failure if reraise else None
            if passes and not stream.is_started:
                return await self._pass_failure(failure)
            (log_passed_failure if passes else log_failure)(failure, request_id=self._request_id)
            has_begun = stream.translator.started
            info = classify_break(failure, has_begun=has_begun, debug=self._options.debug)
            await stream.fail(info, can_break=True)
        except OSError:
            pass  # the client has left
        if passes:
            self._ownership.let_failure_pass()
        return failure if reraise or passes else None

    async def _pass_failure(self, failure: Exception) -> Exception | None:
        """Return a failure before the client has received any byte; answer one that was raised on purpose."""
        purpose = purpose_of(failure)
        if purpose is None or not self._is_covered:
            self._ownership.let_failure_pass()
            return failure
        log_failure(purpose, request_id=self._request_id)
        protocol = process_dialects().to_write(self._answers)
        answer = envelope_response(
            purpose.info, request_id=self._request_id, debug=self._options.debug, protocol=protocol
        )
        with suppress(OSError):
            await self._client_port.send_start(answer.status, answer.headers)
            await self._client_port.send_body(answer.body, False)
        return None


def _follows_from_the_end(failure: Exception) -> bool:
    """Return whether a failure only results from the refusal of a message after the end of the stream."""
    return isinstance(failure, ClientGoneError) or isinstance(failure.__context__, ClientGoneError)
