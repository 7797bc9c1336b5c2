"""Reads the failure in a chunk, a choice or a whole body of chat completions.

Source: OpenAI's error object; vLLM (`object: error`), Groq (`x_groq.error`, `status_code`), MiniMax.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.coerce import leftover, upstream_error
from streamweir.codec.families.minimax_failures import BASE_RESP, error_in_base_resp
from streamweir.events import Event

__all__ = ["error_in"]


def error_in(message: Mapping[str, Any]) -> Event | None:
    """Return the failure in a frame: its field `error`, or the frame itself if it is an error object."""
    error = message if message.get("object") == "error" else message.get("error")
    if not error and isinstance(groq := message.get("x_groq"), dict):
        error = groq.get("error")
    if not error:
        return error_in_base_resp(message) if BASE_RESP in message else None
    if not isinstance(error, dict):
        return upstream_error(error)
    code = error.get("code")
    status = code if isinstance(code, int) else error.get("status", error.get("status_code"))
    return upstream_error(
        error.get("message"),
        code=code if isinstance(code, str) and code else error.get("type"),
        status=status if isinstance(status, int) else None,
        details=leftover(error, ("message", "code", "type", "object")),
    )
