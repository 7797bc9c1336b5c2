"""A failure that an application raises on purpose, and how caught exceptions are logged.

Source: the library contract, section 2 (`StreamError`); the standard protocol 1.1, section 5.
"""

from __future__ import annotations

import logging
from typing import Any, Final, get_args

from streamweir.errors import CODES, MACHINE_CODE, TOOL_CODES, CodeRow, ErrorInfo, ErrorType, StreamweirError
from streamweir.redaction import DETAIL_LIMIT, redact, redact_value
from streamweir.refusal_codes import REFUSALS

__all__ = ["StreamError", "log_failure", "log_passed_failure", "purpose_of"]

logger = logging.getLogger("streamweir")

_UNKNOWN: Final = CodeRow("execution", False, 500, "upstream_error", "The request could not be completed.")


class StreamError(StreamweirError):
    """Raised anywhere, before or within a stream, to fail with a code and a message of your own.

    Args:
        code: one of the protocol, which brings its row's values, or your own: `[A-Z][A-Z0-9_]{2,63}`, which
            is `execution`, not recoverable, 500.
        message: written for users; redacted, at most 500 characters. None: the code's own.
        error_type: validation, execution, timeout or system.
        recoverable: whether trying again may help.
        retry_after_ms: after how many milliseconds it may.
        status: the HTTP status where one can still be sent, 400 to 599.
        details: anything that JSON can hold; sent only under `debug`, redacted.

    Attributes:
        info: all of this, as clients and logs get it.

    Raises:
        ValueError: the code is malformed, or another argument has a value that is not allowed.
    """

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        error_type: ErrorType | None = None,
        recoverable: bool | None = None,
        retry_after_ms: int | None = None,
        status: int | None = None,
        details: Any = None,
    ) -> None:
        row = _row_of(code)
        _check(error_type, retry_after_ms, status)
        self.info = ErrorInfo(
            code=code,
            error_type=error_type or row.error_type,
            message=(redact(str(message)) if message else "") or row.message,
            recoverable=row.recoverable if recoverable is None else bool(recoverable),
            status=status or row.status,
            reason=row.reason,
            retry_after_ms=retry_after_ms,
            details=None if details is None else redact_value(details, limit=DETAIL_LIMIT),
        )
        super().__init__(code, self.info.message)

    def __str__(self) -> str:
        return f"{self.info.code}: {self.info.message}"


def log_failure(exc: BaseException, *, request_id: str | None) -> None:
    """Log a caught exception with its traceback; a `StreamError` as a warning, without a traceback."""
    extra = {"request_id": request_id}
    if isinstance(exc, StreamError):
        logger.warning("stream failed on purpose: %s", exc, extra=extra)
    else:
        logger.error("stream failed: %s", type(exc).__name__, exc_info=exc, extra=extra)


def log_passed_failure(exc: BaseException, *, request_id: str | None) -> None:
    """Log an exception within a stream that is raised to the server, which logs its traceback."""
    logger.warning(
        "stream failed: %s, raised to the server", type(exc).__name__, extra={"request_id": request_id}
    )


def purpose_of(exc: BaseException) -> StreamError | None:
    """Return the `StreamError` that an exception is, or that an exception group holds alone."""
    while isinstance(exc, BaseExceptionGroup) and len(exc.exceptions) == 1:
        exc = exc.exceptions[0]
    return exc if isinstance(exc, StreamError) else None


def _row_of(code: str) -> CodeRow:
    if not isinstance(code, str) or not MACHINE_CODE.fullmatch(code):
        raise ValueError(f"a code matches {MACHINE_CODE.pattern}, {code!r} does not")
    if code in TOOL_CODES:
        raise ValueError(f"{code} is the failure of a tool call, not of a stream")
    if code in CODES:
        return CODES[code]
    if code in REFUSALS:
        refusal = REFUSALS[code]
        error_type: ErrorType = "validation" if refusal.status < 500 else "system"
        return CodeRow(error_type, refusal.retry, refusal.status, "upstream_error", refusal.message)
    return _UNKNOWN


def _check(error_type: object, retry_after_ms: object, status: object) -> None:
    if error_type is not None and error_type not in get_args(ErrorType):
        raise ValueError(f"error_type is one of {', '.join(get_args(ErrorType))}, not {error_type!r}")
    if retry_after_ms is not None and not _is_within(retry_after_ms, 0, 2**53):
        raise ValueError(f"retry_after_ms is a number of milliseconds, not {retry_after_ms!r}")
    if status is not None and not _is_within(status, 400, 599):
        raise ValueError(f"status is an HTTP status from 400 to 599, not {status!r}")


def _is_within(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
