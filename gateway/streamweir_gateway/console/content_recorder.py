"""Records one request with its bytes: for `capture: content`."""

from __future__ import annotations

from time import monotonic

from streamweir_gateway.console.content_log import ContentLog
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.request_recorder import MOST_NOTES, RequestRecorder
from streamweir_gateway.console.stream_log import Entry, StreamLog
from streamweir_gateway.runs.stream_recorder import DeliveryFacts

__all__ = ["ContentRecorder"]


class ContentRecorder(RequestRecorder):
    """Records one request; see `RequestRecorder`."""

    has_content = True

    def delivered_by(self, delivery: DeliveryFacts, *, reports_relays: bool = False) -> None:
        """Watch the delivery that sends the stream to the client; see `StreamRecorder`."""
        super().delivered_by(delivery, reports_relays=reports_relays)
        if reports_relays:
            self._relayed: list[bytes] = []
            """The piece that a relay has sent, until the relayed read is noted."""
            delivery.on_sent_at_once = self._relayed.append

    def written(self, data: bytes) -> None:
        """Note a piece of the response's body that was not sent by a relay."""
        self._add(("write", monotonic(), data, self._position.written), len(data))

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""
        self._add(("heartbeat", monotonic(), data, self._position.written), len(data))

    def _add(self, note: Entry, size: int) -> None:
        """Add a note that holds `size` bytes. If the notes hold much, the log takes them first."""
        if len(self._notes) >= MOST_NOTES or self.held > self.settings.most_held:
            self.move_notes()
        self._notes.append(note)
        self.held += size

    def _kept_body(self, body: bytes) -> bytes | int:
        size = len(body)
        if size > self.settings.most_held:
            return size
        self.held += size
        return body

    def _note_read(self, data: bytes) -> None:
        if data:
            self._add(("read", monotonic(), data, self._position.written), len(data))

    def _note_relayed(self, now: float, data: bytes, before: int) -> None:
        sent = self._relayed.pop() if self._relayed else b""
        if len(self._notes) >= MOST_NOTES or self.held > self.settings.most_held:
            self.move_notes()
        self._notes.append((now, data, before, sent, self._position.written))
        self.held += len(data) + len(sent)

    def _new_log(self, mask: LogMask) -> ContentLog:
        return ContentLog(StreamLog(self.settings.max_bytes, mask.raw, mask.note_more))
