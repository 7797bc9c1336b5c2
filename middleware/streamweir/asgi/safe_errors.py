"""Middleware that answers an application's exception with a safe envelope or a proper end of its stream.

Source: the library contract, section 1 (exceptions); the standard protocol 1.1, section 5.
"""

from __future__ import annotations

from collections.abc import Awaitable

from streamweir.asgi.followed_stream import FollowedStream
from streamweir.classification import classify_break
from streamweir.classification.statuses import STREAM_STATUSES
from streamweir.codec.registry import process_dialects
from streamweir.context import bound_request_id
from streamweir.http.accept import STREAM_FRAMINGS
from streamweir.http.headers import header_value, header_values, is_file, media_type_of, settled_request_id
from streamweir.http.ownership import StreamOwnership, hand_down
from streamweir.http.paths import PathPatterns, Paths
from streamweir.http.refusals import send_failure
from streamweir.http.sending import ASGIApp, Message, Receive, Scope, Send, with_header_list
from streamweir.stream_error import log_failure

__all__ = ["SafeErrorMiddleware"]


class SafeErrorMiddleware:
    """Answers an exception without its text, and ends a stream in which one is raised.

    If the response has not begun, the middleware sends a status and an envelope. Within a stream it closes
    open parts, sends an error in the dialect of the stream and ends the body. Within any other response the
    exception is raised to the server.

    Args:
        app: the ASGI application to wrap.
        paths: patterns (`/chat`, `/agents/{id}/run`, `/agent/*`), one or several; None: every path.
        speaks: the dialect of the application's streams.
        debug: add details to errors and warnings, redacted; for trusted clients only.
        reraise: raise the exception again once the response is complete, for error trackers further out.

    Raises:
        UnknownDialectError: there is no encoder for `speaks`.
        ConfigurationError: a pattern of `paths` is not valid.
    """

    _ends_streams = True

    def __init__(
        self,
        app: ASGIApp,
        *,
        paths: Paths = None,
        speaks: str = "standard",
        debug: bool = False,
        reraise: bool = False,
    ) -> None:
        process_dialects().to_write(speaks)
        self.app = app
        self._paths = PathPatterns(paths)
        self._speaks = speaks
        self._debug = debug
        self._reraise = reraise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or not self._covers(scope):
            await self.app(scope, receive, send)
            return
        request_id = settled_request_id(scope)
        inner, ownership = hand_down(scope)
        follows = self._ends_streams and scope["method"] != "HEAD"
        response = _Response(send, ownership, speaks=self._speaks, request_id=request_id, follows=follows)
        with bound_request_id(request_id):
            try:
                await self.app(inner, receive, response.send)
            except Exception as error:
                if ownership.failure_passes or not response.can_be_ended:
                    raise
                log_failure(error, request_id=request_id)
                await response.end(error, debug=self._debug)
                if self._reraise:
                    raise

    def _covers(self, scope: Scope) -> bool:
        return self._paths.cover(scope)


class _Response:
    """A response that is passed on; a stream is also read, so that it can be ended."""

    def __init__(
        self, send: Send, ownership: StreamOwnership, *, speaks: str, request_id: str, follows: bool
    ) -> None:
        self._send = send
        self._ownership = ownership
        self._speaks = speaks
        self._request_id = request_id
        self._follows = follows
        self._started = False
        self._ended = False
        self._stream: FollowedStream | None = None

    @property
    def can_be_ended(self) -> bool:
        """Whether the response has not begun, or is a stream that no layer below ends."""
        if not self._started:
            return True
        return self._stream is not None and not self._ended and not self._ownership.taken

    def send(self, message: Message) -> Awaitable[None]:
        """Pass on a message of the application. A coroutine function would cost twice as much."""
        kind = message["type"]
        if kind == "http.response.body":
            self._ended = not message.get("more_body")
            if self._stream is not None:
                self._stream.follow(bytes(message.get("body", b"")))
        elif kind == "http.response.start":
            self._started = True
            message = with_header_list(message)
            if self._is_stream(message):
                framing = STREAM_FRAMINGS[media_type_of(message["headers"])]
                self._stream = FollowedStream(self._speaks, framing, request_id=self._request_id)
        return self._send(message)

    async def end(self, error: Exception, *, debug: bool) -> None:
        """Report `error` and end the response."""
        try:
            has_begun = self._stream is not None and self._stream.started
            info = classify_break(error, has_begun=has_begun, debug=debug)
            if self._stream is None:
                await send_failure(self._send, info, request_id=self._request_id, debug=debug)
                return
            ending = self._stream.fail(info)
            await self._send({"type": "http.response.body", "body": ending, "more_body": False})
        except OSError:
            pass  # the client has left

    def _is_stream(self, start: Message) -> bool:
        headers = start.get("headers", ())
        return (
            self._follows
            and start["status"] in STREAM_STATUSES
            and not self._ownership.taken
            and media_type_of(headers) in STREAM_FRAMINGS
            and header_value(headers, b"content-encoding").strip().lower() in ("", "identity")
            and not header_values(headers, b"content-length")
            and not is_file(headers)
        )
