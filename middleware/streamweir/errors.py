"""The exceptions of streamweir and the codes of failures.

    StreamweirError
    ├── ConfigurationError (ValueError)     a wrong option or file: the caller's fault
    │   └── UnknownDialectError             a dialect that is not registered
    ├── ProtocolError                       the peer's fault: the bytes are not of the dialect
    │   ├── MalformedEvent                  one event; the stream goes on
    │   └── NotTheDialect                   the whole body; the stream ends
    ├── LimitExceeded                       an event or a stream over its bound
    ├── EventValidationError (ValueError)   an event of one's own that the protocol forbids
    └── LifecycleError (RuntimeError)       an event of one's own that may not come here

Source: the standard protocol 1.1, section 5 (codes, fixed messages, warnings) and section 6 (reasons).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple

import msgspec

__all__ = [
    "CODES",
    "MACHINE_CODE",
    "TOOL_CODES",
    "WARNINGS",
    "CodeRow",
    "ConfigurationError",
    "ErrorCode",
    "ErrorInfo",
    "ErrorType",
    "EventValidationError",
    "LifecycleError",
    "LimitExceeded",
    "MalformedEvent",
    "NotTheDialect",
    "ProtocolError",
    "Reason",
    "StreamweirError",
    "UnknownDialectError",
    "WarningRow",
    "did_you_mean",
    "error_info",
]

ErrorType = Literal["validation", "execution", "timeout", "system"]

Reason = Literal[
    "done",
    "interaction",
    "upstream_error",
    "upstream_unreachable",
    "truncated",
    "connect_timeout",
    "first_event_timeout",
    "idle_timeout",
    "total_timeout",
    "malformed",
    "limit",
    "cancelled",
    "client_gone",
    "slow_client",
    "draining",
    "lost",
    "internal",
]

ErrorCode = Literal[
    "UPSTREAM_UNREACHABLE",
    "UPSTREAM_TIMEOUT",
    "UPSTREAM_TRUNCATED",
    "UPSTREAM_INVALID_RESPONSE",
    "UPSTREAM_ERROR",
    "UPSTREAM_REJECTED",
    "RATE_LIMITED",
    "AUTH_FAILED",
    "NOT_FOUND",
    "MODEL_NOT_FOUND",
    "CONTEXT_LENGTH_EXCEEDED",
    "CONTENT_FILTERED",
    "QUOTA_EXCEEDED",
    "STREAM_LIMIT_EXCEEDED",
    "CANCELLED",
    "GATEWAY_DRAINING",
    "RUN_LOST",
    "STORE_UNAVAILABLE",
    "TOOL_INCOMPLETE",
    "TOOL_FAILED",
    "INTERNAL",
    "ENDPOINT_NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "BAD_REQUEST",
    "REQUEST_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "OVERLOADED",
    "LOOP_DETECTED",
    "RUN_NOT_FOUND",
    "RUN_EXISTS",
    "RUN_GONE",
    "WEBSOCKET_UNSUPPORTED",
]
"""Every code of an error, of a failed tool and of a refusal; warnings have separate codes.

Parameters that take a code still have the type `str`, because upstreams and applications have further codes.
"""


MACHINE_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
"""The form of a machine-readable code: one of `CODES`, or a code of an application or an upstream."""


class StreamweirError(Exception):
    """The base class of every exception that streamweir itself raises."""


class ConfigurationError(StreamweirError, ValueError):
    """An option, a file, or a combination of options cannot be used."""


class UnknownDialectError(ConfigurationError):
    """No dialect is registered under this name; the message lists the registered names."""

    def __init__(self, name: str, known: Iterable[str], *, role: str = "dialect") -> None:
        names = sorted(known)
        self.name = name
        super().__init__(f"unknown {role} {name!r}{did_you_mean(name, names)} (known: {', '.join(names)})")


class ProtocolError(StreamweirError):
    """The peer sent bytes that its dialect does not allow."""


class MalformedEvent(ProtocolError):
    """One event cannot be read; the stream continues without that event."""


class NotTheDialect(ProtocolError):
    """The whole body is not in the dialect, but HTML or another protocol."""


class LimitExceeded(StreamweirError):
    """An event or a stream is larger than allowed, so the stream ends at once.

    Attributes:
        taken: for a run of texts, how many were taken, including the one that exceeded the limit; None: it
            was not a run.
    """

    taken: int | None = None


class EventValidationError(StreamweirError, ValueError):
    """An event that the application makes has a field that the protocol forbids.

    Attributes:
        field: the name of the field, with a path into nested values (`citations[0].url`).
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field} {problem}")


