"""The outermost layer: headers that every answer has, and a safe answer for whatever goes wrong below.

One look at the first message of a response and none at the others: an event costs nothing here.
Source: the standard protocol 1.1, sections 4 (`X-Request-Id`) and 5.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Set
from contextlib import suppress
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamweir.classification import classify_exception
from streamweir.context import bound_request_id
from streamweir.http.headers import REQUEST_ID, Headers, request_id_of
from streamweir.http.refusals import send_failure
from streamweir.http.response_headers import VARIES
from streamweir.stream_error import log_failure
from streamweir_gateway.access.cors import CorsPolicy, speaks_of_cors

__all__ = ["PRIVATE", "RELAYED", "RELAYS_ALL", "EdgeMiddleware"]

RELAYED: Final = "relayed"
"""Where `scope["state"]` says that the response is the upstream's own."""

RELAYS_ALL: Final = "relays_all"
"""Where `scope["state"]` says that a whole service is behind the path: its own word on CORS holds."""

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
"""An upstream's own, if they are let through, would contradict ours."""
_RELAYED: Final = frozenset({REQUEST_ID})
_RELAYED_WITH_CORS: Final = _RELAYED | _CORS
"""The same where the response is the upstream's own, and the page may read it by our word."""


PRIVATE: Final = "streamweir.private"
"""In `scope["state"]`: what is answered depends on who asks, and how."""


class EdgeMiddleware:
    """What every HTTP request passes first.

    An exception before the response becomes a status and an envelope. One within it passes on, so that the
    server breaks the connection: those who write streams end them themselves.

    Args:
        app: the rest of the gateway.
        cors: which pages may read responses; None: no CORS headers.
    """

    def __init__(self, app: ASGIApp, cors: CorsPolicy | None) -> None:
        self._app = app
        self._cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; its id is in `scope["state"]["request_id"]`."""
        request_id = request_id_of(scope["headers"])
        state = scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        cors = None if self._cors is None else self._cors.headers(scope["headers"])
        response = _Response(send, cors, state)
        with bound_request_id(request_id):
            try:
                await self._app(scope, receive, response.send)
            except Exception as error:
                if response.is_started:
                    raise
                log_failure(error, request_id=request_id)
                with suppress(OSError):  # nobody is there to be told
                    info = classify_exception(error)
                    await send_failure(response.send, info, request_id=request_id, debug=False)


class _Response:
    """A response that goes by."""

    __slots__ = ("_cors", "_send", "_state", "is_started")

    def __init__(self, send: Send, cors: Headers | None, state: Mapping[str, Any]) -> None:
        self.is_started = False
        self._send = send
        self._cors = cors
        self._state = state

    def send(self, message: Message) -> Awaitable[None]:
        """Pass on a message; a plain function, for a coroutine of its own would cost every event."""
        if not self.is_started:
            self.is_started = True
            message = {**message, "headers": self._headers(message)}
        return self._send(message)

    def _headers(self, start: Message) -> Headers:
        request_id = (REQUEST_ID, self._state["request_id"].encode("ascii"))
        is_theirs = self._state.get(RELAYS_ALL) and speaks_of_cors(start.get("headers", ()))
        cors = () if self._cors is None or is_theirs else self._cors
        if self._state.get(RELAYED):
            cors = cors if cors and cors[0][0] == _ALLOW_ORIGIN else ()
            return [*_without(_RELAYED_WITH_CORS if cors else _RELAYED, start), request_id, *cors]
        private = (VARIES,) if self._state.get(PRIVATE) and VARIES not in start["headers"] else ()
        return [
            *_without(_OURS_WITH_CORS if cors else _OURS, start),
            request_id,
            _NO_SNIFFING,
            *private,
            *cors,
        ]


def _without(names: Set[bytes], start: Message) -> Headers:
    return [pair for pair in start.get("headers", ()) if pair[0].lower() not in names]
