"""Starlette responses: a stream of one's own, and a failure before there is one.

Source: the library contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import copy_context
from typing import Any, Unpack, cast

import anyio
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response

from streamweir.asgi.asgi_client import AsgiClient
from streamweir.asgi.response_delivery import ResponseDelivery
from streamweir.classification import classify_exception
from streamweir.delivery.delivery import Delivery
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.background import start_in_background
from streamweir.emit.event_sending import ALWAYS_PASS
from streamweir.emit.event_source import LEAVING_SECONDS
from streamweir.emit.event_stream import EventContent, EventStream
from streamweir.emit.event_stream_options import EVENT_STREAM_DEFAULTS, EventStreamOptions
from streamweir.errors import ConfigurationError, ErrorInfo
from streamweir.http.headers import header_value, kept_headers, settled_request_id, stream_headers
from streamweir.http.negotiation import UnknownProtocolError, choose_protocol
from streamweir.http.ownership import take_ownership
from streamweir.http.refusals import Refusal, failure_parts, send_refusal
from streamweir.http.sending import Receive, Scope, Send
from streamweir.jsontext import write_json
from streamweir.options.durations import optional_duration
from streamweir.options.signatures import checked, spells_out
from streamweir.stream_error import StreamError

__all__ = ["EventStreamResponse", "preflight_error"]


class EventStreamResponse(Response):
    """A stream of events as a Starlette response.

    `Accept` chooses the framing, `X-Streamweir-Protocol` or `?protocol=` one of `answers`. The content is
    closed within a second when the client leaves. It needs no middleware; below one it shares its request id
    and warnings, and is not read again.

    Args:
        content: see `streamweir.EventStream`.
        answers: the protocols that a client may choose from; the first is the default.
        framing: `sse`, `ndjson` or `json`: the one to choose where `Accept` leaves it open.
        status_code: the status of the response.
        headers: sent beside those of the stream.
        background: a task that runs when the response is over.
        speaks: the dialect of items that are text, and of dicts that have not the standard's shape.
        options: see `streamweir.EventStream`.

    Raises:
        UnknownDialectError: nobody reads `speaks` or writes one of `answers`.
        ConfigurationError: another option has a value that it cannot have.
    """

    @spells_out(EventStreamOptions, EVENT_STREAM_DEFAULTS)
    def __init__(
        self,
        content: EventContent,
        *,
        answers: str | Sequence[str] = ("standard",),
        framing: str = "sse",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
        speaks: str = "standard",
        **options: Unpack[EventStreamOptions],
    ) -> None:
        given = cast("EventStreamOptions", checked(options, EVENT_STREAM_DEFAULTS))
        self.status_code = status_code
        self.background = background
        self.init_headers(headers)
        self._content = content
        self._answers = (answers,) if isinstance(answers, str) else tuple(answers)
        self._request_id = given["request_id"]
        self._heartbeat = optional_duration(given["heartbeat"], name="heartbeat")
        self._options: dict[str, Any] = {
            "framing": framing,
            "speaks": speaks,
            "session_id": given["session_id"],
            "warnings": given["warnings"],
            "full_text": given["full_text"],
            "debug": given["debug"],
        }
        if not self._answers:
            raise ConfigurationError("answers must be one name or several")
        for name in self._answers:
            ApplicationStream(answers=name, **self._options)  # a wrong option is refused at once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        request_id = self._request_id or settled_request_id(scope)
        try:
            protocol = choose_protocol(scope["headers"], scope.get("query_string", b""), self._answers)
        except UnknownProtocolError as error:
            refusal = Refusal("BAD_REQUEST", f"X-Streamweir-Protocol: {error}.")
            await self._stream(request_id, self._answers[0], scope).aclose()
            await send_refusal(send, refusal, request_id=request_id)
            return
        await self._respond(self._stream(request_id, protocol, scope), scope, receive, send)
        if self.background is not None:
            await self.background()

    def _stream(self, request_id: str, protocol: str, scope: Scope) -> EventStream:
        return EventStream(
            self._content,
            protocol=protocol,
            accept=header_value(scope["headers"], b"accept"),
            request_id=request_id,
            heartbeat=self._heartbeat,
            **self._options,
        )

    async def _respond(self, stream: EventStream, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            await stream.aclose()
            headers = stream_headers(stream.media_type, stream.request_id, kept_headers(self.raw_headers))
            await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        delivery = _OwnDelivery(self, stream, AsgiClient(receive, send), scope)
        await _send_while_listening(stream, delivery)


class _OwnDelivery(ResponseDelivery):
    """The delivery of an `EventStreamResponse`, which owns the response of its request from its start on."""

    __slots__ = ("_scope",)

    def __init__(self, response: Response, stream: EventStream, client: AsgiClient, scope: Scope) -> None:
        super().__init__(client, stream.clock, request_id=stream.request_id, headers=response.raw_headers)
        self.status = response.status_code
        self._scope = scope

    async def _start(self, data: bytes, *, more: bool) -> None:
        take_ownership(self._scope)
        await super()._start(data, more=more)


async def _send_while_listening(stream: EventStream, delivery: Delivery) -> None:
    """Send the stream until it is over or the client has left.

    The stream has a task of its own, which is cancelled once: a cancel scope would cancel what the content's
    generator awaits while it cleans up as well.
    """
    failure: BaseException | None = None
    finished = anyio.Event()

    async def run() -> None:
        nonlocal failure
        try:
            await stream.deliver(delivery)
        except OSError:
            pass  # the server says that the client has left
        except (Exception, *ALWAYS_PASS) as error:
            failure = error
        finally:
            finished.set()

    listening, waiting = anyio.CancelScope(), anyio.CancelScope()

    async def listen() -> None:
        with listening:
            await delivery.client.until_left()
            waiting.cancel()

    sending = start_in_background(run, copy_context())
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            with waiting:
                await finished.wait()
            listening.cancel()
    finally:
        if not finished.is_set():
            sending.cancel()
            with anyio.move_on_after(LEAVING_SECONDS, shield=True):
                await finished.wait()
    if failure is not None:
        try:
            raise failure
        finally:
            failure = None  # its traceback has this frame, which would keep it and all of the stream


def preflight_error(
    error: BaseException | ErrorInfo | str,
    *,
    status_code: int | None = None,
    request_id: str | None = None,
    debug: bool = False,
) -> JSONResponse:
    """Return the response that reports a failure in place of a stream.

    Args:
        error: an exception, a classified failure, or a code.
        status_code: the status of the response; the failure's own if None.
        request_id: the id of the request; the current one if None.
        debug: add details to the envelope, redacted.

    Raises:
        ValueError: `error` is text, but no code.
    """
    if isinstance(error, str):
        error = StreamError(error)
    info = error if isinstance(error, ErrorInfo) else classify_exception(error, debug=debug)
    status, body, headers = failure_parts(info, request_id=request_id, debug=debug)
    return _JSON(body, status_code=status_code or status, headers=headers)


class _JSON(JSONResponse):
    def render(self, content: object) -> bytes:
        return write_json(content)
