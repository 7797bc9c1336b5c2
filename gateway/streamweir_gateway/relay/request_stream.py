"""Streams the body of a client's request to the upstream.

It holds no more than the bytes that have just arrived, unless a recorder wants a copy of a small body.

Source: the configuration contract (`relay`, `limits.request_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.types import Receive, Scope

from streamweir.http.refusals import Refusal
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.relay.relay_request import RelayBody
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.request_body import next_piece

__all__ = ["MOST_KEPT", "ClientBody"]

MOST_KEPT: Final = 256 << 10
"""The most bytes of a body that is kept while it is streamed."""


class ClientBody:
    """A `RequestStream` that reads a client's request.

    Attributes:
        is_read: whether the whole body has been read.
        length: the length that the client announces; None: the body is in chunks.
        failure: the reason why the body broke off; None if it has not.
        on_piece: called when a piece has arrived.
        on_whole: called when the whole body has arrived.
        passed_on: the number of bytes that have arrived.
    """

    __slots__ = (
        *("_connection", "_kept", "_left", "_receive", "failure", "is_read", "length", "on_piece"),
        *("on_whole", "passed_on"),
    )

    def __init__(self, scope: Scope, receive: Receive, connection: ClientConnection, limit: int) -> None:
        self.length, has_body = _announced(scope)
        self.failure: Refusal | ClientGone | None = None
        self.is_read = not has_body
        self.on_piece: Callable[[], None] = _nothing
        self.on_whole: Callable[[], None] = _nothing
        self._receive = receive
        self._connection = connection
        self._left = limit
        self._kept: list[bytes] | None = None
        """The pieces of a body that is kept."""
        self.passed_on = 0
        if self.length is not None and self.length > limit:
            raise Refusal("REQUEST_TOO_LARGE")

    async def begin(self) -> RelayBody:
        """Return the part of the body that has arrived, with this object if more follows.

        Raises:
            Refusal: the body is too large, or the server reads no more of it.
            ClientGone: the client has left.
        """
        if self.is_read:
            self.on_whole()
            return RelayBody(b"")
        data = await self._next_piece()
        return RelayBody(data) if self.is_read else RelayBody(data, self)

    def take_whole(self, data: bytes) -> RelayBody:
        """Take a body that has been read by another reader."""
        self.is_read = True
        self.passed_on = len(data)
        if self._kept is not None:
            self._keep(self._kept, data)
        return RelayBody(data)

    def keep(self) -> None:
        """Keep the body for `copy`, unless it has more than `MOST_KEPT` bytes."""
        self._kept = []

    @property
    def copy(self) -> bytes | int:
        """The part of the body that has arrived; the number of its bytes if they are not kept."""
        return self.passed_on if self._kept is None else b"".join(self._kept)

    def _keep(self, kept: list[bytes], data: bytes) -> None:
        if self.passed_on > MOST_KEPT:
            self._kept = None
        else:
            kept.append(data)

    async def read(self) -> bytes:
        """Return the next piece; empty at the end. Raises the errors of `begin`."""
        while not self.is_read:
            try:
                data = await self._next_piece()
            except (Refusal, ClientGone) as failure:
                self.failure = failure
                raise
            self.on_piece()
            if data:
                return data
        return b""

    async def _next_piece(self) -> bytes:
        data, more = await next_piece(self._receive, self._connection)
        self._left -= len(data)
        if self._left < 0:
            raise Refusal("REQUEST_TOO_LARGE")
        self.passed_on += len(data)
        if self._kept is not None:
            self._keep(self._kept, data)
        self.is_read = not more
        if self.is_read:
            self.on_whole()
        return data


def _announced(scope: Scope) -> tuple[int | None, bool]:
    """Return the length that a request announces (or None), and whether the request has a body."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value), int(value) > 0
        if name == b"transfer-encoding":
            return None, True
    return None, scope.get("http_version") not in ("1.0", "1.1")


def _nothing() -> None:
    pass
