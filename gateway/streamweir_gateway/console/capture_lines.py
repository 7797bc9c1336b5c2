"""The lines of a capture file, made of the log of a stream while it runs or after its end.

Reads, writes, requests and responses are in the log; events are made again: a translator with the recorded
options gets the recorded reads. Each entry waits until its secrets are masked, since a secret may go on in
the next read; then its lines are written in the order of the log:

    entry      lines
    ────────   ──────────────────────────────────────────────────────────────────────────────────────────
    begin      `mark` retry or fallback, from the second attempt on; the translator of the attempt is made
    read       `mark` silence, `read`, `mark` commit and malformed; its events wait for the next entry
    write      the events up to its position, `write`, `mark` heartbeat
    attempt    `attempt`; the translator ends as the attempt did, unless another one follows
    end        the rest of the events, marks about the end, `end`

An event is written once the log shows that the stream has it: events of an attempt that was given up are not
written. Where entries were left out, the sequence numbers of the log hold.

Source: the contract of capture files, sections 1 to 3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import streamweir
from streamweir.capture.masking import CutBodyMask, MaskedRead, SecretMask
from streamweir.capture.playback import end_of_attempt
from streamweir.capture.writing import CaptureWriter, body_fields, recorded_headers
from streamweir.codec.dialects import Dialects
from streamweir.errors import StreamweirError
from streamweir.redaction import hide_credentials
from streamweir.request_id import valid_request_id
from streamweir.translation.translator import Translator
from streamweir_gateway.console.capture_events import EventList, PendingEvent, marks_of
from streamweir_gateway.console.capture_payload import CapturePayload
from streamweir_gateway.console.request_secrets import secrets_in
from streamweir_gateway.console.silences import Silences
from streamweir_gateway.console.stream_log import Entry, LeftOut, NumberedEntry

__all__ = ["CaptureLines"]

_TIMEOUTS: Final = ("connect_timeout", "first_event_timeout", "idle_timeout", "total_timeout")
_END_MARKS: Final = ("client_gone", "slow_client", "draining")


class CaptureLines:
    """Makes the lines of one capture.

    Args:
        payload: the first part of the log.
        secrets: texts of the configuration that no line shows.
        dialects: those of the configuration in force.

    Attributes:
        lines: the lines made so far, without those that were taken.
    """

    def __init__(self, payload: CapturePayload, secrets: Iterable[str], dialects: Dialects) -> None:
        self.lines: list[bytes] = []
        self._meta = payload.meta
        self._began = payload.began
        self._began_at = payload.began_at
        self._dialects = dialects
        self._has_content = payload.meta.get("content") != "metadata"
        self._mask = SecretMask(secrets)
        self._out = CaptureWriter(self.lines.append, self._mask)
        self._bodies = {lane: CutBodyMask(self._mask) for lane in ("read", "write")}
        self._masked: dict[str, deque[MaskedRead]] = {"read": deque(), "write": deque()}
        self._queue: deque[Entry] = deque()
        self._next = 0
        self._translator: Translator | None = None
        self._events = EventList()
        self._pending: deque[PendingEvent] = deque()
        self._silences = Silences()
        self._now = 0.0
        self._attempt_line: dict[str, Any] | None = None
        self._upstream: str | None = None
        self._has_committed = False
        self._sent = 0
        """The sequence of the first event that no write has."""
        self._last_read: int | None = None
        self._sent_reads: int | None = None
        self._had_gap = False
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
        self._mask.add(secrets_in(payload.entries))
        for number, entry in payload.entries:
            self._add((number, entry))
        if payload.is_over:
            self._release_masked()
        self._pump()

    def flush(self) -> None:
        """Make the lines of entries that still wait for the next read: the file ends here."""
        self._release_masked()
        self._pump()
        self._write_events(self._sent)

    # --- masking --------------------------------------------------------------------------------------------

    def _add(self, numbered: NumberedEntry) -> None:
        number, entry = numbered
        if number > self._next:
            self._release_masked()
            self._queue.append(("gap", entry[1]))
        self._next = number + 1
        self._queue.append(entry)
        if entry[0] in self._bodies and self._has_content:
            self._masked[entry[0]] += self._bodies[entry[0]].feed(entry[2])

    def _release_masked(self) -> None:
        for lane, body in self._bodies.items():
            self._masked[lane] += body.finish()

    def _pump(self) -> None:
        """Write the lines of all entries whose secrets are masked."""
        while self._queue:
            kind = self._queue[0][0]
            if kind in self._bodies and self._has_content and not self._masked[kind]:
                return
            entry = self._queue.popleft()
            self._now = max(self._now, self._since(entry[1]))
            getattr(self, f"_take_{kind}")(entry)

    def _since(self, t: float) -> float:
        return max(0.0, (t - self._began_at) * 1000)

    def _body_of(self, entry: Entry) -> tuple[dict[str, Any], bytes]:
        """Return the fields of the line of a read or a write, and its masked bytes."""
        if not self._has_content:
            return {"bytes": entry[2]}, b""
        masked = self._masked[entry[0]].popleft()
        shown: dict[str, Any] = body_fields(masked.data)
        if masked.redacted:
            shown["redacted"] = masked.redacted
        return shown, masked.data

    # --- entries --------------------------------------------------------------------------------------------

    def _begin(self, entries: Iterable[NumberedEntry]) -> None:
        began = datetime.fromtimestamp(self._began / 1000, UTC)
        meta = {name: value for name, value in self._meta.items() if name not in ("id", "content")}
        options = dict(meta.get("options") or {})
        for _, entry in entries:  # those of the last attempt, as far as it has begun
            if entry[0] == "given":
                options["given"] = entry[2]
            elif entry[0] == "begin":
                options["warnings"] = entry[2]["warnings"]
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
        fields, body = entry[2], entry[3]
        shown: dict[str, Any] = {"bytes": body}
        if isinstance(body, bytes):
            masked, count = self._mask.apply(body.decode("latin-1"))
            shown = body_fields(masked.encode("latin-1")) | ({"redacted": count} if count else {})
        for name in ("url", "target"):
            if name in fields:
                fields[name] = hide_credentials(self._mask.apply(fields[name])[0])
        self._line("request", **{**fields, "headers": self._headers(fields), "body": shown})

    def _take_response(self, entry: Entry) -> None:
        fields, written = entry[2], entry[3]
        if written is not None:
            self._write_events(written)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields["headers"]]
        if fields["side"] == "upstream" and self._translator is not None:
            self._translator.stream.reader.note_headers(headers)
        self._line("response", **{**fields, "headers": self._headers(fields)})

    def _headers(self, fields: Mapping[str, Any]) -> list[list[str]]:
        return recorded_headers([(name, value) for name, value in fields["headers"]], self._mask)

    def _take_begin(self, entry: Entry) -> None:
        fields = entry[2]
        if fields["attempt"] > 1:
            is_same = fields["upstream"] == self._upstream
            self._line("mark", what="retry" if is_same else "fallback", attempt=fields["attempt"])
        self._upstream, self._attempt_line = fields["upstream"], None
        self._pending.clear()
        self._events = EventList()
        self._translator = self._new_translator(fields) if self._has_content else None

    def _new_translator(self, fields: Mapping[str, Any]) -> Translator | None:
        options = dict(self._meta.get("options") or {})
        options.pop("given", None)
        request_id = self._meta["id"]
        try:
            translator = Translator(
                speaks=fields["speaks"],
                request_id=request_id if valid_request_id(request_id) else None,
                clock=lambda: round(self._began + self._now),
                dialects=self._dialects,
                warnings=fields["warnings"],
                **options,
            )
        except StreamweirError:  # a dialect that the present configuration no longer has
            return None
        translator.write_to(self._events)
        return translator

    def _take_given(self, entry: Entry) -> None:
        if self._translator is not None:
            self._translator.stream.reader.hand_over(entry[2])

    def _take_read(self, entry: Entry) -> None:
        _, t, _, attempt, written, number = entry
        self._write_events(written)
        if (gap := self._silences.after(self._since(t))) is not None:
            self._line("mark", what="silence", ms=gap, read=number)
        shown, data = self._body_of(entry)
        self._line("read", n=number, attempt=attempt, **shown)
        self._last_read = number
        translator = self._translator
        if translator is None:
            return
        if self._had_gap:
            self._events.move_to(translator, written)
        reader, malformed = translator.stream.reader, translator.stream.reader.malformed
        translator.feed(data)
        if reader.first_output is not None and not self._has_committed:
            self._has_committed = True
            self._line("mark", what="commit", attempt=attempt, read=number)
        if reader.malformed > malformed:
            self._line("mark", what="malformed", attempt=attempt, read=number)
        self._collect(number)

    def _take_write(self, entry: Entry) -> None:
        _, _, _, read, written, number = entry
        sequences = None
        if written is not None:
            self._write_events(written)
            sequences = [self._sent, written - 1] if written > self._sent else None
            self._sent = max(self._sent, written)
        shown, _ = self._body_of(entry)
        is_of_read = read is not None and read != self._sent_reads
        if not is_of_read and sequences is None and number > 0 and self._attempt_line is None:
            self._line("mark", what="heartbeat")
        self._sent_reads = read
        self._line("write", n=number, read=read if is_of_read else None, sequences=sequences, **shown)

    def _take_attempt(self, entry: Entry) -> None:
        self._attempt_line = entry[2]
        self._line("attempt", **entry[2])
        if self._translator is not None:
            end_of_attempt(self._translator, entry[2])
            self._collect(None)

    def _take_end(self, entry: Entry) -> None:
        fields, translator = entry[2], self._translator
        if translator is not None and not translator.ended:
            translator.cancel(fields.get("reason") or "cancelled")
            self._collect(None)
        self._write_events(None)
        reason = fields.get("reason")
        if reason in _TIMEOUTS:
            self._line("mark", what="timeout", code=fields.get("code"), text=reason)
        elif reason in _END_MARKS:
            self._line("mark", what=reason)
        status = self._events.status or fields["status"]
        self._line("end", **{**fields, "status": status})

    def _take_gap(self, _entry: Entry) -> None:
        """Say how much is left out here, once for each lane."""
        if self._had_gap:
            return
        self._had_gap = True
        for lane, (size, lines) in self._left_out.items():
            self._line("mark", what="left_out", lane=lane, bytes=size, lines=lines)

    # --- events ---------------------------------------------------------------------------------------------

    def _collect(self, read: int | None) -> None:
        """Let the new events of the translator wait until the log shows that the stream has them."""
        for event in self._events.take():
            self._pending.append(PendingEvent(event, self._now, read))

    def _write_events(self, below: int | None) -> None:
        """Write the pending events whose sequence is below a number; None: all."""
        while self._pending and (below is None or self._pending[0].sequence < below):
            pending = self._pending.popleft()
            for fields in marks_of(pending):
                self._out.line("mark", pending.t, **fields)
            self._out.event(pending.t, pending.event, read=pending.read)
