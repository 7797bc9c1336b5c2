"""The events of a stream that is translated again, until they are written as lines of its capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from streamweir.errors import WARNINGS
from streamweir.events import Content, Event, SessionEnd, Stamp, Thinking, wire_message
from streamweir.translation.translator import Translator

__all__ = ["EventList", "PendingEvent", "marks_of"]

_LOSSES: Final = frozenset({"REQUEST_LOSSY", "LOSSY_CONVERSION", "REASONING_LOST"})


class PendingEvent(NamedTuple):
    """An event that is not written yet.

    Attributes:
        event: as in the standard protocol.
        t: milliseconds since the capture began.
        read: the number of the read that it came from; None: it is of our own making.
    """

    event: dict[str, Any]
    t: float
    read: int | None

    @property
    def sequence(self) -> int:
        """Its sequence number."""
        return int(self.event["metadata"]["sequence"])


class EventList:
    """The sink of a translator that keeps the events until they are taken.

    Attributes:
        status: of `session_end`; None before.
    """

    def __init__(self) -> None:
        self.status: str | None = None
        self._events: list[dict[str, Any]] = []

    def write(self, event: Event, stamp: Stamp) -> None:
        """Keep an event."""
        if isinstance(event, SessionEnd):
            self.status = event.status
        self._events.append(wire_message(event, stamp))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Keep pieces of text, one by one."""
        for place, text in enumerate(texts):
            self.write(
                event.with_text(text), Stamp(stamp.request_id, stamp.sequence + place, stamp.timestamp)
            )

    def finish(self) -> None:
        """Take note that the last event has been written."""

    def heartbeat(self) -> bytes:
        """Return nothing: there is no client."""
        return b""

    def take(self) -> list[dict[str, Any]]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    @staticmethod
    def move_to(translator: Translator, sequence: int) -> None:
        """Let the next event have this sequence number, as it had in the stream."""
        translator.stream.pipeline.position.written = sequence


def marks_of(pending: PendingEvent) -> Iterator[dict[str, Any]]:
    """Yield the fields of the marks before an event."""
    if pending.event["type"] != "warning":
        return
    code = pending.event["data"].get("message_code")
    row = WARNINGS.get(code)
    what = "lossy" if code in _LOSSES else "repair" if row is not None and row.reports_repair else "warning"
    yield {"what": what, "code": code, "read": pending.read, "sequence": pending.sequence}
