"""Whether a client wants a stream, for protocols whose requests say so themselves.

Source: the standard protocol 1.1, section 4 (`stream` of OpenAI and Anthropic decides, not `Accept`).
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json

__all__ = ["asks_for_stream", "wants_no_stream"]

_ASKING: Final = frozenset({"messages", "input"})
"""The fields of a request in which the lack of `stream` means that none is wanted."""


def asks_for_stream(body: bytes) -> bool | None:
    """Return what a request says; None where it is none of these protocols."""
    try:
        request: Any = parse_json(body)[0] if body else None
    except MalformedEvent:
        return None
    if not isinstance(request, dict):
        return None
    match request:
        case {"stream": bool(wanted)}:
            return wanted
    return False if request.keys() & _ASKING else None


def wants_no_stream(body: bytes) -> bool:
    """Does a request say that it wants no stream, whatever its protocol?"""
    return b'"stream"' in body and _field(body) is False


def _field(body: bytes) -> Any:
    try:
        request = parse_json(body)[0]
    except MalformedEvent:
        return None
    return request.get("stream") if isinstance(request, dict) else None
