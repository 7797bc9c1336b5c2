"""The end of a stream: the error event of a failure, the reason of an end, the keys of a summary.

Source: the standard protocol 1.1, sections 2 (`summary`), 5 and 6 (reasons of codes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from streamweir.classification.finish_words import standard_finish
from streamweir.errors import CODES, ErrorInfo, Reason
from streamweir.events import FINISH_REASONS, Error, Event, Meta, SessionEnd, SessionStart

__all__ = [
    "CODES_BY_REASON",
    "REASON_OF_STATUS",
    "error_event",
    "finish_of",
    "fits_code",
    "fitting_reason",
    "has_stopped",
    "info_of_error",
    "opening_meta",
    "reason_of_code",
    "split_summary",
    "token_counts",
    "with_finish",
]

REASON_OF_STATUS: Final[dict[str, Reason]] = {
    "completed": "done",
    "suspended": "interaction",
    "cancelled": "cancelled",
    "error": "upstream_error",
}
_CANCELLING: Final = frozenset({"cancelled", "client_gone", "slow_client"})

CODES_BY_REASON: Final[dict[Reason | None, str]] = {
    "upstream_unreachable": "UPSTREAM_UNREACHABLE",
    "truncated": "UPSTREAM_TRUNCATED",
    "connect_timeout": "UPSTREAM_TIMEOUT",
    "first_event_timeout": "UPSTREAM_TIMEOUT",
    "idle_timeout": "UPSTREAM_TIMEOUT",
    "total_timeout": "UPSTREAM_TIMEOUT",
    "malformed": "UPSTREAM_INVALID_RESPONSE",
    "limit": "STREAM_LIMIT_EXCEEDED",
    "draining": "GATEWAY_DRAINING",
    "lost": "RUN_LOST",
    "internal": "INTERNAL",
}
"""For each reason, the code of a failed end without an error; for others `UPSTREAM_ERROR`."""

_ALSO_FITTING: Final = frozenset(
    {
        ("malformed", "STREAM_LIMIT_EXCEEDED"),
        ("lost", "STORE_UNAVAILABLE"),
        ("cancelled", "CANCELLED"),
        ("upstream_error", "UPSTREAM_TIMEOUT"),
    }
)
"""Further pairs of a reason and an error code that may occur in one failed end."""

_TOKENS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_ALL_TOKENS: Final = frozenset(_TOKENS)
_COUNTS: Final = frozenset({*_TOKENS, "duration_ms"})
_USUAL: Final = len(_TOKENS) + 1
"""The number of fields of most summaries, which have all counts of tokens and a finish reason."""
_COUNTED_HERE: Final = frozenset({"tool_calls", "events"})
"""The counts of a summary that are not the upstream's."""
_TOO_LARGE: Final = 2**53
_OTHER_IDS: Final = frozenset({"session_id", "thread_id", "run_id"})
"""The ids that precede the id of the message in the metadata of a start."""


def error_event(info: ErrorInfo, *, meta: Meta | None = None) -> Error:
    """Return the terminal error event of a classified failure; all texts in it are fixed messages."""
    return Error(
        error_type=info.error_type,
        code=info.code,
        message=info.message,
        recoverable=info.recoverable,
        retry_after_ms=info.retry_after_ms,
        details=info.details,
        for_users=True,
        reason=info.reason,
        meta=meta,
    )


def info_of_error(event: Error, reason: Reason | None = None) -> ErrorInfo:
    """Return a terminal error event as a classified failure; the reverse of `error_event`."""
    row = CODES.get(event.code, CODES["UPSTREAM_ERROR"])
    return ErrorInfo(
        code=event.code,
        error_type=event.error_type,
        message=event.message,
        recoverable=event.recoverable,
        status=row.status,
        reason=reason or row.reason,
        retry_after_ms=event.retry_after_ms,
        details=event.details,
    )


