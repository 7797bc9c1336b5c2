"""A failure before there is a stream: an HTTP status and one JSON envelope.

Source: the standard protocol 1.1, section 5 (end); the library contract, section 2 (`preflight_*`).
"""

from __future__ import annotations

from typing import Any

from streamweir.classification import classify_exception
from streamweir.context import current_request_id
from streamweir.errors import ErrorInfo
from streamweir.request_id import new_request_id
from streamweir.requests.errors import RequestError
from streamweir.stream_error import StreamError

__all__ = ["envelope", "info_of", "preflight_envelope"]


def envelope(code: str, message: str, *, retry: bool, request_id: str) -> dict[str, Any]:
    """Return the JSON body of a refusal."""
    return {
        "status": "error",
        "error": {"code": code, "message": message, "retry": retry},
        "request_id": request_id,
    }


def preflight_envelope(
    error: BaseException | ErrorInfo | str, *, request_id: str | None = None, debug: bool = False
) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the JSON body that report a failure in place of a stream.

    Args:
        error: an exception, a classified failure, or a code of the protocol or of the application.
        request_id: the id of the request; the current one if None, else a new one.
        debug: add details as `error.details`, redacted.

    Raises:
        ValueError: `error` is a text that is not a code.
    """
    info = info_of(error, debug=debug)
    body = envelope(
        info.code,
        info.message,
        retry=info.recoverable,
        request_id=request_id or current_request_id() or new_request_id(),
    )
    if debug and info.details is not None:
        body["error"]["details"] = info.details
    return info.status, body


def info_of(error: BaseException | ErrorInfo | str, *, debug: bool) -> ErrorInfo:
    """Return the report of a failure in place of a stream; that of a `RequestError` is made from its code and
    problem.

    Raises:
        ValueError: `error` is a text that is not a code.
    """
    if isinstance(error, ErrorInfo):
        return error
    if isinstance(error, RequestError):
        return ErrorInfo(
            code=error.code,
            error_type="validation",
            message=str(error),
            recoverable=False,
            status=error.status,
            reason="internal",  # no stream ends with it
        )
    return classify_exception(StreamError(error) if isinstance(error, str) else error, debug=debug)
