"""Makes the object of a response that failed.

Source: the Responses API (2026), the `error` of a response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.errors import CODES

__all__ = ["failed_response"]


def failed_response(pending: Mapping[str, Any], code: str, message: str | None = None) -> dict[str, Any]:
    """Return the object of a response that failed. The Responses API allows only few error codes.

    Args:
        pending: the response object before the end.
        code: the failure's code in the standard protocol.
        message: a message that is safe for users; None: the usual message of the code.
    """
    word = "rate_limit_exceeded" if code == "RATE_LIMITED" else "server_error"
    error = {"code": word, "message": message or CODES[code].message}
    return {**pending, "status": "failed", "error": error}
