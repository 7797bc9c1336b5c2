"""A request about one stored response."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from streamweir.http.headers import Headers
from streamweir.http.response_headers import NO_SNIFFING
from streamweir.http.sending import send_whole
from streamweir.jsontext import write_json
from streamweir_gateway.observability.record import RequestRecord

__all__ = ["RESPONSE_ID", "ResponseCall", "send_object"]

RESPONSE_ID: Final = "streamweir_response_id"
"""The name of the response id in the templates of these paths."""


class ResponseCall:
    """One request about a stored response.

    Attributes:
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the server.
        send: takes the answer.
        record: the record of the request.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        self.scope: Final = scope
        self.receive: Final = receive
        self.send: Final = send
        self.record: Final = record

    @property
    def key(self) -> str | None:
        """The name of the client's key; None if the gateway has no keys."""
        name: str | None = self.scope["state"].get("key")
        return name

    @property
    def response_id(self) -> str:
        """The id in the path."""
        return str(self.scope["path_params"][RESPONSE_ID])

    @property
    def wants_stream(self) -> bool:
        """Whether the query parameters ask for a stream."""
        return self.query.get("stream") in ("true", "1")

    @property
    def query(self) -> dict[str, str]:
        """The query parameters; if a name occurs twice, the last value."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    async def answer(self, value: Any) -> None:
        """Answer with a JSON value that caches must not store."""
        self.record.status = 200
        self.record.bytes_out = await send_object(self.send, value)


async def send_object(send: Send, value: Any, headers: Headers | None = None) -> int:
    """Answer a request about a response with a JSON value that caches must not store.

    Return the number of bytes of the body.
    """
    fields = {"content-type": "application/json", "cache-control": "no-store", **NO_SNIFFING}
    raw = [(name.lower().encode(), text.encode()) for name, text in fields.items()]
    data = write_json(value)
    await send_whole(send, 200, data, [*raw, *(headers or [])])
    return len(data)
