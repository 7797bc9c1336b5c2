"""Makes the events of a capture again, from the recorded reads or from the noted kinds of events.

Source: the contract of capture files, sections 1 and 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from streamweir.capture.playback import end_of_attempt
from streamweir.errors import WARNINGS
from streamweir.events import Content, Event, SessionEnd, Stamp, Thinking, wire_message
from streamweir.http.headers import HeaderList
from streamweir.translation.translator import Translator
from streamweir_gateway.console.stream_log import Entry
from streamweir_gateway.console.text_changes import change_of

__all__ = ["EventLane", "NotedEvents", "Pending", "SentEvents", "TranslatedEvents"]

_MALFORMED: Final = "UPSTREAM_MALFORMED_EVENT"
_TEXTS: Final = frozenset({"content", "thinking"})
_LOSSES: Final = frozenset({"REQUEST_LOSSY", "LOSSY_CONVERSION", "REASONING_LOST"})


class Pending(NamedTuple):
    """An event that is not written yet, or a mark before it.

    Attributes:
        sequence: the sequence of the event.
        t: milliseconds since the capture began.
        event: as in the standard protocol; None for a mark.
        mark: the fields of the mark; None for an event.
        read: the number of the read that the event came from; None: the gateway made the event.
    """

    sequence: int
    t: float
    event: dict[str, Any] | None
    mark: dict[str, Any] | None
    read: int | None

    def moved(self, by: int) -> Pending:
        """Return the event or mark with a sequence number that is higher by `by`."""
        event, mark = self.event, self.mark
        if event is not None:
            metadata = event["metadata"]
            event = {**event, "metadata": {**metadata, "sequence": metadata["sequence"] + by}}
        if mark is not None and "sequence" in mark:
            mark = {**mark, "sequence": mark["sequence"] + by}
        return self._replace(sequence=self.sequence + by, event=event, mark=mark)


class EventLane:
    """Base of the event lanes: the events of one attempt in order, with their marks.

    This class makes no events.

    Attributes:
        needs_reads: whether the events after a gap in the reads are unknown until the next read.
        status: the status in `session_end`; None before that event.
        next: the sequence number of the next event.
    """

    needs_reads = False

    def __init__(self) -> None:
        self.status: str | None = None
        self.next = 0
        self._waiting: deque[Pending] = deque()

    def note_headers(self, headers: HeaderList) -> None:
        """Note the headers of the upstream's response."""

    def given(self, facts: Mapping[str, str]) -> None:
        """Note the facts from the requests that the decoder needs."""

    def read(self, data: bytes, number: int, t: float) -> None:
        """Note the read with this number."""

    def wrote(self, data: bytes, t: float) -> None:
        """Note a piece of the response to the client."""

    def note(self, entry: Entry, t: float) -> None:
        """Note an entry of the log about an event or a mark."""

    def attempt_ended(self, fields: Mapping[str, Any], t: float) -> None:
        """Note the end of the attempt."""

    def ended(self, reason: str, t: float) -> None:
        """Note the end of the stream."""

    def move_to(self, sequence: int) -> None:
        """Give the next event this sequence number, because entries before it were left out."""
        self.next = sequence

    def end_at(self, sequence: int) -> None:
        """Number the waiting events anew, so that the next event gets this sequence number.

        They are of a read whose beginning was left out: fewer events came of the rest of it.
        """
        missing = sequence - self.next
        self._waiting = deque(pending.moved(missing) for pending in self._waiting)
        self.move_to(sequence)

    def take(self, below: int | None) -> Iterator[Pending]:
        """Yield the events below a sequence number, each event once; None: all events."""
        while self._waiting and (below is None or self._waiting[0].sequence < below):
            yield self._waiting.popleft()

    def _mark(self, t: float, read: int | None, **fields: Any) -> None:
        self._waiting.append(Pending(self.next, t, None, fields, read))

    def _mark_warning(self, code: str | None, t: float, read: int | None) -> None:
        if code == _MALFORMED:
            self._mark(t, read, what="malformed")
        what = "warning"
        if code in _LOSSES:
            what = "lossy"
        elif (row := WARNINGS.get(code or "")) is not None and row.reports_repair:
            what = "repair"
        self._mark(t, read, what=what, code=code, sequence=self.next)


