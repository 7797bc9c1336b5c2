"""Handles requests that are answered without a task, within one call of the event loop.

A task and the messages of ASGI cost more than the rest of a small request. An application that can answer
some requests without a task has a `shortcut`, which takes these requests. All other requests run in a task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec.structs import replace
from starlette.types import Scope

from streamweir_gateway.connection.exchange import HttpExchange, ServerConnection
from streamweir_gateway.connection.request_parser import RequestHead
from streamweir_gateway.connection.response_encoder import ResponseEncoder, ResponseState
from streamweir_gateway.connection.scope import Address, http_scope

__all__ = ["DirectConnection", "DirectExchange", "Shortcut"]


class Shortcut(Protocol):
    """Answers requests without a task."""

    def __call__(self, exchange: DirectExchange) -> bool:
        """Take a request, and call `answer` or `go_on` for it now or later.

        Returns:
            False if the request was not taken, because it needs a task.
        """


class DirectConnection(ServerConnection, Protocol):
    """The operations of the server's connection that a direct exchange needs."""

    def on_response_end(self, exchange: HttpExchange | DirectExchange) -> None:
        """Note that the response of `exchange` is complete."""

    def go_on(self, direct: DirectExchange, exchange: HttpExchange, scope: Scope) -> None:
        """Serve `exchange`, which replaces `direct`, in a task."""


class DirectExchange:
    """One request that arrived within one read, and has no other request before it.

    Attributes:
        state: the state of the response. The response is sent in one piece.
        head: the head of the request.
        fields: the headers by name; of several headers with one name, the last.
        client: the address of the client.
        body: the part of the body that has arrived.
        is_whole: whether the body is complete.
        keep_alive: whether another exchange may follow.
        on_lost: called when the client leaves.
    """

    __slots__ = (
        "_is_lost",
        "_local",
        "_server",
        "body",
        "client",
        "fields",
        "head",
        "is_whole",
        "keep_alive",
        "on_lost",
    )

    state: ResponseState = "expected"

    def __init__(
        self, server: DirectConnection, head: RequestHead, *, client: Address | None, local: Address | None
    ) -> None:
        self.head = head
        self.fields = head.fields
        self.client = client
        self.body = b""
        self.is_whole = False
        self.keep_alive = False
        self.on_lost: Callable[[], None] | None = None
        self._is_lost = False
        self._local = local
        self._server = server

    # --- what the connection reports ----------------------------------------------------------------------

    def take(self, piece: bytes) -> int:
        """Take a piece of the request's body; return the number of bytes that have arrived."""
        self.body += piece
        return len(self.body)

    def end_request(self, *, keep_alive: bool) -> None:
        """Note that the request is complete."""
        self.is_whole = True
        self.keep_alive = keep_alive

    def refuse(self, code: str) -> None:
        """Note that no more of the body will be read; the application answers with the refusal `code`."""
        self.go_on().refuse(code)

    def lose(self) -> None:
        """Note that the client has left."""
        self._is_lost = True
        if self.on_lost is not None:
            self.on_lost()

    # --- what the shortcut calls --------------------------------------------------------------------------

    @property
    def may_write(self) -> bool:
        """Whether the response may be written now: the client has taken all earlier bytes."""
        return not self._server.flow.is_writing_paused

    def date(self) -> bytes:
        """Return the Date header of a response, with its line end."""
        return self._server.date()

    def answer(self, response: bytes) -> None:
        """Send the whole response."""
        self._server.transport.write(response)
        self._server.on_response_end(self)

    def inform(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send an interim response; see `ClientConnection`."""
        if not self._is_lost:
            encoder = ResponseEncoder(self.head.method, self.head.version)
            self._server.transport.write(encoder.interim(status, headers))

    def go_on(
        self, *, headers: list[tuple[bytes, bytes]] | None = None, state: Mapping[str, Any] | None = None
    ) -> HttpExchange:
        """Serve the request in a task, like an ordinary request.

        Args:
            headers: headers that replace those of the request.
            state: the state for the application.
        """
        head = self.head if headers is None else replace(self.head, headers=headers)
        exchange = HttpExchange(self._server, head)
        if self.body:
            exchange.take(self.body)
        if self.is_whole:
            exchange.end_request(keep_alive=self.keep_alive)
        if self._is_lost:
            exchange.lose()
        scope = http_scope(head, exchange, client=self.client, server=self._local)
        scope["state"].update(state or {})
        self._server.go_on(self, exchange, scope)
        return exchange
