"""Returns a requested stream event by event, over as many connections as necessary.

Both clients, the one for event loops and the one without, are short shells around this class.

Source: the library contract, section 5; the standard protocol 1.1, sections 4 to 6; the contract of resumable
streams, section 6.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from streamweir.client.attempt import StreamAttempt
from streamweir.client.http_request import HttpRequest, RequestParts
from streamweir.client.request_plan import RequestPlan
from streamweir.client.waits import Waits
from streamweir.events import Error, SessionEnd
from streamweir.request_errors import (
    ConnectionFailed,
    RequestRejected,
    RequestTimeout,
    StreamRequestError,
    StreamTruncated,
)
from streamweir.runs.handles import new_handle
from streamweir.translation.received_event import ReceivedEvent, failure_events, made_event

__all__ = ["StreamEngine", "StreamFacts", "open_engine"]

_COMES_BACK: Final = frozenset({429, 502, 503, 504})
_NO_MORE: Final = frozenset({204, 404, 410})
"""Statuses after which a run is not resumed: it has ended and all events are here, is unknown, or is gone."""

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_JITTER: Final = 0.25


def open_engine(
    open_request: Callable[[RequestParts], HttpRequest],
    waits: Waits,
    url: str,
    *,
    method: str,
    speaks: str,
    raise_errors: bool,
    resume: bool | None,
    **options: Any,
) -> StreamEngine:
    """Return the engine of a stream; see `stream_request` for the other options."""
    plan = RequestPlan(
        method,
        url,
        speaks=speaks,
        open_request=open_request,
        waits=waits,
        handle=new_handle() if resume and speaks == "standard" else None,
        **options,
    )
    return StreamEngine(plan, raise_errors=raise_errors, resume=speaks == "standard" and resume is not False)


class StreamEngine:
    """The events of one stream.

    state       entered by                                         `next`
    ─────────   ────────────────────────────────────────────────   ───────────────────────────────────────
    asking      construction                                       waits for the answer
    reading     an answer (`_has_answer`)                          returns the next event
    returning   a broken connection (`_comes_back`)                waits; then asks the same again without an
                                                                   answer, else reads the run (`resumes`)
    ended       `session_end` is returned (`_has_ended`)           the stream is over
    closed      `aclose`, from any task (`_is_over`)               returns `_last` if set; the stream is over

    `_has_come_back` is set with the first return, and never cleared: after that, a failure means that the
    remaining stream is lost. `_event_at` and `_pause` measure the time without an event, which clears both.

    Attributes:
        run: the handle of the run in the answer's headers; None if the stream can only be read once.
        resumes: how many times the stream was resumed.

    Args:
        plan: makes the requests of the stream.
        raise_errors: raise if the stream fails; False: each failure arrives as events.
        resume: resume the stream if the connection breaks.
    """

    def __init__(self, plan: RequestPlan, *, raise_errors: bool, resume: bool) -> None:
        self.run: str | None = plan.handle
        self.resumes = 0
        self._plan: Final = plan
        self._raise_errors: Final = raise_errors
        self._may_resume: Final = resume
        self._attempt: StreamAttempt = plan.first()
        self._position: int | None = None
        self._event_at: float | None = None
        self._pause = 0.0
        self._is_over = False
        self._has_come_back = False
        self._has_ended = False
        self._last: ReceivedEvent | None = None
        """The event to return last after `cancel` of a stream that is not a run."""

    @property
    def request_id(self) -> str:
        """The id of the request; once there is an answer, the id in the answer."""
        return self._attempt.request_id

    @property
    def status(self) -> int | None:
        """The HTTP status of the answer; None before it."""
        return self._attempt.status

    async def next(self) -> ReceivedEvent:
        """Return the next event.

        Raises:
            StopAsyncIteration: the stream is over.
            StreamRequestError: the stream has failed, with `raise_errors`.
        """
        while True:
            event = await self._attempt.next()
            if event is None:
                event = await self._at_end()
                if event is None:
                    continue
            elif self._is_known(event):
                continue
            self._has_ended = self._has_ended or event.type == "session_end"
            if isinstance(event.data, Error) and event.data.terminal and self._raise_errors:
                failure = self._attempt.error_of(event.data)
                await self.aclose()
                raise failure
            return event

    async def aclose(self) -> None:
        """Close the connection, also while another task is reading: its iteration then ends."""
        self._is_over = True
        await self._attempt.aclose()

    async def cancel(self) -> str:
        """Stop the run, in whatever process it is made, and return its status: `cancelled`, unless the run
        ended before.

        An iteration continues to the `session_end` of the run. If the answer names no run, the connection is
        closed, and the iteration ends with a `session_end` that the client makes.

        Raises:
            StreamRequestError: the server could not be asked, or does not know the run.
        """
        self._note_run()
        if self.run is not None:
            return await self._plan.cancel(self.run, self._attempt.location)
        if not self._is_over and not self._has_ended:
            following = 0 if self._position is None else self._position + 1
            end = SessionEnd(status="cancelled", reason="cancelled")
            self._last = made_event(end, request_id=self.request_id, sequence=following)
        await self.aclose()
        return "cancelled"

    async def _at_end(self) -> ReceivedEvent | None:
        """Return the event that ends the stream; None if the stream continues over another connection."""
        attempt = self._attempt
        if self._is_over:
            return self._take_last()
        failure = attempt.failure
        if failure is not None and self._may_resume and await self._comes_back(failure):
            return None
        if self._is_over or not attempt.ending:
            return self._take_last()
        if failure is None:
            return attempt.ending.popleft()
        final = self._as_final(failure)
        if self._raise_errors:
            await self.aclose()
            raise final
        if final is not failure:
            attempt.ending.clear()
            following = 0 if self._position is None else self._position + 1
            attempt.ending.extend(failure_events(final.info, request_id=self.request_id, sequence=following))
        return attempt.ending.popleft()

    def _take_last(self) -> ReceivedEvent:
        """Return the end event of a stream that was cancelled and is not a run."""
        if self._last is None:
            raise StopAsyncIteration
        last, self._last = self._last, None
        return last

    def _is_known(self, event: ReceivedEvent) -> bool:
        """Return whether an event has arrived before, and is to be left out; else note its position."""
        sequence = event.metadata.sequence
        if sequence is not None:
            if self.resumes and self._position is not None and sequence <= self._position:
                return True
            self._position = sequence
        self._event_at, self._pause = None, 0.0
        return False

    def _note_run(self) -> None:
        attempt = self._attempt
        if attempt.run is not None:
            self.run = attempt.run
        elif self._has_answer and not self.resumes:
            self.run = None

    @property
    def _has_answer(self) -> bool:
        """Whether the server has accepted or refused the request; an overloaded server has done neither."""
        status = self._attempt.status
        return self.resumes > 0 or (status is not None and status not in _COMES_BACK)

    # Coming back

    async def _comes_back(self, failure: StreamRequestError) -> bool:
        """Prepare another attempt after a pause; return False if no attempt is to follow."""
        attempt = self._attempt
        self._note_run()
        if not self._may_go_on_elsewhere(failure) or self.run is None or not self._can_ask_again():
            return False
        now = self._plan.waits.now()
        self._event_at = now if self._event_at is None else self._event_at
        seconds = self._next_pause(failure)
        if now + seconds - self._event_at > self._plan.resume_seconds:
            return False
        await attempt.aclose_connection()
        await self._plan.waits.sleep(seconds)
        if self._is_over:
            return False
        self._has_come_back = True
        if not self._has_answer:
            self._attempt = self._plan.first()
        else:
            self._attempt = self._plan.reading(self.run, attempt.location, self._position)
            self._attempt.location = attempt.location
            self.resumes += 1
        return True

    def _may_go_on_elsewhere(self, failure: StreamRequestError) -> bool:
        """Return whether only the connection failed, so that the run may continue without it."""
        if isinstance(failure, RequestRejected):
            return failure.status in _COMES_BACK
        if isinstance(failure, RequestTimeout):
            clocks = ("idle_timeout", "connect_timeout", *(("first_event_timeout",) if self.resumes else ()))
            return failure.info.reason in clocks
        return isinstance(failure, ConnectionFailed | StreamTruncated)

    def _can_ask_again(self) -> bool:
        return self._has_answer or self._plan.may_be_repeated

    def _next_pause(self, failure: StreamRequestError) -> float:
        pause, self._pause = self._pause, min(_LONGEST_PAUSE, max(_FIRST_PAUSE, self._pause * 2))
        if failure.info.retry_after_ms:  # who says 0 says nothing, and is not to be asked without a pause
            return failure.info.retry_after_ms / 1000
        return pause * (1 - random.random() * _JITTER)

    def _as_final(self, failure: StreamRequestError) -> StreamRequestError:
        """Return the exception for a failure after which there is no further attempt."""
        if isinstance(failure, RequestRejected):
            gives_up = self._has_come_back and failure.status in _COMES_BACK
            is_lost = gives_up or (self.resumes > 0 and failure.status in _NO_MORE)
        else:
            is_lost = self._has_come_back
        if is_lost and not isinstance(failure, StreamTruncated):
            return StreamTruncated(failure.info, request_id=self.request_id, status=failure.status)
        return failure


class StreamFacts:
    """The attributes of a stream that both clients have."""

    def __init__(self, engine: StreamEngine) -> None:
        self._engine: Final = engine

    @property
    def request_id(self) -> str:
        """The id of the request; once there is an answer, the id in the answer."""
        return self._engine.request_id

    @property
    def status(self) -> int | None:
        """The HTTP status of the answer; None before it."""
        return self._engine.status

    @property
    def run(self) -> str | None:
        """The handle of the run in the answer's headers; None if the stream can only be read once."""
        return self._engine.run

    @property
    def resumes(self) -> int:
        """The number of times that the stream was resumed."""
        return self._engine.resumes
