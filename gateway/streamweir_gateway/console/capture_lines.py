"""Makes the lines of a capture file from the log of a stream, during the stream or after its end.

The log contains reads, writes, requests and responses, without their secrets. It does not contain the events:
`capture_events.py` makes them again. The lines are written in the order of the log:

    entry        lines
    ──────────   ────────────────────────────────────────────────────────────────────────────────────────
    begin        `mark` retry or fallback, from the second attempt on; the lane of its events begins
    read         `mark` silence, `read`, `mark` commit and malformed; its events wait for the next entry
    write        the events up to its position, `write`, `mark` heartbeat
    relays       as `read` and `write`, in turns
    kind, mark   as `read`: an event without content, a mark
    attempt      `attempt`; the lane ends as the attempt did, unless another one follows
    end          the rest of the events, marks about the end, `end`

An event is written when a later entry of the log shows that the event belongs to the stream: events of an
attempt that was given up are not written. After a gap in the log, events take sequence numbers of the log.

Source: the contract of capture files, sections 1 to 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import streamweir
from streamweir.capture.masking import SecretMask
from streamweir.capture.writing import CaptureWriter, body_fields
from streamweir.codec.dialects import Dialects
from streamweir.errors import StreamweirError
from streamweir.request_id import valid_request_id
from streamweir.translation.translator import Translator
from streamweir_gateway.console.capture_events import EventLane, NotedEvents, SentEvents, TranslatedEvents
from streamweir_gateway.console.capture_payload import CapturePayload
from streamweir_gateway.console.entry_parts import LANE_OF_PART, EntryParts
from streamweir_gateway.console.relays import relays_in
from streamweir_gateway.console.silences import Silences
from streamweir_gateway.console.stream_log import HEARTBEAT, Entry, LeftOut, NumberedEntry

__all__ = ["CaptureLines"]

_TIMEOUTS: Final = ("connect_timeout", "first_event_timeout", "idle_timeout", "total_timeout")
_END_MARKS: Final = ("client_gone", "slow_client", "draining")
_HAS_POSITION: Final = frozenset({*LANE_OF_PART, "relays"})
"""Kinds of entries whose fifth element is the sequence number of the next event."""


class CaptureLines:
    """Makes the lines of one capture.

    Args:
        payload: the facts of the stream and the first part of its log.
        secrets: texts of the configuration that are removed from events.
        dialects: the dialects of the configuration in force.

    Attributes:
        lines: the lines that were made and not yet returned by `take`.
    """

    def __init__(self, payload: CapturePayload, secrets: Iterable[str], dialects: Dialects) -> None:
        self.lines: list[bytes] = []
        self._meta = payload.meta
        self._began = payload.began
        self._began_at = payload.began_at
        self._dialects = dialects
        self._has_content = payload.meta.get("content") != "metadata"
        self._out = CaptureWriter(self.lines.append, SecretMask(secrets))
        self._next = 0
        self._events = SentEvents() if self._has_content and not payload.attempts else EventLane()
        self._interrupted: EventLane | None = None
        """The lane of events that goes on with the next read; None unless reads before it were left out.

        Meanwhile `_events` makes none: the events at the end of the stream would be those of another stream.
        """
        self._silences = Silences()
        self._now = 0.0
        self._attempt: Mapping[str, Any] = {}
        """The fields of the present attempt."""
        self._next_event = payload.first_event
        """The sequence number of the next event to write."""
        self._sent = payload.first_event
        """The sequence number of the first event that no write contains."""
        self._sent_reads: int | None = None
        self._last_read: int | None = None
        self._had_gap = False
        self._lacks_reads = False
        """Whether reads were left out, so that a later read may begin within an event."""
        self._parts = EntryParts()
        self._left_out: Mapping[str, LeftOut] = {}
        self._begin(payload.entries)

    def take(self) -> list[bytes]:
        """Return the lines that were made since the last call."""
        lines = self.lines[:]
        self.lines.clear()
        return lines

    def feed(self, payload: CapturePayload) -> None:
        """Take the next entries of the log."""
        self._left_out = payload.left_out
        for number, entry in payload.entries:
            if number > self._next:
                self._take_gap(entry)
            self._next = number + 1
            self._now = max(self._now, self._since(entry[1]))
            self._take(self._parts.joined(entry) if entry[0] in ("read", "write") else entry)

    def _take(self, entry: Entry) -> None:
        getattr(self, f"_take_{entry[0]}")(entry)

    def flush(self) -> None:
        """Write all events that the stream has at this point, because the file ends here."""
        self._write_events(self._sent)

    def _since(self, t: float) -> float:
        return max(0.0, (t - self._began_at) * 1000)

    def _body_of(self, entry: Entry) -> dict[str, Any]:
        """Return the fields of the line for a read or a write."""
        if not self._has_content:
            return {"bytes": entry[2]}
        return {**body_fields(entry[2]), "redacted": entry[-1] or None}

    # --- entries --------------------------------------------------------------------------------------------

    def _begin(self, entries: Iterable[NumberedEntry]) -> None:
        began = datetime.fromtimestamp(round(self._began) / 1000, UTC)
        meta = {name: value for name, value in self._meta.items() if name not in ("id", "content")}
        options = dict(meta.get("options") or {})
        for _, entry in entries:  # those of the last attempt, as far as it has begun
            if entry[0] == "given":
                options["given"] = entry[2]
            elif entry[0] == "begin":
                options.pop("turns", None)
                options.update({name: entry[2][name] for name in ("warnings", "turns") if name in entry[2]})
        self._out.begin(
            id=self._meta["id"],
            began=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            by=f"streamweir {streamweir.__version__}",
            **{"from": "console"},
            content=self._meta["content"],
            **{**meta, **({"options": options} if options else {})},
        )

    def _line(self, kind: str, **fields: Any) -> None:
        self._out.line(kind, self._now, **fields)

    def _take_request(self, entry: Entry) -> None:
        _, _, fields, body, redacted = entry
        shown = {"bytes": body}
        if isinstance(body, bytes):
            shown = {**body_fields(body), **({"redacted": redacted} if redacted else {})}
        self._line("request", **fields, body=shown)

    def _take_response(self, entry: Entry) -> None:
        fields, written = entry[2], entry[3]
        if written is not None:
            self._write_events(written)
        if fields["side"] == "upstream":
            self._events.note_headers(
                [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields["headers"]]
            )
        self._line("response", **fields)

    def _take_begin(self, entry: Entry) -> None:
        fields = entry[2]
        if fields["attempt"] > 1:
            what = "retry" if fields["is_retry"] else "fallback"
            self._line("mark", what=what, attempt=fields["attempt"])
        self._attempt, self._next_event = fields, 0
        self._events, self._interrupted = self._lane(fields), None

    def _lane(self, fields: Mapping[str, Any]) -> EventLane:
        if not self._has_content:
            return NotedEvents(self._meta["id"], self._began)
        options = dict(self._meta.get("options") or {})
        options.pop("given", None)
        request_id = self._meta["id"]
        try:
            translator = Translator(
                speaks=fields["speaks"],
                request_id=request_id if valid_request_id(request_id) else None,
                session_id=self._meta.get("session_id"),
                clock=lambda: round(self._began + self._now),
                dialects=self._dialects,
                warnings=fields["warnings"],
                **options,
            )
        except StreamweirError:  # a dialect that the present configuration no longer has
            return EventLane()
        translator.stream.pipeline.questions.is_on = "turns" in fields
        return TranslatedEvents(translator, fields["attempt"])

    def _take_given(self, entry: Entry) -> None:
        self._events.given(entry[2])

    def _take_read_part(self, entry: Entry) -> None:
        self._parts.add(entry)

    _take_write_part = _take_read_part

    def _take_read(self, entry: Entry) -> None:
        _, t, data, attempt, written, number, _ = entry
        self._end_events_at(written)
        if self._interrupted is not None:
            self._events, self._interrupted = self._interrupted, None
        self._write_events(written)
        self._note_silence(t, number)
        self._line("read", n=number, attempt=attempt, **self._body_of(entry))
        self._last_read = number
        if self._had_gap:
            self._events.move_to(written)
        self._events.read(data, number, self._now)

    def _note_silence(self, until: float, read: int | None = None) -> None:
        if (gap := self._silences.after(self._since(until))) is not None:
            self._line("mark", what="silence", ms=gap, read=read)

    def _take_relays(self, entry: Entry) -> None:
        attempt = entry[3]
        for t, read, size, before, write, sent, behind in relays_in(entry):
            self._now = max(self._now, self._since(t))
            self._take_read(("read", t, size, attempt, before, read, 0))
            if sent:
                self._take_write(("write", t, sent, read, behind, write, 0))

    def _take_kind(self, entry: Entry) -> None:
        self._events.note(entry, self._now)

    def _take_mark(self, entry: Entry) -> None:
        self._events.note(entry, self._now)

    def _take_write(self, entry: Entry) -> None:
        _, _, data, read, written, number, _ = entry
        if read == HEARTBEAT:
            self._take_heartbeat(entry)
            return
        sequences = None
        self._events.wrote(data, self._now)
        if written is not None:
            if not self._lacks_events(written):
                self._write_events(written)
            sequences = [self._sent, written - 1] if written > self._sent else None
            self._sent = max(self._sent, written)
        is_of_read = read is not None and read != self._sent_reads and read == self._last_read
        self._sent_reads = read
        self._line(
            "write", n=number, read=read if is_of_read else None, sequences=sequences, **self._body_of(entry)
        )

    def _take_heartbeat(self, entry: Entry) -> None:
        if self._sent and entry[4] is not None:  # else the events may be of an attempt that is given up
            self._write_events(entry[4])
        self._line("mark", what="heartbeat")
        self._line("write", n=entry[5], **self._body_of(entry))

    def _take_attempt(self, entry: Entry) -> None:
        if self._last_read is not None:
            self._note_silence(entry[1])
        self._line("attempt", **{name: value for name, value in entry[2].items() if name != "first_event_ms"})
        if entry[2]["ended"] == "refused" and self._has_content:  # its reads are no part of a stream
            self._events = self._lane(self._attempt)
        self._events.attempt_ended(entry[2], self._now)

    def _take_end(self, entry: Entry) -> None:
        fields = dict(entry[2])
        lost = fields.pop("lost", None)
        self._events.ended(fields.get("reason") or "cancelled", self._now)
        self._end_events_at(self._sent)
        self._write_events(None)
        known = max(self._sent, self._events.next) if self._had_gap else self._events.next
        self._note_missing(known or fields["events"], self._now)
        if lost:
            self._line("mark", what="lossy", code="LOSSY_CONVERSION")
        reason = fields.get("reason")
        if reason in _TIMEOUTS:
            self._line("mark", what="timeout", code=fields.get("code"), text=reason)
        elif reason in _END_MARKS:
            self._line("mark", what=reason)
        fields["status"] = self._events.status or fields["status"]
        for name in ("bytes_in", "bytes_out"):  # a stored run may be read without an upstream or a client
            fields[name] = fields[name] or 0
        self._line("end", **fields)

    def _take_gap(self, entry: Entry) -> None:
        """Write a line that tells how much was left out before an entry, once for each lane."""
        if (cut := self._parts.take()) is not None:
            self._take(cut)
        self._now = max(self._now, self._since(entry[1]))
        if entry[0] in _HAS_POSITION and entry[4] is not None:  # the events before it have been sent
            self._sent = max(self._sent, entry[4])
        if not self._had_gap:
            self._note_left_out()
        reads = self._left_out.get("read")
        if self._events.needs_reads and reads is not None and reads.last >= self._next:
            self._write_events(None)
            self._events, self._interrupted = EventLane(), self._events
            self._lacks_reads = True

    def _note_left_out(self) -> None:
        self._had_gap = True
        self._write_events(None)
        for lane, (size, lines, _) in self._left_out.items():
            if lane != "kind":
                self._line("mark", what="left_out", lane=lane, bytes=size or None, lines=lines)

    def _note_missing(self, sequence: int, t: float) -> None:
        """Write a line that tells how many events before a sequence number were left out, if any were."""
        if self._had_gap and sequence > self._next_event:
            self._out.line("mark", t, what="left_out", lane="event", lines=sequence - self._next_event)
            self._next_event = sequence

    # --- events ---------------------------------------------------------------------------------------------

    def _end_events_at(self, sequence: int) -> None:
        """Note the sequence number that follows the events of the last read."""
        if self._lacks_events(sequence):
            self._events.end_at(sequence)

    def _lacks_events(self, sequence: int) -> bool:
        """Return whether events below a sequence number came of the left-out beginning of the last read."""
        return self._lacks_reads and self._interrupted is None and sequence > self._events.next

    def _write_events(self, below: int | None) -> None:
        """Write the pending events whose sequence number is below `below`; None: all of them."""
        for pending in self._events.take(below):
            if pending.mark is not None:
                self._out.line("mark", pending.t, **pending.mark, read=pending.read)
            elif pending.event is not None and pending.sequence >= self._next_event:
                self._note_missing(pending.sequence, pending.t)
                self._next_event = pending.sequence + 1
                self._out.event(pending.t, pending.event, read=pending.read)
