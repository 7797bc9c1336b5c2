"""Records one request with its bytes: for `capture: content`."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from streamweir_gateway.console.content_log import ContentLog
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.request_recorder import MOST_NOTES, RequestRecorder
from streamweir_gateway.console.stream_log import StreamLog
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
        position = self._position
        self._add(("write", monotonic(), data, None if position is None else position.written), len(data))

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""
        position = self._position
        self._add(("heartbeat", monotonic(), data, None if position is None else position.written), len(data))

    def _kept_body(self, body: bytes) -> bytes | int:
        size = len(body)
        if size > self.settings.most_held:
            return size
        self._held += size
        return body

    def _note_read(self, data: bytes) -> None:
        if data:
            assert self._position is not None, "an attempt has begun"
            self._add(("read", monotonic(), data, self._position.written), len(data))

    def _relay_noter(self) -> Callable[[float, bytes, int], None]:
        relayed, position, notes = self._relayed, self._position, self._notes
        most_held = self.settings.most_held
        assert position is not None, "an attempt has begun"

        def note(now: float, data: bytes, before: int) -> None:
            sent = relayed.pop() if relayed else b""
            if len(notes) >= MOST_NOTES or self._held > most_held:
                self._moved()
            notes.append((now, data, before, sent, position.written))
            self._held += len(data) + len(sent)

        return note

    def _new_log(self, mask: LogMask) -> ContentLog:
        return ContentLog(StreamLog(self.settings.max_bytes, mask.raw, mask.note_more))
