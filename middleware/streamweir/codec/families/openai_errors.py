"""Writes OpenAI's error object, which is common to all of its APIs.

Source: the API's error codes; openai-python 3.54 `_exceptions.py`.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.errors import CODES

__all__ = ["error_object"]

_WORDS: Final = {
    "RATE_LIMITED": "rate_limit_exceeded",
    "QUOTA_EXCEEDED": "insufficient_quota",
    "MODEL_NOT_FOUND": "model_not_found",
    "CONTEXT_LENGTH_EXCEEDED": "context_length_exceeded",
    "CONTENT_FILTERED": "content_filter",
    "UNAUTHENTICATED": "invalid_api_key",
    "CANCELLED": "cancelled",
}
"""The OpenAI codes that clients look for, by the standard's codes. Other codes are written unchanged."""

_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error_object(code: str, message: str, *, status: int | None = None) -> dict[str, Any]:
    """Return the `error` of a body or of a frame.

    Args:
        code: the error code of the standard protocol.
        message: safe for users.
        status: the status of the response; None: the status that belongs to `code`.
    """
    if status is None:
        status = CODES[code].status if code in CODES else 500
    kind = _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "server_error")
    return {"message": message, "type": kind, "param": None, "code": _WORDS.get(code, code)}
