"""The JSON body of a request to the gateway itself: to the console's API and to the front page."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.types import Receive, Scope

from streamweir.http.headers import announced_length
from streamweir.http.refusals import Refusal

__all__ = ["read_json_body"]

_Body = TypeVar("_Body")


async def read_json_body(scope: Scope, receive: Receive, kind: type[_Body], max_bytes: int) -> _Body:
    """Read the body of a request. A body that is too large by its `Content-Length` is not read at all.

    Args:
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the server.
        kind: the body is an object of this class, which has a key `endpoint`.
        max_bytes: the most bytes of the body.

    Raises:
        Refusal: the body is too large, is no such object, or the client left before its end.
    """
    _check_size(announced_length(scope["headers"]), max_bytes)
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal("BAD_REQUEST")
        body += message.get("body", b"")
        _check_size(len(body), max_bytes)
        has_more = message.get("more_body", False)
    try:
        return msgspec.json.decode(bytes(body), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Refusal("BAD_REQUEST", "The body must be a JSON object with `endpoint`.") from None


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise Refusal("REQUEST_TOO_LARGE")
