"""An exception that an application raises on purpose, and the logging of caught exceptions.

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
    """Raise this, before or within a stream, to fail with your own code and message.

    Args:
        code: a code of the protocol, which has the values of its row, or your own (`[A-Z][A-Z0-9_]{2,63}`),
            which is `execution`, not recoverable, 500.
        message: the text for users; redacted, at most 500 characters. None: the message of the code.
        error_type: validation, execution, timeout or system.
        recoverable: whether another attempt may succeed.
        retry_after_ms: milliseconds after which another attempt may succeed.
        status: the HTTP status, 400 to 599, if one can still be sent.
        details: any JSON value; sent only with `debug`, redacted.

    Attributes:
        info: the classified failure with these values, for clients and logs.

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
    """Log an exception within a stream that is raised to the server; the server logs its traceback."""
    logger.warning(
        "stream failed: %s, raised to the server", type(exc).__name__, extra={"request_id": request_id}
    )


def purpose_of(exc: BaseException) -> StreamError | None:
    """Return the exception if it is a `StreamError`, or the only one in an exception group; else None."""
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
