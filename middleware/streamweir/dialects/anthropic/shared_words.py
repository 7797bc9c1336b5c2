"""Maps stop reasons and error types between Anthropic and the standard.

Source: the Messages API, `stop_reason`; its page on errors.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CANCELLED", "ERROR_TYPES", "FINISH_REASONS", "NAME", "PAUSED", "STATUSES", "STOP_REASONS"]

NAME: Final = "anthropic"
"""The key of the dialect's opaque values."""

FINISH_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "compaction": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The standard's finish reason, by the stop reason of the API."""

STOP_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}

PAUSED: Final = "pause_turn"
"""The stop reason of a turn that continues when the client sends it back."""

STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status, by the type of an error."""

ERROR_TYPES: Final = {
    **{status: kind for kind, status in STATUSES.items()},
    503: "overloaded_error",
}

CANCELLED: Final = "cancelled"
"""The detail of an error that means that the run was stopped on request."""
