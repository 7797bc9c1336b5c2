"""One start, one end, nothing after it; an error before every failed end.

Source: the standard protocol 1.1, section 3 rules 1, 3 and 5, section 5 (length limits and filters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final

import msgspec

from streamweir.errors import CODES, ErrorInfo, Reason, error_info
from streamweir.events import (
    EVENT_TYPES,
    FINISH_REASONS,
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
from streamweir.ids import RecentIds
from streamweir.own_warnings import own_warning
from streamweir.stages.position import StreamPosition

__all__ = ["REASON_OF_STATUS", "Lifecycle", "error_event", "info_of_error"]

MAX_WARNINGS: Final = 100
"""So many warnings from outside are sent in one stream; of more only the number is reported, at the end."""

REASON_OF_STATUS: Final[dict[str, Reason]] = {
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
    "lost": "RUN_LOST",
    "internal": "INTERNAL",
}
"""What a failed end without an error of its own means; any other reason is `UPSTREAM_ERROR`."""

_ALSO_FITTING: Final = frozenset(
    {
        ("malformed", "STREAM_LIMIT_EXCEEDED"),
        ("lost", "STORE_UNAVAILABLE"),
        ("cancelled", "CANCELLED"),
        ("upstream_error", "UPSTREAM_TIMEOUT"),
    }
)
"""Reasons that a failed end may give as well, each with the code of its error."""

_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens", "duration_ms")
_FINISH_WARNINGS: Final = {
    "length": "LENGTH_LIMIT",
    "content_filter": "CONTENT_FILTERED",
}
_FINISH_CODES: Final = frozenset(_FINISH_WARNINGS.values())


class Lifecycle:
    """The last stage: what passes it is a valid stream.

    Attributes:
        started: `session_start` has been sent.
        ended: `session_end` has been sent.
        error: the terminal error, if there was one.
        reason: why the stream ended.
        waiting: warnings to be sent before the next event.
        closing_warnings: asked, one after the other, when the stream ends, for what is only known then.

    Args:
        request_id: the id of the stream.
        session_id: the session's id where the upstream gives none.
        position: of the stream.
        warnings: to be sent right after `session_start`.
        room: how many bytes the ids of open interactions may take, about.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(EVENT_TYPES.values())
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    def __init__(
        self,
        request_id: str,
        session_id: str,
        position: StreamPosition,
        warnings: Sequence[Warning] = (),
        room: int = 512 << 10,
    ) -> None:
        self._request_id = request_id
        self._session_id = session_id
        self._position = position
        self.waiting: list[Warning] = list(warnings)
        self._warnings = 0
        self._tool_calls = 0
        self._has_text = False
        self._reported: set[str] = set()
        self._room = room
        self._failure: Error | None = None
        self._end: SessionEnd | None = None
        """How the stream ends, where its terminal error has been sent and the upstream may still say more."""
        self.started = False
        self.ended = False
        self.error: ErrorInfo | None = None
        self.reason: Reason | None = None
        self.closing_warnings: list[Callable[[], Iterable[Warning]]] = []

    @cached_property
    def _asked(self) -> RecentIds[None]:
        """The interactions that are open; most streams have none."""
        return RecentIds(self._room)

    @property
    def has_failed(self) -> bool:
        """The terminal error has been sent, and the end has not."""
        return self._end is not None and not self.ended

    @property
    def waits_for_answer(self) -> bool:
        """Something was asked of a person, or of the client, and is still open."""
        return bool(self._asked)

    def warn(self, warning: Warning) -> None:
        """Send `warning` before the next event."""
        self._warnings += 1
        if self._warnings <= MAX_WARNINGS:
            self.waiting.append(warning)

    def take_waiting(self) -> list[Warning]:
        """Return the warnings that wait for the next event, which are sent without it."""
        return self._waiting_warnings()

    def abandon(self) -> None:
        """Nothing more can be written, not even the end."""
        self.ended = self._position.ended = True
        self.reason = self.reason or "internal"

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return `event` with what the protocol wants around it; None where that is nothing."""
        if self.ended:
            return ()
        if self._end is not None:
            return self._end_behind_error(event, self._end)
        kind = type(event)
        if self.started and not self.waiting and kind not in _TURNING_POINTS:
            if not (self._has_text and kind is Content):  # more text says nothing new
                self._note(event)
            return None
        return self._turn(event)

    def _turn(self, event: Event) -> Iterator[Event]:
        if not self.started:
            yield from self._start(event)
        match event:
            case SessionStart():
                pass
            case SessionEnd() | Error(terminal=True):
                failure, end = self._ending(event)
                yield from self._last_warnings()
                if failure is not None:
                    self.error = info_of_error(failure, end.reason)
                    yield failure
                    if failure.precedes_end:
                        self._end = end
                        return
                yield self._session_end(end)
            case _:
                yield from self._waiting_warnings()
                self._note(event)
                yield event

    def _end_behind_error(self, event: Event, end: SessionEnd) -> Iterable[Event]:
        """Of what follows a terminal error only the end counts: the upstream's own, or any at all."""
        match event:
            case SessionEnd(reason=reason, summary=summary):
                fits = self.error is not None and _fits(reason, self.error.code)
                end = msgspec.structs.replace(
                    end, reason=reason if fits else end.reason, summary=summary or end.summary
                )
            case Error(terminal=True, precedes_end=None):
                pass  # a failure of ours, behind which nothing comes
            case _:
                return ()
        if self.error is not None and end.reason is not None:
            self.error = msgspec.structs.replace(self.error, reason=end.reason)
        return (self._session_end(end),)

    def _note(self, event: Event) -> None:
        match event:
            case Content():
                self._has_text = self._has_text or event.content != ""
            case ToolCallStart():
                self._tool_calls += 1
            case ToolCallEnd():
                self._asked.discard(event.tool_id)
            case Interaction(state="requested"):
                self._asked.add(event.interaction_id, None)
            case Interaction():
                self._asked.discard(event.interaction_id)
            case Status(state="resumed"):
                self._asked.clear()
            case Warning(message_code=str(code)) if code in _FINISH_CODES:
                self._reported.add(code)
            case Error():
                self._failure = event

    def _start(self, event: Event) -> list[Event]:
        self.started = True
        given = event.session_id if isinstance(event, SessionStart) else None
        meta = _opening_meta(event)
        start = SessionStart(
            session_id=given or (meta or {}).get("session_id") or self._session_id,
            request_id=self._request_id,
            meta=meta,
        )
        return [start, *self._waiting_warnings()]

    def _waiting_warnings(self) -> list[Warning]:
        waiting, self.waiting = self.waiting, []
        for warning in waiting:
            self._note(warning)
        return waiting

    def _last_warnings(self) -> list[Warning]:
        left_out = self._warnings - MAX_WARNINGS
        if left_out > 0:
            self.waiting.append(Warning(message=f"{left_out} more warnings were left out.", for_users=True))
        for warnings in self.closing_warnings:
            self.waiting += warnings()
        return self._waiting_warnings()

    def _ending(self, event: SessionEnd | Error) -> tuple[Error | None, SessionEnd]:
        """How the stream ends: with the error before its end, if it is one."""
        if isinstance(event, Error):
            if event.code == "CANCELLED":
                return None, SessionEnd(status="cancelled", meta=ids_of(event.meta))
            return self._failed(event, None)
        if event.status == "error":
            return self._failed(self._failure_of(event), event.summary)
        finish_reason = (event.summary or {}).get("finish_reason")
        if event.status == "completed" and finish_reason is not None:
            if finish_reason == "content_filter" and not self._has_text:
                withheld = error_event(error_info("CONTENT_FILTERED"), meta=event.meta)
                return self._failed(withheld, event.summary)
            self._warn_of_finish(finish_reason)
        return None, event

    def _failed(self, error: Error, summary: dict[str, Any] | None) -> tuple[Error, SessionEnd]:
        if error.meta is not None:
            error = msgspec.structs.replace(error, meta=ids_of(error.meta))
        reason = error.reason or _reason_of(error.code)
        return error, SessionEnd(status="error", reason=reason, summary=summary, meta=error.meta)

    def _warn_of_finish(self, finish_reason: Any) -> None:
        code = _FINISH_WARNINGS.get(str(finish_reason))
        if code is not None and code not in self._reported:
            self.waiting.append(own_warning(code))

    def _failure_of(self, event: SessionEnd) -> Error:
        """The terminal error of an end that says `error` without one: the last error that was reported."""
        if self._failure is not None:
            return msgspec.structs.replace(self._failure, terminal=True, meta=event.meta)
        code = _CODES_BY_REASON.get(event.reason, "UPSTREAM_ERROR")
        return error_event(
            error_info(code, reason=event.reason if event.reason in _CODES_BY_REASON else None),
            meta=event.meta,
        )

    def _session_end(self, event: SessionEnd) -> SessionEnd:
        summary, rest = _split_summary(event.summary) if event.summary else ({}, {})
        meta = event.meta
        if rest and event.status != "error":
            meta = {**(meta or {}), "extra": {**(meta or {}).get("extra", {}), "summary": rest}}
        self.ended = self._position.ended = True
        self.reason = _fitting_reason(event)
        return SessionEnd(
            status=event.status,
            reason=self.reason,
            summary={
                "duration_ms": max(0, self._position.now - self._position.began),
                **summary,
                "tool_calls": self._tool_calls,
                "events": self._position.written + 1,
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
    return (event.reason if fits else None) or REASON_OF_STATUS[event.status]


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
        elif key == "finish_reason" and value in FINISH_REASONS:
            known[key] = value
        else:
            rest[key] = value
    return known, rest


def _fits(reason: Reason | None, code: str) -> bool:
    """May an end behind an error of `code` have this reason?"""
    if (reason, code) in _ALSO_FITTING or _CODES_BY_REASON.get(reason) == code:
        return True
    return reason == "upstream_error" and code not in _CODES_BY_REASON.values()
