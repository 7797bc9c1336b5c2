"""The first output of a stream: the commit point, after which no other upstream is asked.

    output       text, thinking, a piece of a tool call, data, references, interactions, the end, an error
    no output    `session_start`, `status`, `warning`, an empty text, an end that says that the run broke off

Source: the configuration contract (the commit point); the standard protocol 1.1, section 3 rule 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, cast

import msgspec

from streamweir.classification import FailureInBody, failure_in_body, is_overload
from streamweir.classification.finish_words import code_of_finish
from streamweir.codec.dialect import Dialect
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Error, Event, SessionEnd, SessionStart, Status, Thinking, Warning
from streamweir.framing import Frame

__all__ = ["NO_ERROR", "FirstOutput", "find_output"]

_TRUNCATED: Final = "UPSTREAM_TRUNCATED"
_OPENING: Final = frozenset({SessionStart, Status, Warning})
_TEXTS: Final = frozenset({Content, Thinking})
_TOO_OFTEN: Final = 429
_OVERLOADED: Final = 503


class FirstOutput(NamedTuple):
    """The first output of a stream.

    Attributes:
        error: the output, if it is a terminal error; None for any other output.
        status: 429 if the output is an error of a rate-limited upstream, 503 for an overloaded upstream; None
            for any other output.
        retry_after_ms: the time to wait that such an error names; None if it names none.
    """

    error: Error | None = None
    status: int | None = None
    retry_after_ms: int | None = None


NO_ERROR: Final = FirstOutput()
"""Any output but a terminal error."""


def find_output(events: Iterable[Event], frame: Frame | None, dialect: Dialect | None) -> FirstOutput | None:
    """Return the first output among the events of a frame; None if no event is output.

    Args:
        events: the decoded events.
        frame: the frame that holds them; None if they come from no frame.
        dialect: the dialect of the upstream; None: unknown.
    """
    for event in events:
        kind = type(event)
        if kind in _OPENING or (kind in _TEXTS and not event.content):  # type: ignore[union-attr]
            continue
        if kind is Error:
            if (found := _of_error(cast("Error", event), frame, dialect)) is not None:
                return found
        elif kind is not SessionEnd or not _is_broken_off(cast("SessionEnd", event)):
            return NO_ERROR
    return None


def _is_broken_off(end: SessionEnd) -> bool:
    return code_of_finish((end.summary or {}).get("finish_reason")) == _TRUNCATED


def _of_error(error: Error, frame: Frame | None, dialect: Dialect | None) -> FirstOutput | None:
    """Return the output for an error; None if it results from a finish word that reports a broken-off run.

    In the standard protocol, errors are always separate events.
    """
    if error.code == _TRUNCATED and (dialect is None or dialect.name != "standard"):
        return None
    if not error.terminal:
        return NO_ERROR
    failure = None if frame is None else _failure_in(frame)
    status = None
    if error.code == "RATE_LIMITED":
        status = _TOO_OFTEN
    elif error.is_overload or (failure is not None and is_overload(failure.code, failure.status)):
        status = _OVERLOADED
    retry_after_ms = error.retry_after_ms
    if retry_after_ms is None and failure is not None:
        retry_after_ms = failure.retry_after_ms
    return FirstOutput(error, status, retry_after_ms)


def _failure_in(frame: Frame) -> FailureInBody | None:
    try:
        return failure_in_body(frame.json())
    except (MalformedEvent, msgspec.DecodeError):
        return None
