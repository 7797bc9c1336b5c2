"""A body that is one message, which tells of a failure and is no event of the dialect.

A server that does not get as far as its stream often answers 200 and an error body, as its framework writes
it. That is known only at the end: the same message in front of others is an event that no rule knows. So the
first one of a body is kept until the next one comes, and if none does, it is how the run failed.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

import msgspec

from streamweir.classification import FailureInBody, failure_in_body
from streamweir.codec.coerce import is_custom, upstream_error
from streamweir.codec.head_messages import head_messages
from streamweir.errors import MalformedEvent
from streamweir.events import Data, Error, Event
from streamweir.framing import Frame

__all__ = [
    "ErrorOnlyBody",
    "error_event_of",
    "error_only_body",
    "first_message",
]


_MAY_BE_FAILURES: Final = frozenset({Error, Data})

_LONGEST: Final = 256 << 10
"""No error body is larger, so that no larger message waits for what follows it."""


class ErrorOnlyBody(NamedTuple):
    """The first message of a body, as long as nothing has followed it."""

    failure: FailureInBody
    frame: Frame
    events: Sequence[Event]
    """The dialect's events for it: events that no rule reads."""


def first_message(frame: Frame, decoded: Iterable[Event], *, room: int) -> ErrorOnlyBody | Iterable[Event]:
    """Return the first message of a body as events, or as a body that waits: it may be a plain failure.

    Args:
        frame: that holds the message.
        decoded: the dialect's events for it.
        room: the most bytes that an event may have; a message of an eighth of it does not wait.
    """
    if type(decoded) is tuple and decoded and type(decoded[0]) not in _MAY_BE_FAILURES:  # nearly all
        return decoded
    rest = iter(decoded)
    events = [*islice(rest, 1)]
    may_be_failure = not events or type(events[0]) in _MAY_BE_FAILURES
    is_large = may_be_failure and len(frame.data) > min(_LONGEST, room // 8)
    failure = _failure_in(frame) if may_be_failure and not is_large else None
    if failure is None:
        return chain(events, rest)
    events += rest
    if all(map(is_custom, events)):
        return ErrorOnlyBody(failure, frame, events)
    return _refined(events, failure)


def _failure_in(frame: Frame) -> FailureInBody | None:
    """Return the failure that the message in `frame` reports; None if it reports none, or is no JSON."""
    try:
        return failure_in_body(frame.json())
    except MalformedEvent:
        return None


def error_only_body(body: bytes) -> FailureInBody | None:
    """Return the failure that a whole body of no known dialect tells of, if its one message does."""
    values = [message.value for message in head_messages(body) if message.value is not None]
    return failure_in_body(values[0]) if len(values) == 1 else None


def _refined(events: Sequence[Event], failure: FailureInBody) -> Sequence[Event]:
    """Return the same events; a lone error gets, from `failure`, the fields that the dialect left open."""
    match events:
        case [Error() as error]:
            given = error_event_of(failure)
            own_word = failure.recoverable
            exact = msgspec.structs.replace(
                error,
                message=error.message or given.message,
                recoverable=error.recoverable if own_word is None else own_word,
                retry_after_ms=given.retry_after_ms if error.retry_after_ms is None else error.retry_after_ms,
            )
            return [_classed_as(given, exact) if error.code == "UPSTREAM_ERROR" != given.code else exact]
    return events


def _classed_as(given: Error, error: Error) -> Error:
    return msgspec.structs.replace(
        error,
        error_type=given.error_type,
        code=given.code,
        recoverable=given.recoverable,
        reason=given.reason,
    )


def error_event_of(failure: FailureInBody) -> Error:
    """Return the terminal error for a failure; its text may not have been written for users."""
    error = upstream_error(
        failure.message,
        code=failure.code,
        status=failure.status,
        recoverable=failure.recoverable,
        for_users=False,
    )
    return msgspec.structs.replace(error, retry_after_ms=failure.retry_after_ms)
