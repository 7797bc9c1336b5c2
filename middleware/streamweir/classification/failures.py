"""Classifies the error event of an upstream by status, code and words, in this order."""

from __future__ import annotations

from typing import Final

import msgspec

from streamweir.classification.statuses import code_of_status
from streamweir.classification.words import code_of_words
from streamweir.errors import CODES, MACHINE_CODE, ErrorType, Reason
from streamweir.lazy_pattern import LazyPattern
from streamweir.redaction import redact

__all__ = ["Classified", "classify_failure", "code_of_name", "is_conclusive_code", "most_exact", "snake_case"]


class Classified(msgspec.Struct, frozen=True):
    """The classification of an error event."""

    code: str
    """One of `CODES`, or the upstream's own machine code instead of `UPSTREAM_ERROR`."""
    error_type: ErrorType
    recoverable: bool
    reason: Reason


_FOREIGN_CODES: Final[dict[str, str]] = {
    foreign: code
    for code, names in {
        "RATE_LIMITED": "rate_limit_exceeded rate_limit_error rate_limit rate_limited too_many_requests"
        " throttling_error throttling_exception throttled requests_limit_reached tokens_limit_reached"
        " rate_limit_reached_error service_tier_capacity_exceeded",
        "QUOTA_EXCEEDED": "insufficient_quota quota_exceeded provider_quota_exceeded billing_error"
        " billing_hard_limit_reached insufficient_balance insufficient_credits exceeded_current_quota_error"
        " service_quota_exceeded_exception arrearage payment_required",
        "CONTEXT_LENGTH_EXCEEDED": "context_length_exceeded context_window_exceeded"
        " context_window_exceeded_error string_above_max_length prompt_too_long exceed_context_size_error",
        "MODEL_NOT_FOUND": "model_not_found model_not_found_error model_currently_not_support"
        " model_decommissioned invalid_model deployment_not_found",
        "CONTENT_FILTERED": "content_filter content_filtered content_policy_violation"
        " content_policy_violation_error responsible_ai_policy_violation data_inspection_failed",
        "AUTH_FAILED": "invalid_api_key incorrect_api_key authentication_error auth_error permission_error"
        " permission_denied_error unauthorized unauthenticated forbidden invalid_authentication"
        " provider_not_initialize access_denied_exception invalid_authentication_error permission_denied"
        " expired_token_exception unrecognized_client_exception",
        "NOT_FOUND": "not_found not_found_error resource_not_found_exception resource_not_found_error",
        "UPSTREAM_TIMEOUT": "timeout timeout_error timed_out request_timeout request_timeout_error "
        "gateway_timeout api_timeout_error deadline_exceeded model_timeout_exception",
        "UPSTREAM_REJECTED": "invalid_request invalid_request_error bad_request bad_request_error "
        "invalid_param invalid_argument validation_error validation_exception unprocessable_entity_error "
        "request_too_large unsupported_parameter",
        "UPSTREAM_ERROR": "server_error api_error overloaded overloaded_error internal_error "
        "internal_server_error service_unavailable service_unavailable_error bad_gateway "
        "engine_overloaded api_connection_error",
    }.items()
    for foreign in names.split()
}
"""Codes of OpenAI, Anthropic, LiteLLM, Dify, Bedrock and similar services, in snake case."""

_RPC_CODES: Final[dict[str, str]] = {
    "RESOURCE_EXHAUSTED": "RATE_LIMITED",
    "UNAUTHENTICATED": "AUTH_FAILED",
    "PERMISSION_DENIED": "AUTH_FAILED",
    "DEADLINE_EXCEEDED": "UPSTREAM_TIMEOUT",
    "INVALID_ARGUMENT": "UPSTREAM_REJECTED",
    "FAILED_PRECONDITION": "UPSTREAM_REJECTED",
    "OUT_OF_RANGE": "UPSTREAM_REJECTED",
}
"""For each canonical code of Google's APIs, the row of `CODES` with its meaning; codes keep their names."""

_OUR_FAILURE: Final = "INTERNAL"
"""The code of a failure of this process. An upstream's failure with that name becomes `UPSTREAM_ERROR`."""