class TranslatedEvents(EventLane):
    """Events that a translator makes from the reads.

    With the options of the stream, it makes the events that were sent.

    Args:
        translator: the translator of the attempt.
        attempt: the number of the attempt.
    """

    needs_reads = True

    def __init__(self, translator: Translator, attempt: int) -> None:
        super().__init__()
        self._translator = translator
        self._attempt = attempt
        self._has_committed = False
        self._has_moved = False
        """Whether entries were left out before the present read."""
        self._t = 0.0
        self._first = 0
        """The number of waiting events that came before the present read."""
        self._read: int | None = None
        translator.write_to(self)
        translator.stream.pipeline.watcher = self

    def note_headers(self, headers: HeaderList) -> None:
        """Pass the headers of the response to the decoder."""
        self._translator.stream.reader.note_headers(headers)

    def given(self, facts: Mapping[str, str]) -> None:
        """Pass the facts from the requests to the decoder."""
        self._translator.stream.reader.hand_over(facts)

    def read(self, data: bytes, number: int, t: float) -> None:
        """Translate a read."""
        self._at(t, number, lambda: self._translator.feed(data))

    def attempt_ended(self, fields: Mapping[str, Any], t: float) -> None:
        """End the translator in the way in which the attempt ended."""
        self._at(t, None, lambda: end_of_attempt(self._translator, fields))

    def ended(self, reason: str, t: float) -> None:
        """End the translator if it has not ended yet."""
        if not self._translator.ended:
            self._at(t, None, lambda: self._translator.cancel(reason))  # type: ignore[arg-type]

    def move_to(self, sequence: int) -> None:
        """Give the next event this sequence number."""
        super().move_to(sequence)
        self._has_moved = True
        self._translator.stream.pipeline.position.written = sequence

    def _at(self, t: float, read: int | None, call: Callable[[], object]) -> None:
        reader = self._translator.stream.reader
        malformed = reader.malformed
        self._t, self._read, self._first = t, read, len(self._waiting)
        call()
        if self._has_moved:
            self._remove_start()
        new = [*islice(self._waiting, self._first, None)]
        if reader.malformed > malformed and not any(_is_malformed(one) for one in new):
            self._first_mark(what="malformed", attempt=self._attempt)
        if reader.first_output is not None and not self._has_committed:
            self._has_committed = True
            self._first_mark(what="commit", attempt=self._attempt)

    def _remove_start(self) -> None:
        """Remove a `session_start` from the new events: the stream began in reads that were left out."""
        starts = [
            one for one in self._waiting if one.event is not None and one.event["type"] == "session_start"
        ]
        for start in starts:
            place = self._waiting.index(start)
            kept = [*self._waiting]
            self._waiting = deque(kept[:place] + [one.moved(-1) for one in kept[place + 1 :]])
            super().move_to(self.next - 1)
            self._translator.stream.pipeline.position.written = self.next

    def _first_mark(self, **fields: Any) -> None:
        """Insert a mark before the first event of the present read."""
        known = [*self._waiting]
        sequence = known[self._first].sequence if self._first < len(known) else self.next
        self._waiting.insert(self._first, Pending(sequence, self._t, None, fields, self._read))

    # --- as the watcher of its pipeline

    def noted(self, event: Event, sequence: int) -> None:
        """Do nothing: `write` and `write_run` get the event."""

    def replaced(self, event: Event, events: Sequence[Event]) -> None:
        """Mark a text that was withheld or left out."""
        if (change := change_of(event, events)) is not None:
            self._mark(self._t, self._read, what=change)

    def dropped(self) -> None:
        """Mark events after the end."""
        self._mark(self._t, self._read, what="dropped")

    # --- as a sink of the translator

    def write(self, event: Event, stamp: Stamp) -> None:
        """Queue an event of the translator."""
        if isinstance(event, SessionEnd):
            self.status = event.status
        self.next = stamp.sequence
        if event.type == "warning":
            self._mark_warning(getattr(event, "message_code", None), self._t, self._read)
        message = wire_message(event, stamp)
        self._waiting.append(Pending(stamp.sequence, self._t, message, None, self._read))
        self.next += 1

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Queue pieces of text, each as an event."""
        for place, text in enumerate(texts):
            self.write(
                event.with_text(text), Stamp(stamp.request_id, stamp.sequence + place, stamp.timestamp)
            )

    def finish(self) -> None:
        """Do nothing: the last event has been queued already."""

    def heartbeat(self) -> bytes:
        """Return no bytes, because there is no client."""
        return b""


class SentEvents(EventLane):
    """The events of a stored run, taken from the response to a client of the standard protocol."""

    def wrote(self, data: bytes, t: float) -> None:
        """Queue the events in a piece of the response. A piece holds whole frames."""
        for line in data.split(b"\n"):
            event = _event_of(line.removeprefix(b"data: "))
            if event is not None:
                self._waiting.append(Pending(event["metadata"]["sequence"], t, event, None, None))
                self.status = event["data"].get("status") if event["type"] == "session_end" else None


def _event_of(line: bytes) -> dict[str, Any] | None:
    """Return the standard event in a line; None if the line holds no event."""
    if not line.startswith(b"{"):
        return None
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_event = isinstance(event, dict) and isinstance(event.get("data"), dict)
    metadata = event.get("metadata") if is_event else None
    return event if isinstance(metadata, dict) and isinstance(metadata.get("sequence"), int) else None


def _is_malformed(pending: Pending) -> bool:
    return pending.mark is not None and pending.mark["what"] == "malformed"


class NotedEvents(EventLane):
    """Events without content, made from the noted kinds.

    Only the first piece of a text was noted; it is repeated.

    Args:
        request_id: the id of the stream.
        began: the time when the capture began, in Unix milliseconds.
    """

    def __init__(self, request_id: str, began: float) -> None:
        super().__init__()
        self._request_id = request_id
        self._began = began
        self._text: tuple[str, dict[str, Any] | None] | None = None
        """The kind and the ids of the last text; None before the first text."""
        self._t = 0.0
        self._number: int | None = None

    def read(self, data: bytes, number: int, t: float) -> None:
        """Note a read. The events that follow came from this read."""
        del data
        self._t, self._number = t, number

    def note(self, entry: Entry, t: float) -> None:
        """Queue the event of a noted kind, or queue a mark."""
        if entry[0] == "mark":
            fields = {name: value for name, value in entry[2].items() if name != "read"}
            self._mark(t, entry[2]["read"], **fields)
            return
        _, _, _, sequence, kind, ids, code = entry
        self._repeat_to(sequence)
        self.next = sequence
        if kind == "warning":
            self._mark_warning(code, t, self._number)
        self._t = t
        self._add_one(kind, ids)
        if kind in _TEXTS:
            self._text = kind, ids

    def attempt_ended(self, fields: Mapping[str, Any], t: float) -> None:
        """Note the end of the attempt. The gateway made the events that follow."""
        del fields
        self._t, self._number = t, None

    def take(self, below: int | None) -> Iterator[Pending]:
        """Yield the events below a sequence number; None: all events."""
        if below is not None:
            self._repeat_to(below)
        return super().take(below)

    def move_to(self, sequence: int) -> None:
        """Move to a sequence number, and forget the present text: the next one may have been left out."""
        super().move_to(sequence)
        self._text = None

    def _repeat_to(self, sequence: int) -> None:
        """Queue the further pieces of the present text, up to a sequence number."""
        while self._text is not None and self.next < sequence:
            self._add_one(*self._text)

    def _add_one(self, kind: str, ids: dict[str, Any] | None) -> None:
        ours = {
            "request_id": self._request_id,
            "timestamp": round(self._began + self._t),
            "sequence": self.next,
        }
        event = {"type": kind, "metadata": {**ours, **(ids or {})}}
        self._waiting.append(Pending(self.next, self._t, event, None, self._number))
        self.next += 1
