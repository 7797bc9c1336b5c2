"""Counts the frames of a stream that could not be read, and makes the warnings about them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from streamweir.codec.dialect import Dialect
from streamweir.errors import MalformedEvent, error_info
from streamweir.events import Event, Warning
from streamweir.framing import Frame
from streamweir.stages import error_event
from streamweir.translation.report import MAX_REPORTED_MALFORMED, malformed_warning, more_malformed_warning

__all__ = ["Unreadable"]

logger: Final = logging.getLogger("streamweir")


class Unreadable(msgspec.Struct, eq=False):
    """Counts the frames of one stream that could not be read.

    Args:
        most: the number of such frames that the stream may have; the next one ends it.

    Attributes:
        malformed: the number of frames that could not be read.
        faults: the number of exceptions other than `MalformedEvent` that the decoder raised.
        half_a_frame: the data of a frame that the body ended within; None if it did not.
    """

    _most: int
    malformed: int = 0
    faults: int = 0
    half_a_frame: bytes | None = None

    def note(self, frame: Frame) -> Iterator[Event]:
        """Count a frame; yield the warning about it, or the error if there were too many."""
        if frame.unterminated:
            self.half_a_frame = frame.data
            return
        self.malformed += 1
        if self.malformed > self._most:
            yield error_event(error_info("STREAM_LIMIT_EXCEEDED", reason="malformed"))
        elif self.malformed <= MAX_REPORTED_MALFORMED:
            yield malformed_warning()

    def log_fault(self, error: Exception, dialect: Dialect | None) -> None:
        """Log an exception of the decoder other than `MalformedEvent`, once per stream."""
        if isinstance(error, MalformedEvent):
            return
        self.faults += 1
        if self.faults == 1:
            logger.error(
                "the decoder of %r has a fault", "" if dialect is None else dialect.name, exc_info=error
            )

    def closing_warnings(self) -> Sequence[Warning]:
        """Return the warnings that are sent at the end of the stream."""
        if not self.malformed:
            return ()
        warning = more_malformed_warning(self.malformed)
        return () if warning is None else (warning,)
