"""One start, one end, nothing after it; an error before every failed end.

Source: the standard protocol 1.1, section 3 rules 1, 3 and 5, section 5 (length limits and filters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from streamweir.errors import CODES, ErrorInfo, Reason, error_info
from streamweir.events import (
    EVENT_TYPES,
    Content,
    Error,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    ToolCallStart,
    Warning,
)

__all__ = ["Lifecycle", "error_event"]

MAX_WARNINGS: Final = 100
"""So many warnings may wait for the next event; of more only the number is told."""

_REASONS: Final[dict[str, Reason]] = {
    "completed": "done",
    "suspended": "interaction",
    "cancelled": "cancelled",
    "error": "upstream_error",
}


class Lifecycle:
    """The last stage: what passes it is a valid stream.

    Args:
        request_id: the id of the stream.
        session_id: the session's id where the upstream gives none.
        clock: Unix milliseconds; the same for all events of one read.
        warnings: to be sent right after `session_start`.
        closing_warnings: called when the stream ends, for what is only known then.
    """

    handles: frozenset[type[Event]] = frozenset(EVENT_TYPES.values())

    def __init__(
        self,
        *,
        request_id: str,
        session_id: str,
        clock: Callable[[], int],
        warnings: Sequence[Warning] = (),
        closing_warnings: Callable[[], Iterable[Warning]] = tuple,
    ) -> None:
        self._request_id = request_id
        self._session_id = session_id
        self._clock = clock
        self._waiting: list[Warning] = list(warnings)
        self._left_out = 0
        self._closing_warnings = closing_warnings
        self._began = clock()
        self._tool_calls = 0
        self._has_text = False
        self._warned: set[str] = set()
        self._failure: Error | None = None
        self.started = False
        self.events = 0
        self.error: ErrorInfo | None = None
        self.reason: Reason | None = None

    @property
    def ended(self) -> bool:
        """`session_end` has been sent."""
        return self.reason is not None

    def warn(self, warning: Warning) -> None:
        """Send `warning` before the next event."""
        if len(self._waiting) < MAX_WARNINGS:
            self._waiting.append(warning)
        else:
            self._left_out += 1

    def abandon(self) -> None:
        """Nothing more can be written, not even the end."""
        self.reason = self.reason or "internal"

    def process(self, event: Event) -> Iterator[Event]:
        """Yield `event` and what the protocol wants around it."""
        if self.reason is not None:
            return
        if not self.started:
            yield from self._start(event)
        if self._waiting and not isinstance(event, Error | SessionEnd):
            yield from self._flush()
        match event:
            case SessionStart():
                return
            case Error(terminal=True):
                yield from self._fail(event)
            case SessionEnd():
                yield from self._end(event)
            case _:
                self._note(event)
                self.events += 1
                yield event

    def _note(self, event: Event) -> None:
        match event:
            case Content():
                self._has_text = self._has_text or bool(event.content)
            case ToolCallStart():
                self._tool_calls += 1
            case Warning(message_code=str(code)):
                self._warned.add(code)
            case Error():
                self._failure = event

    def _start(self, event: Event) -> Iterator[Event]:
        self.started = True
        self.events += 1
        meta: Meta = event.meta or {}
        given = event.session_id if isinstance(event, SessionStart) else None
        session_id = given or meta.get("session_id") or self._session_id
        ids = {key: meta[key] for key in ("session_id", "thread_id", "run_id", "message_id") if key in meta}  # type: ignore[literal-required]
        if isinstance(event, SessionStart) and "extra" in meta:
            ids["extra"] = meta["extra"]
        yield SessionStart(
            session_id=session_id,
            request_id=self._request_id,
            meta=Meta(**ids) or None,  # type: ignore[typeddict-item]
        )
        yield from self._flush()

    def _flush(self) -> Iterator[Event]:
        waiting, self._waiting = self._waiting, []
        if self._left_out:
            waiting.append(Warning(message=f"{self._left_out} more warnings were left out.", for_users=True))
            self._left_out = 0
        for warning in waiting:
            self._note(warning)
            self.events += 1
            yield warning

    def _fail(self, event: Error, summary: dict[str, Any] | None = None) -> Iterator[Event]:
        yield from self._close()
        reason = event.reason or _reason_of(event.code)
        self.error = _info_of(event, reason)
        self.events += 1
        yield event
        yield self._session_end(
            SessionEnd(status="error", reason=reason, summary=summary, meta=_ids(event.meta))
        )

    def _end(self, event: SessionEnd) -> Iterator[Event]:
        summary = event.summary or {}
        if event.status == "error":
            yield from self._fail(self._failure_of(event), summary)
            return
        if event.status == "completed":
            finish_reason = summary.get("finish_reason")
            if finish_reason == "content_filter" and not self._has_text:
                yield from self._fail(
                    error_event(error_info("CONTENT_FILTERED"), meta=_ids(event.meta)), summary
                )
                return
            self._warn_of_finish(finish_reason)
        yield from self._close()
        yield self._session_end(event)

    def _warn_of_finish(self, finish_reason: Any) -> None:
        code, message = {
            "length": ("LENGTH_LIMIT", "The answer was cut short by a length limit."),
            "content_filter": ("CONTENT_FILTERED", "A part of the answer was withheld by a content filter."),
        }.get(finish_reason, ("", ""))
        if code and code not in self._warned:
            self.warn(Warning(message=message, message_code=code, for_users=True))

    def _failure_of(self, event: SessionEnd) -> Error:
        """The terminal error of an end that says `error` without one: the last error that was reported."""
        if self._failure is not None:
            return msgspec.structs.replace(self._failure, terminal=True, meta=_ids(event.meta))
        return error_event(error_info("UPSTREAM_ERROR", reason=event.reason), meta=_ids(event.meta))

    def _close(self) -> Iterator[Event]:
        for warning in self._closing_warnings():
            self.warn(warning)
        yield from self._flush()

    def _session_end(self, event: SessionEnd) -> SessionEnd:
        self.reason = event.reason or _REASONS[event.status]
        self.events += 1
        summary = {
            "duration_ms": self._clock() - self._began,
            **{key: value for key, value in (event.summary or {}).items() if value is not None},
            "tool_calls": self._tool_calls,
            "events": self.events,
        }
        return SessionEnd(status=event.status, reason=self.reason, summary=summary, meta=event.meta)


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


def _info_of(event: Error, reason: Reason) -> ErrorInfo:
    row = CODES.get(event.code, CODES["UPSTREAM_ERROR"])
    return ErrorInfo(
        code=event.code,
        error_type=event.error_type,
        message=event.message,
        recoverable=event.recoverable,
        status=row.status,
        reason=reason,
        retry_after_ms=event.retry_after_ms,
        details=event.details,
    )


def _reason_of(code: str) -> Reason:
    return CODES.get(code, CODES["UPSTREAM_ERROR"]).reason


def _ids(meta: Meta | None) -> Meta | None:
    if not meta:
        return None
    return (
        Meta(**{key: value for key, value in meta.items() if key not in ("extra", "source", "duration_ms")})
        or None
    )  # type: ignore[typeddict-item]
