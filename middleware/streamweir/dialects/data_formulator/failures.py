"""The failures: structured and flat errors, the envelope in place of a stream, and errors sent as text.

A structured error comes from the server's routes: a code, a message for users, whether to retry; it ends the
stream. A flat one comes from an agent: its message may be an exception's, and the run often goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.dialects.data_formulator.plain_events import text_in
from streamweir.dialects.data_formulator.vocabulary import ERROR_TYPES
from streamweir.dialects.reading import leftover, upstream_error
from streamweir.events import Error, SessionEnd

__all__ = ["error_event", "may_become_failure", "text_failure"]

_ENDS_THE_RUN: Final = ("agent.llmApiError", "agent.parseActionFailed")
_TEXT_FAILURES: Final = ("Error calling model:", "Error generating report:")
_SAID: Final = ("type", "status", "error", "message", "error_message", "token", "result")


def error_event(message: Mapping[str, Any], *, terminal: bool = False) -> Error | SessionEnd:
    """The error that `message` reports. `terminal`: a flat one ends the stream as well."""
    error = message.get("error")
    if isinstance(error, dict):
        return _structured(error)
    return upstream_error(
        text_in(message, "message", "error_message", "error", "content"),
        terminal=terminal or message.get("message_code") in _ENDS_THE_RUN,
        details=leftover(message, _SAID),
    )


def text_failure(text: str) -> Error | None:
    """The error that a piece of text reports: at its very start, as the server sends it."""
    bare = text.lstrip()
    for prefix in _TEXT_FAILURES:
        if bare.startswith(prefix):
            return upstream_error(bare.removeprefix(prefix).strip())
    return None


def may_become_failure(text: str) -> bool:
    """Is `text` nothing but the beginning of such a report?"""
    bare = text.lstrip()
    return bool(bare) and any(prefix.startswith(bare) for prefix in _TEXT_FAILURES)


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
    return msgspec.structs.replace(found, error_type=ERROR_TYPES.get(found.code, found.error_type))
