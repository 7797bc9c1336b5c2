"""ASGI middleware and responses: mount `StreamweirMiddleware` in front of an application.

The middleware needs no framework. `EventStreamResponse` and `preflight_error` are Starlette responses;
starlette is imported when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamweir.asgi.middleware import StreamweirMiddleware
from streamweir.asgi.normalize import NormalizeMiddleware
from streamweir.asgi.received_request import ReceivedRequest, receive_request
from streamweir.asgi.request_id import RequestIDMiddleware
from streamweir.asgi.safe_errors import SafeErrorMiddleware

if TYPE_CHECKING:
    from streamweir.asgi.responses import EventStreamResponse, preflight_error

__all__ = [
    "EventStreamResponse",
    "NormalizeMiddleware",
    "ReceivedRequest",
    "RequestIDMiddleware",
    "SafeErrorMiddleware",
    "StreamweirMiddleware",
    "preflight_error",
    "receive_request",
]


def __getattr__(name: str) -> Any:
    if name in ("EventStreamResponse", "preflight_error"):
        from streamweir.asgi import responses  # noqa: PLC0415 (loads starlette)

        return getattr(responses, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
