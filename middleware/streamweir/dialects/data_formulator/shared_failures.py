"""Reads failures: structured and flat errors, the envelope in place of a stream, and errors sent as text.

A structured error is sent by the server's routes. It has a code, a message for users and whether to retry,
and it ends the stream. A flat error is sent by an agent. Its message may be the text of an exception, and the
run often continues. An error sent as text is one whole `text_delta`, while a model's text arrives in pieces
or in a summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import leftover, message_params, text_in, text_of, upstream_error
from streamweir.dialects.data_formulator.shared_vocabulary import ERROR_TYPES
from streamweir.events import Error, SessionEnd

__all__ = ["agent_error", "error_event", "operation_failure", "text_failure"]

_ENDS_THE_RUN: Final = ("agent.llmApiError", "agent.parseActionFailed")
_TEXT_FAILURES: Final = ("Error calling model:", "Error generating report:")
_FIXED_TEXTS: Final = {
    "Authentication failed — please check your API key": "AUTH_FAILED",
    "Rate limit exceeded — please wait and try again": "RATE_LIMITED",
    "Input too long — please reduce the data size or prompt length": "CONTEXT_LENGTH_EXCEEDED",
    "Model not found — please check the model name": "MODEL_NOT_FOUND",
    "Request timed out — please check connectivity and try again": "UPSTREAM_TIMEOUT",
    "The model service returned an error — please try again later": "UPSTREAM_ERROR",
    "The request was blocked by the content safety filter": "CONTENT_FILTERED",
    "Access denied — you do not have permission to use this model": "AUTH_FAILED",
    "Invalid request — please check your input and try again": "UPSTREAM_REJECTED",
    "Model request failed": "UPSTREAM_ERROR",
}
"""The fixed sentences of the server for errors of a model, with their meaning; flat errors lack a code."""

_KNOWN: Final = ("type", "status", "error", "message", "error_message", "token", "result")


def error_event(message: Mapping[str, Any], *, terminal: bool = False) -> Error | SessionEnd:
    """Return the error that `message` reports; with `terminal`, a flat error ends the stream."""
    error = message.get("error")
    if isinstance(error, dict):
        return _structured(error)
    failure = agent_error(
        text_in(message, "message", "error_message", "error", "content"),
        terminal=terminal or message.get("message_code") in _ENDS_THE_RUN,
        details=leftover(message, _KNOWN),
    )
    return with_translation_keys(failure, message)


def with_translation_keys(failure: Error, fields: Mapping[str, Any]) -> Error:
    """Return `failure` with the `message_code` and `message_params` of `fields`."""
    code = fields.get("message_code")
    failure.message_code = code if isinstance(code, str) and code else None
    failure.message_params = message_params(fields.get("message_params"))
    return failure


def agent_error(text: str, *, terminal: bool = True, details: Any = None) -> Error:
    """Return the error of an agent, which has no code; `text` may be the text of an exception."""
    return upstream_error(text, code=_FIXED_TEXTS.get(text), terminal=terminal, details=details)


def operation_failure(operation: Mapping[str, Any]) -> Error | SessionEnd:
    """Return the error of a data operation."""
    error = operation.get("error")
    fields = error if isinstance(error, dict) else {"message": error}
    code = text_of(fields.get("code")).upper() or "DATA_OPERATION_FAILED"
    return _structured({**(leftover(operation, ("error",)) or {}), **fields, "code": code})


def text_failure(text: str) -> Error | None:
    """Return the error that a text reports at its very beginning; None if it reports no error."""
    bare = text.lstrip()
    for prefix in _TEXT_FAILURES:
        if bare.startswith(prefix):
            return upstream_error(bare.removeprefix(prefix).strip())
    return None


def _structured(error: Mapping[str, Any]) -> Error | SessionEnd:
    code, retry = error.get("code"), error.get("retry")
    if code == "CANCELLED":
        return SessionEnd("cancelled")
    found = upstream_error(
        text_in(error, "message", "content"),
        code=code,
        recoverable=retry if isinstance(retry, bool) else None,
        for_users=isinstance(code, str) and code.isupper(),
        details=leftover(error, ("code", "message", "retry")),
    )
    typed = msgspec.structs.replace(found, error_type=ERROR_TYPES.get(found.code, found.error_type))
    return with_translation_keys(typed, error)
