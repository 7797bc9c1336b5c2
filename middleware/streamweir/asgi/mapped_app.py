"""An application whose clients' requests are mapped before it is called.

Source: the library contract, section 1 (requests); the request contract, section 3 (refusals).
"""

from __future__ import annotations

from streamweir.asgi.request_mapping import MappedRequest, RequestMapping
from streamweir.codec.registry import process_dialects
from streamweir.context import WarningCollector
from streamweir.http.client_body import BodyBuffer, check_length, check_type
from streamweir.http.ownership import ownership_in
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.sending import ASGIApp, Message, Receive, Scope, Send
from streamweir.own_warnings import own_warning
from streamweir.requests.errors import RequestError

__all__ = ["MappedApp"]


class MappedApp:
    """Reads the body of one request, and calls the application with the mapped request.

    If the request cannot be read, it is refused before the application is called. If the client leaves before
    the end of its body, the application is not called.

    Args:
        app: the application.
        mapping: the mapping of the middleware.
        protocol: the protocol of the client.
        collector: takes the warning about parts of the request that are lost.
    """

    def __init__(
        self, app: ASGIApp, mapping: RequestMapping, protocol: str, collector: WarningCollector
    ) -> None:
        self._app = app
        self._mapping = mapping
        self._protocol = protocol
        self._collector = collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""
        try:
            mapped = await self._mapped(scope, receive)
        except RequestError as error:
            protocol = process_dialects().to_write(self._protocol)
            refusal = Refusal(error.code, str(error), error=error.error)
            await send_refusal(send, refusal, request_id=self._collector.request_id, protocol=protocol)
            return
        if mapped is None:
            return
        if mapped.lost:
            self._collector.add(own_warning("REQUEST_LOSSY", names=", ".join(mapped.lost)))
        ownership = ownership_in(scope)
        assert ownership is not None, "the middleware has put it into the scope"
        ownership.asked = mapped.asked
        await self._app(mapped.scope, _replayed(mapped.body, receive), send)

    async def _mapped(self, scope: Scope, receive: Receive) -> MappedRequest | None:
        """Return the request for the application; None if the client has left.

        Raises:
            RequestError: the request cannot be understood, or the application's dialect cannot take it.
        """
        check_type(scope["headers"])
        check_length(scope["headers"], self._mapping.max_bytes)
        buffer, more = BodyBuffer(self._mapping.max_bytes), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            buffer.add(message.get("body", b""))
            more = message.get("more_body", False)
        return self._mapping.mapped(scope, self._protocol, buffer.data)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns `body`, then the messages of the server."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
