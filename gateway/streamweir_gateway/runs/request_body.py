"""Reads the bodies of clients' requests; the size of each body and the sum of all sizes are bounded.

Source: the configuration contract (`limits.request_bytes`, `server.body_bytes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

from msgspec import Struct
from starlette.types import Receive, Scope

from streamweir.errors import MalformedEvent
from streamweir.http.headers import announced_length
from streamweir.http.refusals import Refusal
from streamweir.jsontext import parse_json
from streamweir_gateway.connection.client_connection import ClientConnection, connection_of
from streamweir_gateway.runs.client_gone import ClientGone

__all__ = ["RequestBodies", "RequestBody", "next_piece", "request_object"]

_RETRY_AFTER: Final = {"Retry-After": "1"}


class RequestBodies:
    """The request bodies of one process.

    Attributes:
        max_bytes: the most bytes that all bodies together may have.
        held_bytes: the bytes of all bodies that are held now.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0

    def arrived(self, scope: Scope, receive: Receive, limit: int) -> RequestBody | None:
        """Return the body of a request if all of it has arrived; None: see `read`.

        Args:
            limit: the most bytes that this body may have.

        Raises:
            Refusal: the body is too large, alone or with the others.
        """
        data = connection_of(scope).whole_body(receive)
        if data is None:
            return None
        return self._held(data, limit)

    async def read(self, scope: Scope, receive: Receive, limit: int) -> RequestBody:
        """Return the whole body of a request, as soon as it has arrived. The caller releases it.

        Only bytes that have arrived are counted, not the bytes that `Content-Length` announces.

        Args:
            limit: the most bytes that this body may have.

        Raises:
            Refusal: the body is too large, alone or with the others, or the server refused it.
            ClientGone: the client left before the end of the body.
        """
        connection = connection_of(scope)
        self._check(announced_length(scope["headers"]), limit)
        data, more = await next_piece(receive, connection)
        body = self._held(data, limit)
        if more:
            await self._read_rest(body, receive, connection, limit)
        return body

    async def _read_rest(
        self, body: RequestBody, receive: Receive, connection: ClientConnection, limit: int
    ) -> None:
        """Read the rest of a body that does not arrive in one piece."""
        read, more = BytesIO(), True
        read.write(body.data)
        try:
            while more:
                piece, more = await next_piece(receive, connection)
                self._check(len(piece), limit - read.tell())
                body.grow(len(piece))
                read.write(piece)
        except BaseException:
            body.release()
            raise
        body.data = read.getvalue()

    def _held(self, data: bytes, limit: int) -> RequestBody:
        """Return a body, and count its bytes."""
        size = len(data)
        self._check(size, limit)
        self.held_bytes += size
        return RequestBody(self, data, size)

    def _check(self, size: int, limit: int) -> None:
        if size > limit:
            raise Refusal("REQUEST_TOO_LARGE")
        if self.held_bytes + size > self.max_bytes:
            raise Refusal("OVERLOADED", headers=_RETRY_AFTER)


class RequestBody(Struct, eq=False):
    """The body of one request.

    Attributes:
        bodies: counts the bytes.
        data: the bytes of the whole body; empty after `release`.
        held_bytes: the bytes that are counted.
        passed_on: the number of bytes that have been passed on without being kept.
    """

    bodies: RequestBodies
    data: bytes = b""
    held_bytes: int = 0
    passed_on: int = 0

    @classmethod
    def sent(cls, body: bytes | int) -> RequestBody:
        """Return the body of a request that has been sent already.

        Args:
            body: the bytes; their number if they have been passed on without being kept.
        """
        if isinstance(body, int):
            return cls(RequestBodies(0), passed_on=body)
        return cls(RequestBodies(0), body)

    def grow(self, size: int) -> None:
        """Count `size` more bytes of this body."""
        self.held_bytes += size
        self.bodies.held_bytes += size

    def release(self) -> None:
        """Free the bytes, because the body is not needed any longer."""
        if self.held_bytes:
            self.bodies.held_bytes -= self.held_bytes
            self.held_bytes = 0
            self.data = b""


def request_object(body: bytes) -> Mapping[str, Any]:
    """Return the body as a JSON object; an empty object if the body is something else."""
    try:
        found = parse_json(body)[0] if body else None
    except MalformedEvent:
        return {}
    return found if isinstance(found, dict) else {}


async def next_piece(receive: Receive, connection: ClientConnection) -> tuple[bytes, bool]:
    """Return the next piece of a request body, and whether more pieces follow.

    Raises:
        Refusal: the server refused the body.
        ClientGone: the client left before the end of the body.
    """
    message = await receive()
    if connection.refused is not None:
        raise Refusal(connection.refused)
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)
