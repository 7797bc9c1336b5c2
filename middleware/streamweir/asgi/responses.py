"""Starlette responses: an application's own stream, and a failure in place of one.

Source: the library contract, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Unpack, cast

from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response

from streamweir.asgi.listening import deliver_while_listening
from streamweir.asgi.response_delivery import ResponseDelivery
from streamweir.delivery.asgi_client import AsgiClient
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.event_stream import EventContent, EventStream
from streamweir.emit.event_stream_options import EVENT_STREAM_DEFAULTS, EventStreamOptions
from streamweir.errors import ConfigurationError, ErrorInfo
from streamweir.http.error_envelope import info_of
from streamweir.http.headers import header_value, kept_headers, settled_request_id, stream_headers
from streamweir.http.negotiation import UnknownProtocolError, choose_protocol
from streamweir.http.ownership import ownership_in, runs_are_kept_above, take_ownership
from streamweir.http.refusals import Refusal, failure_parts, send_refusal
from streamweir.http.sending import Receive, Scope, Send
from streamweir.jsontext import write_json
from streamweir.options.heartbeats import parse_heartbeat
from streamweir.options.signatures import checked, spells_out
from streamweir.runs.options import Resume, check_resume
from streamweir.runs.store import RunStore
from streamweir.translation.taps import Taps, taps_for

__all__ = ["EventStreamResponse", "preflight_error"]


class EventStreamResponse(Response):
    """A stream of events as a Starlette response.

    `Accept` chooses the framing; `X-Streamweir-Protocol` or `?protocol=` chooses one of `answers`. The
    content is closed within a second when the client leaves. The response needs no middleware; below a
    middleware it shares the middleware's request id and warnings, and is not translated again.

    If a middleware above or the response itself has `resume`, the stream becomes a run: the content continues
    without its client, and a later request resumes reading the run. With its own `resume` the runs are read
    at the URL of the response; a middleware with the same `resume` and `store` serves `Resume.path` too.

    Args:
        content: see `streamweir.EventStream`.
        answers: the protocols that a client may choose from; the first is the default.
        framing: `sse`, `ndjson` or `json`; used if `Accept` names none of them.
        status_code: the status of the response.
        headers: headers to send in addition to those of the stream.
        background: a task that runs when the response is over.
        speaks: the dialect of items that are text, and of dicts that are not standard events.
        resume: keeps the stream as a run, if no middleware above does; needs `store` and asyncio.
        store: keeps the runs. The store has to outlive the response.
        options: see `streamweir.EventStream`.

    Raises:
        UnknownDialectError: there is no decoder for `speaks`, or no encoder for one of `answers`.
        ConfigurationError: another option has an invalid value.
    """

    @spells_out(EventStreamOptions, EVENT_STREAM_DEFAULTS)
    def __init__(  # noqa: PLR0913 (the keyword-only options are the contract of the library)
        self,
        content: EventContent,
        *,
        answers: str | Sequence[str] = ("standard",),
        framing: str = "sse",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
        resume: Resume | None = None,
        store: RunStore | None = None,
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
        self._heartbeat = parse_heartbeat(given["heartbeat"])
        self._options: dict[str, Any] = {
            "framing": framing,
            "speaks": speaks,
            "session_id": given["session_id"],
            "warnings": given["warnings"],
            "full_text": given["full_text"],
            "debug": given["debug"],
        }
        self._own_runs: dict[str, Any] | None = None
        if resume is not None or store is not None:
            check_resume(resume, store)
            self._own_runs = {
                "resume": resume,
                "store": store,
                "answers": self._answers,
                "framing": framing,
                "heartbeat": self._heartbeat,
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
        stream = self._stream(request_id, protocol, scope)
        if scope["method"] == "HEAD":
            await self._send_head(stream, send)
        elif not await self._respond(stream, scope, receive, send):
            await stream.aclose()
            return
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

    async def _send_head(self, stream: EventStream, send: Send) -> None:
        await stream.aclose()
        headers = stream_headers(stream.media_type, stream.request_id, kept_headers(self.raw_headers))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _respond(self, stream: EventStream, scope: Scope, receive: Receive, send: Send) -> bool:
        """Send the stream; return False if the client was sent an existing run instead."""
        if self._own_runs is not None or runs_are_kept_above(scope):
            from streamweir.asgi.resumption.response_run import admit, deliver_run  # noqa: PLC0415 (asyncio)

            admitted = await admit(self._own_runs, stream, scope, receive, send)
            if admitted is None:
                return False
            receive = admitted.receive
            if admitted.run is not None:
                self._tapped(stream, scope)  # the run, which may outlive this response, finishes them
                headers, status = kept_headers(self.raw_headers), self.status_code
                await deliver_run(admitted.run, stream, scope, receive, send, headers=headers, status=status)
                return True
        taps = self._tapped(stream, scope)
        try:
            await deliver_while_listening(
                stream, _OwnDelivery(self, stream, AsgiClient(receive, send), scope)
            )
        finally:
            taps.finish()
        return True

    def _tapped(self, stream: EventStream, scope: Scope) -> Taps:
        """Add the taps of the middleware above to the stream, and return them."""
        ownership = ownership_in(scope)
        taps = taps_for(() if ownership is None else ownership.all_taps, scope)
        stream.translator.add_taps(taps)
        return taps


class _OwnDelivery(ResponseDelivery):
    """The delivery of an `EventStreamResponse`, which owns the whole response of its request."""

    __slots__ = ("_scope",)

    def __init__(self, response: Response, stream: EventStream, client: AsgiClient, scope: Scope) -> None:
        super().__init__(client, stream.clock, request_id=stream.request_id, headers=response.raw_headers)
        self.status = response.status_code
        self._scope = scope

    def _start(self) -> Awaitable[None]:
        take_ownership(self._scope)
        return super()._start()


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
        ValueError: `error` is a text that is not a code.
    """
    info = info_of(error, debug=debug)
    status, body, headers = failure_parts(info, request_id=request_id, debug=debug)
    return _JSON(body, status_code=status_code or status, headers=headers)


class _JSON(JSONResponse):
    def render(self, content: object) -> bytes:
        return write_json(content)
