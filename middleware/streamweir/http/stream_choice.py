"""Tells whether a client wants a stream, for protocols whose request bodies say so.

Source: the standard protocol 1.1, section 4 (`stream` of OpenAI and Anthropic decides, else `Accept`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.http.accept import accepts_any

__all__ = ["asks_for_stream", "wants_no_stream"]

_ASKING: Final = frozenset({"messages", "input"})
"""The fields by which requests of these protocols are recognised."""

_EVENT_STREAM: Final = frozenset({"text/event-stream"})


def asks_for_stream(request: Mapping[str, Any], accept: str) -> bool | None:
    """Return whether a request asks for a stream; None if it is not in one of these protocols.

    Args:
        request: the JSON object of the body.
        accept: the header `Accept`, which decides if the body has no `stream`.
    """
    match request:
        case {"stream": bool(wanted)}:
            return wanted
    return accepts_any(accept, _EVENT_STREAM) if request.keys() & _ASKING else None


def wants_no_stream(request: Mapping[str, Any]) -> bool:
    """Return whether a request explicitly asks for no stream, in any protocol."""
    return request.get("stream") is False
