"""Whether a client wants a stream, for protocols whose requests say so themselves.

Source: the standard protocol 1.1, section 4 (`stream` of OpenAI and Anthropic decides, not `Accept`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["asks_for_stream", "wants_no_stream"]

_ASKING: Final = frozenset({"messages", "input"})
"""The fields of a request in which the lack of `stream` means that none is wanted."""


def asks_for_stream(request: Mapping[str, Any]) -> bool | None:
    """Return what a request says; None where it is none of these protocols."""
    match request:
        case {"stream": bool(wanted)}:
            return wanted
    return False if request.keys() & _ASKING else None


def wants_no_stream(request: Mapping[str, Any]) -> bool:
    """Does a request say that it wants no stream, whatever its protocol?"""
    return request.get("stream") is False