class LifecycleError(StreamweirError, RuntimeError):
    """An event that the application makes is not allowed at this point of its stream."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known name nearest to `name`, or an empty string."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class CodeRow(NamedTuple):
    """One row of the table of codes: the properties of one code."""

    error_type: ErrorType
    recoverable: bool
    status: int
    """The HTTP status, if one can still be sent."""
    reason: Reason
    message: str
    """The fixed English message, which never contains the text of an upstream or an exception."""


CODES: Final[dict[str, CodeRow]] = {
    "UPSTREAM_UNREACHABLE": CodeRow(
        "system", True, 502, "upstream_unreachable", "The service could not be reached. Please try again."
    ),
    "UPSTREAM_TIMEOUT": CodeRow(
        "timeout", True, 504, "upstream_error", "The service took too long to answer. Please try again."
    ),
    "UPSTREAM_TRUNCATED": CodeRow(
        "system", True, 502, "truncated", "The answer broke off before it was complete. Please try again."
    ),
    "UPSTREAM_INVALID_RESPONSE": CodeRow(
        "system", False, 502, "malformed", "The service sent an answer that could not be understood."
    ),
    "UPSTREAM_ERROR": CodeRow(
        "execution", True, 502, "upstream_error", "The service reported an error. Please try again."
    ),
    "UPSTREAM_REJECTED": CodeRow(
        "validation", False, 400, "upstream_error", "The service did not accept the request."
    ),
    "RATE_LIMITED": CodeRow(
        "execution", True, 429, "upstream_error", "Too many requests. Please wait and try again."
    ),
    "AUTH_FAILED": CodeRow(
        "system", False, 502, "upstream_error", "The service refused the credentials it was given."
    ),
    "NOT_FOUND": CodeRow(
        "validation", False, 502, "upstream_error", "The service does not know this address."
    ),
    "MODEL_NOT_FOUND": CodeRow(
        "execution", False, 404, "upstream_error", "The requested model is not available."
    ),
    "CONTEXT_LENGTH_EXCEEDED": CodeRow(
        "validation", False, 400, "upstream_error", "The conversation is too long for the model."
    ),
    "CONTENT_FILTERED": CodeRow(
        "execution", False, 400, "upstream_error", "The answer was withheld by a content filter."
    ),
    "QUOTA_EXCEEDED": CodeRow(
        "execution", False, 402, "upstream_error", "The quota of the service is used up."
    ),
    "STREAM_LIMIT_EXCEEDED": CodeRow(
        "system", False, 502, "limit", "The answer was larger than is allowed here."
    ),
    "CANCELLED": CodeRow("execution", True, 502, "cancelled", "The run was stopped on request."),
    "GATEWAY_DRAINING": CodeRow(
        "system", True, 503, "draining", "The gateway is shutting down. Please try again."
    ),
    "RUN_LOST": CodeRow(
        "system", True, 502, "lost", "The answer can no longer be followed. Please try again."
    ),
    "STORE_UNAVAILABLE": CodeRow(
        "system", True, 503, "lost", "The answer cannot be followed at the moment. Please try again."
    ),
    "INTERNAL": CodeRow("system", True, 500, "internal", "An internal error occurred. Please try again."),
}


TOOL_CODES: Final[dict[str, str]] = {
    "TOOL_FAILED": "The tool failed.",
    "TOOL_INCOMPLETE": "The tool did not finish.",
}
"""The codes of `tool_call_end.error`, each with its fixed message; an `error` event cannot have them."""


class WarningRow(NamedTuple):
    """One row of the table of streamweir's own warnings."""

    message: str
    """The sentence that clients get; `own_warning` fills in the `{names}` in it."""
    when: str
    """The condition of the warning, in Markdown: the second column of the table in docs/protocol.md."""
    reports_repair: bool = False
    """The warning reports a change to the upstream's events. A client that gets the upstream's own frames
    does not get the change, and therefore not the warning.
    """
    is_added_by_reader: bool = False
    """The reader adds the warning to the events of a frame, because the frame itself does not contain it."""


