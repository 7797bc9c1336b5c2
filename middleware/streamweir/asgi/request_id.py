"""One id per request: in the scope, in the context, in every event and in the response.

Source: the standard protocol 1.1, section 4; the library contract, section 1 (request ids).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from streamweir.context import bound_request_id
from streamweir.errors import ConfigurationError
from streamweir.http.headers import header_values, replaced, request_id_of
from streamweir.http.sending import ASGIApp, Message, Receive, Scope, Send
from streamweir.http_grammar import TOKEN
from streamweir.request_id import RunRequestID, new_request_id, valid_request_id

__all__ = ["RequestIDMiddleware"]


class RequestIDMiddleware:
    """Keeps the client's request id, or makes one, and passes it on.

    The id is put into `scope["headers"]` for the application, in `scope["state"]["request_id"]`, in
    `streamweir.current_request_id()` and, exactly once, in the response's headers.

    Args:
        app: the ASGI application to wrap.
        header: the name of the header, in requests and responses.
        generator: returns a new id.
        validator: returns whether a client's id may be kept; called only if there is exactly one.

    Raises:
        ConfigurationError: `header` is not a valid header name, or `generator` or `validator` cannot be
            called.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        header: str = "X-Request-Id",
        generator: Callable[[], str] = new_request_id,
        validator: Callable[[str], bool] = valid_request_id,
    ) -> None:
        if not isinstance(header, str) or not TOKEN.fullmatch(header):
            raise ConfigurationError(f"header must be the name of a header, not {header!r}")
        for name, function in (("generator", generator), ("validator", validator)):
            if not callable(function):
                raise ConfigurationError(f"{name} must be a function, not {function!r}")
        self.app = app
        self._name = header.lower().encode("ascii")
        self._generator = generator
        self._validator = validator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. WebSockets get an id too; other scopes pass unchanged."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(
            scope["headers"], self._name, is_valid=self._validator, make=self._generator
        )
        state = scope.setdefault("state", {})
        state["request_id"] = request_id

        def send_with_id(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                settled = state.get("request_id")
                answered = settled if isinstance(settled, RunRequestID) else request_id
                headers = replaced(message.get("headers", ()), self._name, answered)
                message = {**message, "headers": headers}
            return send(message)

        with bound_request_id(request_id):
            await self.app(self._with_id(scope, request_id), receive, send_with_id)

    def _with_id(self, scope: Scope, request_id: str) -> Scope:
        if header_values(scope["headers"], self._name) == [request_id]:
            return scope
        return {**scope, "headers": replaced(scope["headers"], self._name, request_id)}
