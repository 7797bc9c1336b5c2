"""Reads the JSON body of a request to the gateway itself: to the console's API or the front page."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.types import Receive, Scope

from streamweir.http.headers import announced_length
from streamweir.http.refusals import Refusal

__all__ = ["read_json_body"]

_Body = TypeVar("_Body")


async def read_json_body(scope: Scope, receive: Receive, kind: type[_Body], max_bytes: int) -> _Body:
    """Read the body of a request. If its `Content-Length` is too large, the body is not read.

    Args:
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the server.
        kind: the class of the object in the body; it has a field `endpoint`.
        max_bytes: the most bytes that the body may have.

    Raises:
        Refusal: the body is too large or is not such an object, or the client left before its end.
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
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refusal("BAD_REQUEST", "The body must be a JSON object with `endpoint`.") from None


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise Refusal("REQUEST_TOO_LARGE")