WARNINGS: Final[dict[str, WarningRow]] = {
    "UPSTREAM_MALFORMED_EVENT": WarningRow(
        "A part of the answer could not be read and was left out.",
        "an event could not be read: each of the first 10, then one with the number",
        reports_repair=True,
    ),
    "UPSTREAM_INVALID_TEXT": WarningRow(
        "Some text was not valid and was repaired.",
        "bytes that are not UTF-8, or half a surrogate pair, became U+FFFD",
        reports_repair=True,
        is_added_by_reader=True,
    ),
    "TOOL_CALL_REPAIRED": WarningRow(
        "A tool call had no start; one was added.",
        "the start of a call was missing and has been added",
        reports_repair=True,
    ),
    "LENGTH_LIMIT": WarningRow(
        "The answer was cut short by a length limit.",
        "a length limit cut the answer short",
        reports_repair=True,
    ),
    "CONTENT_FILTERED": WarningRow(
        "A part of the answer was withheld by a content filter.",
        "a content filter withheld a part of the answer",
        reports_repair=True,
    ),
    "END_UNCONFIRMED": WarningRow(
        "The answer ended without a mark of its end; it may be incomplete.",
        "the body ended, and nothing in it tells whether it was complete",
        reports_repair=True,
        is_added_by_reader=True,
    ),
    "REQUEST_LOSSY": WarningRow(
        "The service cannot take all of the request: {names}.",
        "the upstream cannot take all of a [mapped request](requests.md): named, right after the start",
    ),
    "LOSSY_CONVERSION": WarningRow(
        "This protocol could not carry: {counted}.",
        "the client's protocol has no place for something; the last warning of a stream",
        reports_repair=True,
    ),
    "REASONING_LOST": WarningRow(
        "The model's earlier reasoning could not be shown to it again.",
        "the upstream refused a [conversation](conversation.md) for lack of reasoning; it was asked again",
    ),
    "RESUME_UNAVAILABLE": WarningRow(
        "This answer cannot be resumed.",
        "the store of runs was out of reach when the [resumable](resuming.md) answer began",
    ),
    "RESUME_LOST": WarningRow(
        "This answer can no longer be resumed.",
        "the store of runs failed, or was full, during the answer",
    ),
    "RESUME_LIMIT": WarningRow(
        "This answer is too long to be resumed.",
        "the answer is longer than `max_bytes`",
    ),
    "STATE_DELTA_IGNORED": WarningRow(
        "A change of the state could not be applied.",
        "a `state_delta` does not fit the state before it: only in `MessageState.warnings`",
    ),
}
"""Every `message_code` of streamweir's own warnings; all others come from elsewhere."""


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A classified failure: the facts that clients, logs and metrics get.

    Attributes:
        code: a code of the protocol, of an upstream or of an application.
        error_type: `validation`, `execution`, `timeout` or `system`.
        message: the text, safe to show.
        recoverable: whether another attempt may succeed.
        status: the HTTP status, if one can still be sent.
        reason: the reason of the stream's end, for `session_end` and the log.
        retry_after_ms: milliseconds after which another attempt may succeed; None if unknown.
        details: values that are sent only with `debug`.
    """

    code: str
    error_type: ErrorType
    message: str
    recoverable: bool
    status: int
    reason: Reason
    retry_after_ms: int | None = None
    details: Any = None


def error_info(
    code: str, *, reason: Reason | None = None, retry_after_ms: int | None = None, details: Any = None
) -> ErrorInfo:
    """Return the row of `code` as an `ErrorInfo`.

    Raises:
        KeyError: `code` is not in the closed list `CODES`.
    """
    row = CODES[code]
    return ErrorInfo(
        code=code,
        error_type=row.error_type,
        message=row.message,
        recoverable=row.recoverable,
        status=row.status,
        reason=reason or row.reason,
        retry_after_ms=retry_after_ms,
        details=details,
    )
