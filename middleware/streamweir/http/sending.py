"""Types of ASGI, and functions that send whole responses. Source: the ASGI HTTP specification 2.5."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

__all__ = ["ASGIApp", "Message", "Receive", "Scope", "Send", "send_nothing", "send_whole", "with_header_list"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


async def send_whole(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Send a response whose body is known."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_nothing(send: Send, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Send a response without a body: 204."""
    await send({"type": "http.response.start", "status": 204, "headers": [*headers]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def with_header_list(start: Message) -> Message:
    """Return the message with its headers as a list, because an iterator can be read only once."""
    headers = start.get("headers", ())
    return start if isinstance(headers, list | tuple) else {**start, "headers": list(headers)}
