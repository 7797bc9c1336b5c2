"""Reads a body that holds only one message, which reports a failure and is no event of the dialect.

If a server fails before its stream begins, it often answers with status 200 and an error body in the form of
its framework. Such a message is known to be a failure only at the end of the body: if other messages follow,
it is an event that no rule reads. So the first message of such a kind is kept until the next message arrives.
If no other message arrives, the kept message is the failure of the run.

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
from streamweir.events import Data, Error, Event
from streamweir.framing import Frame

__all__ = ["ErrorOnlyBody", "error_event_of", "error_only_body", "first_message"]


_MAY_BE_FAILURES: Final = frozenset({Error, Data})

_LONGEST: Final = 256 << 10
"""The most bytes of an error body. A larger message is passed on at once."""


class ErrorOnlyBody(NamedTuple):
    """The first message of a body, while no other message has followed it."""

    failure: FailureInBody
    frame: Frame
    events: Sequence[Event]
    """The events that the dialect made from the message; no rule reads the message."""


def first_message(frame: Frame, decoded: Iterable[Event], *, room: int) -> ErrorOnlyBody | Iterable[Event]:
    """Return the events of the first message of a body, or an `ErrorOnlyBody` if the message may be a failure
    without a stream.

    Args:
        frame: the frame that holds the message.
        decoded: the dialect's events for the message.
        room: the most bytes that an event may have; a message over an eighth of it is passed on at once.
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
    """Return the failure that the message in `frame` reports; None if it reports no failure or is no JSON."""
    return failure_in_body(frame.json_or(None))


def error_only_body(body: bytes) -> FailureInBody | None:
    """Return the failure in a body of an unknown dialect, if it is one message that reports a failure.

    None for a body that is too large for one.
    """
    if len(body) > _LONGEST:
        return None
    values = [message.value for message in head_messages(body) if message.value is not None]
    return failure_in_body(values[0]) if len(values) == 1 else None


def _refined(events: Sequence[Event], failure: FailureInBody) -> Sequence[Event]:
    """Return `events`. If they are one error only, it gets fields of `failure` that it left open."""
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
    """Return the terminal error for a failure; its text is not known to be written for users."""
    error = upstream_error(
        failure.message,
        code=failure.code,
        status=failure.status,
        recoverable=failure.recoverable,
        for_users=False,
    )
    return msgspec.structs.replace(error, retry_after_ms=failure.retry_after_ms)
