"""The failure in an answer that is not a stream: an error status, or an error envelope.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

import time
from typing import Any, Final

from streamweir.classification import classify_failure, error_in_body, info_for_status, parse_retry_after
from streamweir.errors import CODES, MACHINE_CODE, ErrorInfo, error_info
from streamweir.optional_json import json_or
from streamweir.redaction import redact

__all__ = ["info_of_envelope", "info_of_rejection", "is_envelope", "request_id_in"]

_LATER: Final = (429, 503)
"""The statuses whose Retry-After applies to the client."""


def is_envelope(value: Any) -> bool:
    """Return whether a value is the body of a refused request, and not an event."""
    match value:
        case {"status": "error", "error": {"code": str(code), "message": str()}}:
            return bool(code) and "type" not in value
    return False


def info_of_rejection(status: int, *, retry_after: str | None, body: bytes) -> ErrorInfo:
    """Return the reason why a request got `status`: the one in the body, as far as it can be understood."""
    retry_after_ms = parse_retry_after(retry_after, now=time.time()) if status in _LATER else None
    value = json_or(body)
    if is_envelope(value):
        return info_of_envelope(value, status=status, retry_after_ms=retry_after_ms)
    if not 400 <= status <= 599:
        return error_info("UPSTREAM_INVALID_RESPONSE")
    message, code = error_in_body(value)
    found = classify_failure(message, code=code, status=status)
    if found.code in CODES:
        return error_info(found.code, retry_after_ms=retry_after_ms)
    return info_for_status(status, retry_after_ms=retry_after_ms)


def request_id_in(body: bytes) -> str | None:
    """Return the request id of an envelope; None without one."""
    value = json_or(body)
    given = value.get("request_id") if isinstance(value, dict) else None
    return given if isinstance(given, str) else None


def info_of_envelope(
    envelope: dict[str, Any], *, status: int, retry_after_ms: int | None = None
) -> ErrorInfo:
    """Return the failure that an envelope reports; its message is redacted here too."""
    error = envelope["error"]
    found = classify_failure(code=error["code"], status=status)
    code = error["code"] if _is_machine_code(error["code"]) else found.code
    row = CODES.get(code) or CODES.get(found.code, CODES["UPSTREAM_ERROR"])
    retry = error.get("retry", error.get("recoverable"))
    given_ms = error.get("retry_after_ms")
    return ErrorInfo(
        code=code,
        error_type=row.error_type if code in CODES else found.error_type,
        message=redact(error["message"]) or row.message,
        recoverable=retry if isinstance(retry, bool) else row.recoverable,
        status=status if 400 <= status <= 599 else row.status,
        reason=row.reason,
        retry_after_ms=given_ms if type(given_ms) is int and given_ms >= 0 else retry_after_ms,
    )


def _is_machine_code(code: str) -> bool:
    """Return whether a code is well formed and not a secret key."""
    return MACHINE_CODE.fullmatch(code) is not None and redact(code) == code
