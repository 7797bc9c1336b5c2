"""One start, one end, nothing after it; an error before every failed end.

Source: the standard protocol 1.1, section 3 rules 1, 3 and 5, section 5 (length limits and filters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

import msgspec

from streamweir.errors import CODES, ErrorInfo, Reason, error_info
from streamweir.events import (
    EVENT_TYPES,
    Content,
    Error,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    Status,
    ToolCallEnd,
    ToolCallStart,
    Warning,
    ids_of,
)

__all__ = ["Lifecycle", "error_event", "info_of_error"]

MAX_WARNINGS: Final = 100
"""So many warnings from outside are sent in one stream; of more only the number is told, at the end."""

MAX_ASKED: Final = 10_000
"""Ids of at most so many open interactions are kept."""

_REASONS: Final[dict[str, Reason]] = {
    "completed": "done",
    "suspended": "interaction",
    "cancelled": "cancelled",
    "error": "upstream_error",
}
_TURNING_POINTS: Final = frozenset({SessionStart, SessionEnd, Error})
"""The events at which a stream begins or ends; all others pass as they are."""

_CANCELLING: Final = frozenset({"cancelled", "client_gone", "slow_client"})

_CODES_BY_REASON: Final[dict[Reason | None, str]] = {
    "upstream_unreachable": "UPSTREAM_UNREACHABLE",
    "truncated": "UPSTREAM_TRUNCATED",
    "connect_timeout": "UPSTREAM_TIMEOUT",
    "first_event_timeout": "UPSTREAM_TIMEOUT",
    "idle_timeout": "UPSTREAM_TIMEOUT",
    "total_timeout": "UPSTREAM_TIMEOUT",
    "malformed": "UPSTREAM_INVALID_RESPONSE",
    "limit": "STREAM_LIMIT_EXCEEDED",
    "draining": "GATEWAY_DRAINING",
    "internal": "INTERNAL",
}
"""What a failed end without an error of its own means; any other reason is `UPSTREAM_ERROR`."""

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens", "duration_ms")
_FINISH_REASONS: Final = ("stop", "length", "content_filter", "tool_calls")
_FINISH_WARNINGS: Final = {
    "length": ("LENGTH_LIMIT", "The answer was cut short by a length limit."),
    "content_filter": ("CONTENT_FILTERED", "A part of the answer was withheld by a content filter."),
}
_FINISH_CODES: Final = frozenset(code for code, _ in _FINISH_WARNINGS.values())


class Lifecycle:
    """The last stage: what passes it is a valid stream.

    Attributes:
        started: `session_start` has been sent.
        ended: `session_end` has been sent.
        error: the terminal error, if there was one.
        reason: why the stream ended.

    Args:
        request_id: the id of the stream.
        session_id: the session's id where the upstream gives none.
        clock: Unix milliseconds; the same for all events of one read.
        written: how many events have left so far.
        warnings: to be sent right after `session_start`.
        closing_warnings: called when the stream ends, for what is only known then.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(EVENT_TYPES.values())

    def __init__(
        self,
        *,
        request_id: str,
        session_id: str,
        clock: Callable[[], int],
        written: Callable[[], int],
        warnings: Sequence[Warning] = (),
        closing_warnings: Callable[[], Iterable[Warning]] = tuple,
    ) -> None:
        self._request_id = request_id
        self._session_id = session_id
        self._clock = clock
        self._written = written
        self._waiting: list[Warning] = list(warnings)
        self._warnings = 0
        self._closing_warnings = closing_warnings
        self._began = clock()
        self._tool_calls = 0
        self._has_text = False
        self._told: set[str] = set()
        self._asked: set[str] = set()
        self._failure: Error | None = None
        self.started = False
        self.ended = False
        self.error: ErrorInfo | None = None
        self.reason: Reason | None = None

    @property
    def waits_for_answer(self) -> bool:
        """Something was asked of a person, or of the client, and is still open."""
        return bool(self._asked)

    @property
    def has_waiting(self) -> bool:
        """A warning is to be sent before the next event."""
        return bool(self._waiting)

    def warn(self, warning: Warning) -> None:
        """Send `warning` before the next event."""
        self._warnings += 1
        if self._warnings <= MAX_WARNINGS:
            self._waiting.append(warning)

    def abandon(self) -> None:
        """Nothing more can be written, not even the end."""
        self.ended = True
        self.reason = self.reason or "internal"

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return `event` with what the protocol wants around it; None where that is nothing."""
        if self.ended:
            return ()
        kind = type(event)
        if self.started and not self._waiting and kind not in _TURNING_POINTS:
            if not (self._has_text and kind is Content):  # more text says nothing new
                self._note(event)
            return None
        return self._turn(event)

    def _turn(self, event: Event) -> Iterator[Event]:
        if not self.started:
            yield from self._start(event)
        match event:
            case SessionStart():
                return
            case Error(terminal=True, code="CANCELLED"):
                yield from self._end(SessionEnd(status="cancelled", meta=ids_of(event.meta)))
            case Error(terminal=True):
                yield from self._fail(event)
            case SessionEnd():
                yield from self._end(event)
            case _:
                yield from self._flush()
                self._note(event)
                yield event

    def _note(self, event: Event) -> None:
        match event:
            case Content():
                self._has_text = self._has_text or event.content != ""
            case ToolCallStart():
                self._tool_calls += 1
            case ToolCallEnd():
                self._asked.discard(event.tool_id)
            case Interaction(state="requested"):
                if len(self._asked) < MAX_ASKED:
                    self._asked.add(event.interaction_id)
            case Interaction():
                self._asked.discard(event.interaction_id)
            case Status(state="resumed"):
                self._asked.clear()
            case Warning(message_code=str(code)) if code in _FINISH_CODES:
                self._told.add(code)
            case Error():
                self._failure = event

    def _start(self, event: Event) -> Iterator[Event]:
        self.started = True
        given = event.session_id if isinstance(event, SessionStart) else None
        meta = _opening_meta(event)
        yield SessionStart(
            session_id=given or (meta or {}).get("session_id") or self._session_id,
            request_id=self._request_id,
            meta=meta,
        )
        yield from self._flush()

    def _flush(self) -> Iterator[Event]:
        waiting, self._waiting = self._waiting, []
        for warning in waiting:
            self._note(warning)
            yield warning

    def _fail(self, event: Error, summary: dict[str, Any] | None = None) -> Iterator[Event]:
        yield from self._close()
        reason = event.reason or _reason_of(event.code)
        self.error = info_of_error(event, reason)
        event = event if event.meta is None else msgspec.structs.replace(event, meta=ids_of(event.meta))
        yield event
        yield self._session_end(SessionEnd(status="error", reason=reason, summary=summary, meta=event.meta))

    def _end(self, event: SessionEnd) -> Iterator[Event]:
        summary = event.summary or {}
        if event.status == "error":
            yield from self._fail(self._failure_of(event), summary)
            return
        if event.status == "completed":
            finish_reason = summary.get("finish_reason")
            if finish_reason == "content_filter" and not self._has_text:
                yield from self._fail(error_event(error_info("CONTENT_FILTERED"), meta=event.meta), summary)
                return
            self._warn_of_finish(finish_reason)
        yield from self._close()
        yield self._session_end(event)

    def _warn_of_finish(self, finish_reason: Any) -> None:
        code, message = _FINISH_WARNINGS.get(str(finish_reason), ("", ""))
        if code and code not in self._told:
            self._waiting.append(Warning(message=message, message_code=code, for_users=True))

    def _failure_of(self, event: SessionEnd) -> Error:
        """The terminal error of an end that says `error` without one: the last error that was reported."""
        if self._failure is not None:
            return msgspec.structs.replace(self._failure, terminal=True, meta=event.meta)
        code = _CODES_BY_REASON.get(event.reason, "UPSTREAM_ERROR")
        return error_event(
            error_info(code, reason=event.reason if event.reason in _CODES_BY_REASON else None),
            meta=event.meta,
        )

    def _close(self) -> Iterator[Event]:
        left_out = self._warnings - MAX_WARNINGS
        if left_out > 0:
            self._waiting.append(Warning(message=f"{left_out} more warnings were left out.", for_users=True))
        self._waiting += self._closing_warnings()
        yield from self._flush()

    def _session_end(self, event: SessionEnd) -> SessionEnd:
        summary, rest = _split_summary(event.summary or {})
        meta = event.meta
        if rest and event.status != "error":
            meta = {**(meta or {}), "extra": {**(meta or {}).get("extra", {}), "summary": rest}}
        self.ended = True
        self.reason = _fitting_reason(event)
        return SessionEnd(
            status=event.status,
            reason=self.reason,
            summary={
                "duration_ms": max(0, self._clock() - self._began),
                **summary,
                "tool_calls": self._tool_calls,
                "events": self._written() + 1,
            },
            meta=meta,
        )


def error_event(info: ErrorInfo, *, meta: Meta | None = None) -> Error:
    """The terminal error event of a classified failure: all its texts are ours."""
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
    """What a terminal error event says, as a classified failure; the reverse of `error_event`."""
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


def _reason_of(code: str) -> Reason:
    return CODES.get(code, CODES["UPSTREAM_ERROR"]).reason


def _opening_meta(event: Event) -> Meta | None:
    """Where `session_start` belongs: what it says itself, or the conversation of the first event."""
    meta = event.meta
    if not meta:
        return None
    opening: Meta = {}
    for key in ("session_id", "thread_id", "run_id", "message_id"):
        if key in meta:
            opening[key] = meta[key]
    if isinstance(event, SessionStart):
        opening |= meta
    return opening or None


def _fitting_reason(event: SessionEnd) -> Reason:
    fits = event.status == "error" or (event.status == "cancelled" and event.reason in _CANCELLING)
    return (event.reason if fits else None) or _REASONS[event.status]


def _split_summary(summary: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a summary may say, and what has no place in it."""
    known: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in summary.items():
        if value is None or key in ("tool_calls", "events"):
            continue
        if (
            key in _COUNTS
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 <= value < 2**53
        ):
            known[key] = round(value)
        elif key == "finish_reason" and value in _FINISH_REASONS:
            known[key] = value
        else:
            rest[key] = value
    return known, rest
