"""Gives runs of texts, and the end, to several sinks of a stream."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from streamweir.events import Content, Interaction, SessionStart, Stamp, Thinking
from streamweir.translation.sink import EventSink, ListeningSink, raise_apart

__all__ = ["FOR_LISTENER", "finish_all", "has_one_writer", "write_run_to_all"]

logger = logging.getLogger("streamweir")

FOR_LISTENER: Final = frozenset({SessionStart, Interaction})
"""The kinds of event that the listener of a pipeline gets even if they have no metadata."""


def has_one_writer(sinks: Iterable[EventSink]) -> bool:
    """Return whether exactly one of the sinks writes to a client."""
    return sum(not isinstance(sink, ListeningSink) for sink in sinks) == 1


def write_run_to_all(
    sinks: Iterable[EventSink], event: Content | Thinking, texts: Sequence[str], stamp: Stamp
) -> None:
    """Give texts to each of the sinks, also if one of them raises; raise the last exception at the end."""
    failure: Exception | None = None
    for sink in sinks:
        try:
            sink.write_run(event, texts, stamp)
        except Exception as error:
            failure = error
    if failure is not None:
        raise_apart(failure)


def finish_all(sinks: Iterable[EventSink], request_id: str) -> None:
    """Tell the sinks that the last event has been written. Never raises."""
    for sink in sinks:
        try:
            sink.finish()
        except Exception:
            logger.exception("ending a stream failed", extra={"request_id": request_id})
