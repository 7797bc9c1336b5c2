"""Classifies HTTP statuses, and reads Retry-After headers."""

from __future__ import annotations

import re
from typing import Final

from streamweir.errors import ErrorInfo, error_info

__all__ = ["RETRY_LATER", "STREAM_STATUSES", "code_of_status", "info_for_status", "parse_retry_after"]

_STATUS_CODES: Final[dict[int, str]] = {
    401: "AUTH_FAILED",
    403: "AUTH_FAILED",
    404: "NOT_FOUND",
    408: "UPSTREAM_TIMEOUT",
    429: "RATE_LIMITED",
    504: "UPSTREAM_TIMEOUT",
}
STREAM_STATUSES: Final = frozenset({200, 201, 202})
"""Statuses of an answer that may be a stream."""

RETRY_LATER: Final = frozenset({429, 503})
"""Statuses whose Retry-After is passed on to the client."""

_MAX_RETRY_AFTER_MS: Final = 24 * 3600 * 1000  # longer waits are cut to a day
_DELTA_SECONDS: Final = re.compile(
    r"\d{1,10}(?:\.\d{1,9})?", re.ASCII
)  # RFC 9110 has no fractions, but servers send them
_LONGEST_DATE: Final = 64  # "Sunday, 06-Nov-94 08:49:37 GMT" is the longest form of RFC 9110


def info_for_status(status: int, *, retry_after_ms: int | None = None) -> ErrorInfo:
    """Return the error info for the HTTP status of an upstream.

    A status below 400 or above 599 means that the response could not be used: `UPSTREAM_INVALID_RESPONSE`.
    `retry_after_ms` is only kept for 429 and 503.
    """
    code = code_of_status(status) or "UPSTREAM_INVALID_RESPONSE"
    return error_info(code, retry_after_ms=retry_after_ms if status in RETRY_LATER else None)


def parse_retry_after(value: str | None, *, now: float) -> int | None:
    """Return the value of a Retry-After header in milliseconds, from 0 to a day; None if it is unreadable.

    The header may be a date, so `now` is needed, as Unix time in seconds.
    """
    text = (value or "")[: _LONGEST_DATE + 1].strip()
    if _DELTA_SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 (slow to load, and dates are rare)

        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, TypeError, LookupError, OverflowError, OSError):
            return None
    return int(min(max(seconds * 1000, 0), _MAX_RETRY_AFTER_MS))


def code_of_status(status: object) -> str | None:
    """Return the code for an HTTP error status, given as a number or digits; None for any other value."""
    if isinstance(status, str) and len(status) == 3 and status.isascii() and status.isdigit():
        status = int(status)
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        return None
    return _STATUS_CODES.get(status, "UPSTREAM_REJECTED" if status < 500 else "UPSTREAM_ERROR")
