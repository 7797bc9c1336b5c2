"""The outermost layer: adds headers to every response, and answers exceptions of inner layers safely.

Only the first message of a response is inspected, so that this layer costs nothing per event. Source: the
standard protocol 1.1, sections 4 (`X-Request-Id`) and 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Set
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamweir.classification import classify_exception
from streamweir.context import begin_request_id, end_request_id
from streamweir.http.headers import REQUEST_ID, Headers
from streamweir.http.refusals import send_failure
from streamweir.http.response_headers import VARIES
from streamweir.stream_error import log_failure
from streamweir_gateway.access.cors import CorsPolicy, speaks_of_cors
from streamweir_gateway.connection.stream_headers import StreamHeaders
from streamweir_gateway.observability.trace_context import TRACE_CONTEXT, ids_of

__all__ = ["PRIVATE", "RELAYED", "RELAYS_ALL", "EdgeMiddleware"]

RELAYED: Final = "relayed"
"""The key of `scope["state"]` that is set if the response comes from the upstream unchanged."""

RELAYS_ALL: Final = "relays_all"
"""The key of `scope["state"]` that is set at `relay: all`: the service's CORS headers are used."""

_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")
_OURS: Final = frozenset({REQUEST_ID, _NO_SNIFFING[0]})
_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_CORS: Final = frozenset(
    {
        _ALLOW_ORIGIN,
        b"access-control-allow-credentials",
        b"access-control-expose-headers",
    }
)
_OURS_WITH_CORS: Final = _OURS | _CORS
"""Headers of an upstream's response that are dropped because they would contradict the gateway's headers."""
_RELAYED: Final = frozenset({REQUEST_ID})
_RELAYED_WITH_CORS: Final = _RELAYED | _CORS
"""Headers to drop from unchanged responses of an upstream to pages that the gateway's CORS allows."""


PRIVATE: Final = "streamweir.private"
"""The key of `scope["state"]` that is set if the response depends on the caller."""


class EdgeMiddleware:
    """The first layer for every HTTP request.

    An exception before the response starts is answered with a status and an envelope. A later exception is
    raised again, so that the server breaks the connection. Code that writes streams ends them itself.

    Args:
        app: the rest of the gateway.
        cors: the CORS policy; None for no CORS headers.
    """

    def __init__(self, app: ASGIApp, cors: CorsPolicy | None) -> None:
        self._app = app
        self._cors = cors
        self._open = 0
        self._idle: asyncio.Event | None = None

    async def until_idle(self) -> None:
        """Return when no request is open."""
        if self._open:
            self._idle = asyncio.Event()
            await self._idle.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Its id is in `scope["state"]["request_id"]`, its trace beside it."""
        request_id, trace = ids_of(scope["headers"])
        state = {TRACE_CONTEXT: trace, **scope.get("state", {}), "request_id": request_id}
        scope["state"] = state
        cors = None if self._cors is None else self._cors.headers(scope["headers"])
        response = _Response(send, cors, state)
        self._open += 1
        before = begin_request_id(request_id)
        try:
            await self._app(scope, receive, response.send)
        except Exception as error:
            if response.is_started:
                raise
            log_failure(error, request_id=request_id)
            with suppress(OSError):  # the client has left
                info = classify_exception(error)
                await send_failure(response.send, info, request_id=request_id, debug=False)
        finally:
            end_request_id(before)
            self._open -= 1
            if self._idle is not None and not self._open:
                self._idle.set()


class _Response(Struct, eq=False):
    """A response on its way to the client."""

    forward: Send
    cors: Headers | None
    state: Mapping[str, Any]
    is_started: bool = False

    def send(self, message: Message) -> Awaitable[None]:
        """Forward a message. This is no coroutine function: a coroutine more would cost time per event."""
        if not self.is_started:
            self.is_started = True
            given = message.get("headers", [])
            headers = self._headers(given)
            if headers is not given:
                message = {**message, "headers": headers}
        return self.forward(message)

    def _headers(self, given: Headers) -> Headers:
        state = self.state
        if (
            type(given) is StreamHeaders
            and self.cors is None
            and not (state.get(RELAYED) or state.get(PRIVATE))
        ):
            return given  # a stream that gets no other headers than its own
        request_id = (REQUEST_ID, state["request_id"].encode("ascii"))
        is_theirs = state.get(RELAYS_ALL) and speaks_of_cors(given)
        cors = () if self.cors is None or is_theirs else self.cors
        if state.get(RELAYED):
            cors = cors if cors and cors[0][0] == _ALLOW_ORIGIN else ()
            return [*_without(_RELAYED_WITH_CORS if cors else _RELAYED, given), request_id, *cors]
        private = (VARIES,) if state.get(PRIVATE) and VARIES not in given else ()
        return [
            *_without(_OURS_WITH_CORS if cors else _OURS, given),
            request_id,
            _NO_SNIFFING,
            *private,
            *cors,
        ]


def _without(names: Set[bytes], headers: Headers) -> Headers:
    return [pair for pair in headers if pair[0].lower() not in names]