_ERROR_TYPES: Final[tuple[tuple[LazyPattern[str], ErrorType], ...]] = (
    (LazyPattern("TIMEOUT|TIMED_OUT"), "timeout"),
    (LazyPattern("INVALID|VALIDATION"), "validation"),
)
"""Patterns of machine codes, each with the row of `CODES` that it means."""

_CAUSES: Final = frozenset(CODES) - {"UPSTREAM_ERROR"}
_REFINED_BY_CODE: Final[dict[str | None, frozenset[str]]] = {
    None: frozenset(CODES),
    "UPSTREAM_ERROR": _CAUSES,
    "UPSTREAM_REJECTED": _CAUSES,
    "NOT_FOUND": frozenset({"MODEL_NOT_FOUND"}),
    "RATE_LIMITED": frozenset({"QUOTA_EXCEEDED"}),  # OpenAI's 429 with insufficient_quota
}
"""For each status, the codes that may be more exact. For other statuses the status decides."""

_REFINED_BY_WORDS: Final[dict[str | None, frozenset[str]]] = {
    None: frozenset(CODES),
    "UPSTREAM_REJECTED": frozenset(
        {"CONTEXT_LENGTH_EXCEEDED", "MODEL_NOT_FOUND", "CONTENT_FILTERED", "QUOTA_EXCEEDED", "AUTH_FAILED"}
    ),
    "NOT_FOUND": frozenset({"MODEL_NOT_FOUND"}),
}
"""For each status and code, the causes that words may show. (A 429 may say "quota" and mean a rate.)"""


def classify_failure(message: object = None, *, code: object = None, status: object = None) -> Classified:
    """Return the classification of an error event.

    Args:
        message: the text of the event, which is only searched for evidence and never passed on.
        code: the machine code of the event: a name, or the number of an HTTP status from 400 to 599.
        status: the HTTP status in a field of the event, if it has such a field.

    Values of any type are accepted; without evidence the result is `UPSTREAM_ERROR`. If the upstream says
    whether another attempt may succeed, the caller replaces `recoverable`.
    """
    own = None if code == _OUR_FAILURE else _machine_code(code)
    known = code_of_status(status) or code_of_status(code)
    if own and known in (None, "UPSTREAM_ERROR"):
        return _own_code(own)
    return _classified(most_exact(known, code, message) or "UPSTREAM_ERROR")


def is_conclusive_code(code: object) -> bool:
    """Return whether `code` suffices to classify a failure: HTTP statuses, known names or machine codes."""
    return bool(code_of_status(code) or code_of_name(code) or _machine_code(code))


def most_exact(known: str | None, code: object, message: object) -> str | None:
    """Return `known`, or a more exact code if the upstream's code, or else its words, permit one."""
    by_code = code_of_name(code)
    if by_code in _REFINED_BY_CODE.get(known, ()):
        known = by_code
    if allowed := _REFINED_BY_WORDS.get(known):
        by_words = code_of_words(message)
        if by_words in allowed:
            known = by_words
    return known


def _machine_code(code: object) -> str | None:
    """Return a machine code that may be passed on: well formed, not a credential; None for any other code."""
    if isinstance(code, str) and MACHINE_CODE.fullmatch(code) and redact(code) == code:
        return code
    return None


def _own_code(own: str) -> Classified:
    row = own if own in CODES else _RPC_CODES.get(own)
    if row:
        return _classified(row, own)
    plain = _classified("UPSTREAM_ERROR", own)
    error_type = next(
        (error_type for pattern, error_type in _ERROR_TYPES if pattern.search(own)), plain.error_type
    )
    return msgspec.structs.replace(plain, error_type=error_type)


def _classified(row_name: str, code: str | None = None) -> Classified:
    row = CODES[row_name]
    return Classified(code or row_name, row.error_type, row.recoverable, row.reason)


_CAMEL_HUMP: Final = LazyPattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def code_of_name(code: object) -> str | None:
    """Return the code for a name; `rate_limit_error`, `RateLimitError`, `litellm.RateLimitError` are one."""
    if not isinstance(code, str) or len(code) > 128:
        return None
    if code in CODES and code != _OUR_FAILURE:
        return code
    return _FOREIGN_CODES.get(snake_case(code))


def snake_case(name: str) -> str:
    """Return the last part of a dotted name in snake case."""
    name = name.strip().rpartition(".")[2]
    return _CAMEL_HUMP.sub("_", name).replace("-", "_").lower()
