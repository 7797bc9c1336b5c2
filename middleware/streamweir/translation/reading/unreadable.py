"""What of a stream could not be read: how often, and what is reported of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from streamweir.codec.dialect import Dialect
from streamweir.errors import MalformedEvent, error_info
from streamweir.events import Event, Warning
from streamweir.framing import Frame
from streamweir.stages import error_event
from streamweir.translation.report import MAX_REPORTED_MALFORMED, malformed_warning, more_malformed_warning

__all__ = ["Unreadable"]

logger: Final = logging.getLogger("streamweir")


class Unreadable:
    """Counts the frames of one stream that could not be read.

    Args:
        most: so many are let be; the next one ends the stream.

    Attributes:
        malformed: how many there were.
        faults: how often the decoder has raised what it should not have.
        half_a_frame: with which the body ended; None: it did not.
    """

    def __init__(self, most: int) -> None:
        self.malformed = 0
        self.faults = 0
        self.half_a_frame: bytes | None = None
        self._most = most

    def note(self, frame: Frame) -> Iterator[Event]:
        """Take note of a frame, and yield what is reported of it."""
        if frame.unterminated:
            self.half_a_frame = frame.data
            return
        self.malformed += 1
        if self.malformed > self._most:
            yield error_event(error_info("STREAM_LIMIT_EXCEEDED", reason="malformed"))
        elif self.malformed <= MAX_REPORTED_MALFORMED:
            yield malformed_warning()

    def log_fault(self, error: Exception, dialect: Dialect | None) -> None:
        """Log what a decoder raised that it should not have, once for each stream."""
        if isinstance(error, MalformedEvent):
            return
        self.faults += 1
        if self.faults == 1:
            logger.error(
                "the decoder of %r has a fault", "" if dialect is None else dialect.name, exc_info=error
            )

    def closing_warnings(self) -> Sequence[Warning]:
        """Return what is to be reported when the stream ends."""
        warning = more_malformed_warning(self.malformed)
        return () if warning is None else (warning,)
