"""The last stage: one start, one end, no event after the end; an error before every failed end.

Source: the standard protocol 1.1, section 3 rules 1, 3 and 5, section 5 (length limits and filters).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from streamweir.classification.finish_words import code_of_finish, standard_finish
from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir.events import (
    EVENT_TYPES,
    FINISH_REASONS,
    Content,
    Data,
    Error,
    Event,
    Interaction,
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
from streamweir.stages.answers import is_answer
from streamweir.stages.endings import (
    CODES_BY_REASON,
    error_event,
    finish_of,
    fits_code,
    fitting_reason,
    has_stopped,
    info_of_error,
    opening_meta,
    reason_of_code,
    split_summary,
    with_finish,
)
from streamweir.stages.position import StreamPosition

__all__ = ["Lifecycle"]

MAX_WARNINGS: Final = 100
"""The most warnings from outside that are sent in one stream; one warning at the end counts the others."""

_TURNING_POINTS: Final = frozenset({SessionStart, SessionEnd, Error})
"""The events at which a stream begins or ends; all other events pass unchanged."""

_FINISH_WARNINGS: Final = {
    "length": "LENGTH_LIMIT",
    "content_filter": "CONTENT_FILTERED",
}
_FINISH_CODES: Final = frozenset(_FINISH_WARNINGS.values())

_NOTED: Final = frozenset({ToolCallStart, ToolCallEnd, Interaction, Status, Warning})
"""The events of which the stage notes more than whether they are a part of an answer."""

UNKNOWN_FINISH: Final = "The answer ended for a reason that is not known."


class Lifecycle:
    """The last stage: its output is a valid stream.

    state     entered by                                       events that pass
    ───────   ──────────────────────────────────────────────   ────────────────────────────────────────────
    new       the object is made                               the first one, after a `session_start`
    started   `session_start` (`started`)                      all
    failed    a terminal error that `precedes_end`             the end, or a failure of ours: it becomes the
              (`has_failed`)                                   `session_end` of the error
    ended     `session_end`, or `abandon` (`ended`)            none

    A terminal error that does not precede an end of its own is followed by `session_end` at once.

    Attributes:
        started: `session_start` has been sent.
        ended: `session_end` has been sent.
        error: the terminal error, if there was one.
        reason: why the stream ended; None before.
        summary: of `session_end`; empty before.
        has_failed: the terminal error has been sent, and the end has not.
        has_answer: the stream has an answer or a part of one: text other than blanks, thinking, a call, an
            interaction, a reference, or data other than custom data and states. Never cleared.
        session_id: the id of the `session_start`; None before it.
        thread_id: the thread id of the `session_start`; None if it has none.
        warnings: the number of warnings in the stream so far.
        waiting: warnings to be sent before the next event.
        pauses: a question to a person is open, and no event of the stream's own answer has come since it was
            asked.
        on_silence: called if the stream ends well and `has_answer` is False; returns the warning to send
            before the end, or None. If the attribute is None, streams may end without an answer.
        closing_warnings: called in order when the stream ends; each returns warnings known only then.

    Args:
        request_id: the id of the stream.
        session_id: the session's id if the upstream gives none.
        position: the position of the stream.
        warnings: to be sent right after `session_start`.
        room: roughly how many bytes the ids of open interactions may take.
        upstream: the name or URL of the upstream; empty if there is none.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset(EVENT_TYPES.values())
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    summary: Mapping[str, Any] = MappingProxyType({})
    started = False
    has_answer = False
    pauses = False
    warnings = 0
    session_id: str | None = None
    thread_id: str | None = None
    error: ErrorInfo | None = None
    reason: Reason | None = None
    on_silence: Callable[[], Warning | None] | None = None
    _warnings = 0
    _tool_calls = 0
    _has_text = False
    _asked: RecentIds[None] | None = None
    """The ids of open interactions; None until one is requested."""
    _asked_of_person: RecentIds[None] | None = None
    """The ids in `_asked` that a person answers: all except calls that the client runs itself."""
    _failure: Error | None = None
    _end: SessionEnd | None = None
    """The end of the stream, once its terminal error has been sent and before the upstream's own end."""

    def __init__(
        self,
        request_id: str,
        session_id: str,
        position: StreamPosition,
        warnings: Sequence[Warning] = (),
        room: int = 512 << 10,
        upstream: str = "",
    ) -> None:
        self._upstream = upstream or None
        self._request_id = request_id
        self._session_id = session_id
        self._position = position
        self.waiting: list[Warning] = [*warnings]
        self._room = room
        self.ended = self.has_failed = False  # read for each event, which takes longer on the class
        self.closing_warnings: list[Callable[[], Iterable[Warning]]] = []

    @cached_property
    def _reported(self) -> set[str]:
        """The codes of the warnings about the end that the upstream itself has sent."""
        return set()

    @property
    def waits_for_answer(self) -> bool:
        """Whether a question to a person, or a call for the client, is open."""
        return bool(self._asked)

    @property
    def waits_for_person(self) -> bool:
        """Whether a question to a person is unanswered: the end of the body is then no break-off."""
        return bool(self._asked_of_person)

    def warn(self, warning: Warning) -> None:
        """Send `warning` before the next event."""
        self._warnings += 1
        if self._warnings <= MAX_WARNINGS:
            self.waiting.append(warning)
            self._position.is_quiet = False

    def abandon(self) -> None:
        """End the stream without an end event, because nothing more can be written."""
        self.ended = self._position.ended = True
        self._position.is_quiet = self.has_failed = False
        self.reason = self.reason or "internal"

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return `event` with the events that the protocol requires around it; None to pass it on alone."""
        kind = type(event)
        if self._position.is_quiet and kind not in _TURNING_POINTS:
            if self.pauses or not (self._has_text if kind is Content else self.has_answer):
                self._note(event)
            elif kind in _NOTED:  # more of the answer says nothing new
                self._note_more(event)
            return None
        if self.ended:
            return ()
        if self.has_failed and self._end is not None:
            return self._end_behind_error(event, self._end)
        if type(event) is SessionEnd and self.started:
            return self._turn_to_end(event, ())
        return self._turn(event)

    def _turn(self, event: Event) -> Iterable[Event]:
        before = () if self.started else self._start(event)
        if type(event) is SessionStart:
            self._position.is_quiet = not self.waiting
            return before
        if type(event) is SessionEnd or (type(event) is Error and event.terminal):
            return self._turn_to_end(event, before)
        if self.waiting:
            before = (*before, *self.take_waiting())
        self._note(event)
        self._position.is_quiet = not self.waiting
        return (*before, event)

    def _turn_to_end(self, event: SessionEnd | Error, before: Sequence[Event]) -> Iterable[Event]:
        failure, end = self._ending(event)
        warnings = self._last_warnings()
        self._position.is_quiet = False
        if before or warnings or failure is not None:
            return chain(before, warnings, self._ends(failure, end))
        return (self._session_end(end),)

    def _ends(self, failure: Error | None, end: SessionEnd) -> Iterator[Event]:
        """Yield the error and the end; the end's summary counts the events written before it."""
        if failure is not None:
            self.error = info_of_error(failure, end.reason)
            yield failure
            if failure.precedes_end:
                self._end, self.has_failed = end, True
                return
        yield self._session_end(end)

    def _end_behind_error(self, event: Event, end: SessionEnd) -> Iterable[Event]:
        """Return the end only; all other events after a terminal error are dropped."""
        match event:
            case SessionEnd(reason=reason, summary=summary):
                fits = self.error is not None and fits_code(reason, self.error.code)
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
        kind = type(event)
        if is_answer(event):
            self.has_answer, self.pauses = True, False
            self._has_text = self._has_text or kind is Content
        if kind is not Content and kind is not Data:
            self._note_more(event)

    def _note_more(self, event: Event) -> None:
        match event:
            case ToolCallStart():
                self._tool_calls += 1
            case ToolCallEnd():
                if self._asked or self._asked_of_person:
                    self._close_question(event.tool_id)
            case Interaction(state="requested"):
                self._open_question(event)
            case Interaction():
                self._close_question(event.interaction_id)
            case Status(state="resumed"):
                self._asked = self._asked_of_person = None
                self.pauses = False
            case Warning():
                self._note_warning(event)
            case Error():
                self._failure = event

    def _note_warning(self, event: Warning) -> None:
        self.warnings += 1
        if event.message_code in _FINISH_CODES:
            self._reported.add(event.message_code)

    def _open_question(self, event: Interaction) -> None:
        self._asked = self._asked or RecentIds(self._room)
        self._asked.add(event.interaction_id, None)
        if event.kind != "tool":
            self._asked_of_person = self._asked_of_person or RecentIds(self._room)
            self._asked_of_person.add(event.interaction_id, None)
            self.pauses = True

    def _close_question(self, interaction_id: str) -> None:
        if self._asked:
            self._asked.discard(interaction_id)
        if self._asked_of_person:
            self._asked_of_person.discard(interaction_id)

    def _start(self, event: Event) -> Sequence[Event]:
        self.started = True
        given = event.session_id if type(event) is SessionStart else None
        meta = opening_meta(event) if event.meta else None
        if meta is not None and meta is not event.meta:
            given, self.thread_id = given or meta.get("session_id"), meta.get("thread_id")
        self.session_id = session_id = given or self._session_id
        start = SessionStart(session_id, self._request_id, upstream=self._upstream, meta=meta)
        return (start, *self.take_waiting()) if self.waiting else (start,)

    def take_waiting(self) -> Sequence[Warning]:
        """Return the warnings that wait for the next event, to be sent before it or without it."""
        if not self.waiting:
            return ()
        waiting, self.waiting = self.waiting, []
        for warning in waiting:
            self._note(warning)
        self._position.is_quiet = self.started and not self.ended and not self.has_failed
        return waiting

    def _last_warnings(self) -> Sequence[Warning]:
        left_out = self._warnings - MAX_WARNINGS
        if left_out > 0:
            self.waiting.append(Warning(message=f"{left_out} more warnings were left out.", for_users=True))
        for warnings in self.closing_warnings:
            self.waiting += warnings()
        return self.take_waiting() if self.waiting else ()

    def _ending(self, event: SessionEnd | Error) -> tuple[Error | None, SessionEnd]:
        """Return the end of the stream, with the error before it if there is one."""
        if type(event) is Error:
            if event.code == "CANCELLED":
                return None, SessionEnd(status="cancelled", meta=ids_of(event.meta))
            return self._failed(event, None)
        if event.status == "error":
            return self._failed(self._failure_of(event), event.summary)
        if event.status == "cancelled" or (self.has_answer and has_stopped(event)):
            return None, event
        finish = event.summary.get("finish_reason") if event.summary else None
        if finish is not None and (code := code_of_finish(finish)):
            return self._failed(error_event(error_info(code), meta=event.meta), event.summary)
        end = with_finish(event, finish) if isinstance(finish, str) else event
        if (
            finish is not None
            and finish_of(end) == "content_filter"
            and not self._has_text
            and end.status == "completed"
        ):
            withheld = error_event(error_info("CONTENT_FILTERED"), meta=event.meta)
            return self._failed(withheld, event.summary)
        self._warn_of_end(end)
        return None, end

    def _failed(self, error: Error, summary: dict[str, Any] | None) -> tuple[Error, SessionEnd]:
        if error.meta is not None:
            error = msgspec.structs.replace(error, meta=ids_of(error.meta))
        reason = error.reason or reason_of_code(error.code)
        return error, SessionEnd(status="error", reason=reason, summary=summary, meta=error.meta)

    def _warn_of_end(self, event: SessionEnd) -> None:
        """Send at most one warning, before a successful end, that the end is doubtful."""
        finish = finish_of(event)
        code = _FINISH_WARNINGS.get(finish)
        silence = None if self.has_answer or self.on_silence is None else self.on_silence()
        if silence is not None:
            self.waiting.append(silence)
        elif code and code not in self._reported:
            self.waiting.append(own_warning(code))
        elif finish and standard_finish(finish) not in FINISH_REASONS:
            self.waiting.append(own_warning("END_UNCONFIRMED", UNKNOWN_FINISH))

    def _failure_of(self, event: SessionEnd) -> Error:
        """Return the error for an end with status `error`: the last reported error, else a made one."""
        if self._failure is not None:
            return msgspec.structs.replace(self._failure, terminal=True, meta=event.meta)
        code = CODES_BY_REASON.get(event.reason, "UPSTREAM_ERROR")
        return error_event(
            error_info(code, reason=event.reason if event.reason in CODES_BY_REASON else None),
            meta=event.meta,
        )

    def _session_end(self, event: SessionEnd) -> SessionEnd:
        position, meta = self._position, event.meta
        lasted = position.now - position.began
        summary: dict[str, Any] = {"duration_ms": lasted if lasted > 0 else 0}
        if event.summary:
            known, rest = split_summary(event.summary)
            summary.update(known)
            if rest and event.status != "error":
                meta = {**(meta or {}), "extra": {**(meta or {}).get("extra", {}), "summary": rest}}
        summary["tool_calls"], summary["events"] = self._tool_calls, position.written + 1
        self.ended, position.ended, self.has_failed = True, True, False
        self.reason, self.summary = fitting_reason(event), summary
        return SessionEnd(status=event.status, reason=self.reason, summary=summary, meta=meta)