def reason_of_code(code: str) -> Reason:
    """Return the reason of an end after an error with `code`; for an upstream's code, `upstream_error`."""
    return CODES.get(code, CODES["UPSTREAM_ERROR"]).reason


def opening_meta(event: Event) -> Meta | None:
    """Return the metadata of `session_start`: of `event` if it is the start, else with the ids of `event`.

    It is the metadata of `event` itself only if this has no ids of a session, a thread or a run.
    """
    meta = event.meta
    if not meta:
        return None
    if type(event) is SessionStart and _OTHER_IDS.isdisjoint(meta) and next(iter(meta)) == "message_id":
        return meta  # nearly all
    opening: Meta = {}
    for key in ("session_id", "thread_id", "run_id", "message_id"):
        if key in meta:
            opening[key] = meta[key]
    if isinstance(event, SessionStart):
        opening |= meta
    return opening or None


def fitting_reason(event: SessionEnd) -> Reason:
    """Return the reason of `event` if it fits the event's status, else the usual reason for that status."""
    reason, status = event.reason, event.status
    fits = reason is not None and (status == "error" or (status == "cancelled" and reason in _CANCELLING))
    return reason if fits and reason else REASON_OF_STATUS[status]


def split_summary(summary: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the known fields of a summary (with the third token count) and all other fields."""
    if len(summary) == _USUAL and summary.get("finish_reason") in FINISH_REASONS:
        for name in _TOKENS:
            count = summary.get(name)
            if type(count) is not int or not 0 <= count < _TOO_LARGE:
                break
        else:
            return summary, {}
    known: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in summary.items():
        if type(value) is int and key in _COUNTS and 0 <= value < _TOO_LARGE:  # nearly all
            known[key] = value
        elif value is None or key in _COUNTED_HERE:
            continue
        elif type(value) is float and key in _COUNTS and 0 <= value < _TOO_LARGE:
            known[key] = round(value)
        elif key == "finish_reason" and value in FINISH_REASONS:
            known[key] = value
        else:
            rest[key] = value
    return _with_third_count(known), rest


def token_counts(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the token counts of a summary; a missing third count is computed from the other two."""
    if _ALL_TOKENS.isdisjoint(summary):
        return {}
    return split_summary({name: summary.get(name) for name in _TOKENS})[0]


def _with_third_count(known: dict[str, Any]) -> dict[str, Any]:
    """Return the summary with the token count that follows from the two others."""
    if known.keys() >= _ALL_TOKENS:
        return known
    prompt, completion, total = known.get(_TOKENS[0]), known.get(_TOKENS[1]), known.get(_TOKENS[2])
    if total is None:
        if prompt is not None and completion is not None:
            return {**known, "total_tokens": prompt + completion}
    elif prompt is None:
        if completion is not None and total >= completion:
            return {**known, "prompt_tokens": total - completion}
    elif completion is None and total >= prompt:
        return {**known, "completion_tokens": total - prompt}
    return known


def fits_code(reason: Reason | None, code: str) -> bool:
    """Return whether an end may have this reason after an error with `code`."""
    if (reason, code) in _ALSO_FITTING or CODES_BY_REASON.get(reason) == code:
        return True
    return reason == "upstream_error" and code not in CODES_BY_REASON.values()


def finish_of(event: SessionEnd) -> str:
    """Return the finish reason of an end; empty if it has none."""
    finish = (event.summary or {}).get("finish_reason")
    return finish if isinstance(finish, str) else ""


def has_stopped(event: SessionEnd) -> bool:
    """Return whether an end has no finish reason, or that of a model that has said all."""
    return event.summary is None or event.summary.get("finish_reason", "stop") == "stop"


def with_finish(event: SessionEnd, word: str) -> SessionEnd:
    """Return `event`; a finish word that means a filter is replaced by the standard's word."""
    if word == "content_filter" or standard_finish(word) != "content_filter":
        return event
    return msgspec.structs.replace(
        event, summary={**(event.summary or {}), "finish_reason": "content_filter"}
    )
