"""Records one request without its bytes: for `capture: metadata`."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from streamweir.events import EVENT_TYPES, Event, Warning
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.reader import StreamReader
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.noted_capture import NotedCapture, packed_notes
from streamweir_gateway.console.outline_log import OutlineLog
from streamweir_gateway.console.relays import pack_relay
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.stream_log import StreamLog
from streamweir_gateway.console.text_changes import change_of

__all__ = ["OutlineRecorder"]

_IDS: Final = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "upstream_time")
"""The metadata fields that an event without content keeps, in addition to those that every event has."""
_LONGEST_ID: Final = 128
_NAMES: Final = {kind: name for name, kind in EVENT_TYPES.items()}
"""The types of events on the wire, by their classes."""


class OutlineRecorder(RequestRecorder):
    """Records one request; see `RequestRecorder`. It is the `PipelineWatcher` of its stream."""

    _reader: StreamReader | None = None
    """The reader of the present attempt until its first output has been noted; then None."""

    def _watch(self, stream: StreamNormalizer) -> None:
        self._reader, stream.pipeline.watcher = stream.reader, self

    def noted(self, event: Event, sequence: int) -> None:
        """Note the kind of an event."""
        if self._reader is not None and self._reader.frames.first_output is not None:
            self._reader = None
            self._notes.append(("mark", monotonic(), {"what": "commit", "attempt": self.attempt}))
        if event.meta or type(event) is Warning:
            ids = _ids_of(event.meta) if event.meta else None
            code = event.message_code if type(event) is Warning else None
            self._notes.append(("named", monotonic(), sequence, event.type, ids, code))
        else:
            self._notes.append(("kind", monotonic(), sequence, _NAMES[type(event)]))

    def replaced(self, event: Event, events: Sequence[Event]) -> None:
        """Note whether a text was withheld or left out."""
        if (change := change_of(event, events)) is not None:
            self._notes.append(("mark", monotonic(), {"what": change}))

    def dropped(self) -> None:
        """Note that events followed the end."""
        self._notes.append(("mark", monotonic(), {"what": "dropped"}))

    def written(self, data: bytes) -> None:
        """Note a piece of the response's body that was not sent by a relay."""
        self._notes.append(("write", monotonic(), len(data), self._position.written))

    def heartbeat(self, data: bytes) -> None:
        """Note a sent heartbeat, which belongs to no read."""
        self._notes.append(("heartbeat", monotonic(), len(data), self._position.written))

    _kept_body = staticmethod(len)

    def _note_read(self, data: bytes) -> None:
        if data:
            self._notes.append(("read", monotonic(), len(data), self._position.written))

    def _note_relayed(self, now: float, data: bytes, before: int) -> None:
        assert self.delivery is not None, "a relayed read has been delivered"
        if not self._relays:
            self._relays = bytearray()
        self._relays += pack_relay(now, len(data), before, self.delivery.bytes, self._position.written)

    def kept(self) -> OutlineRecorder | NotedCapture:
        """Return the capture of a stream that has ended, as it is kept until its log is wanted."""
        return self if self._log is not None else packed_notes(self, self._notes, self._relays) or self

    def _new_log(self, mask: LogMask) -> OutlineLog:
        return OutlineLog(StreamLog(self.settings.max_bytes, mask.raw))


def _ids_of(meta: Any) -> dict[str, Any] | None:
    """Return the ids of an event, or None. A value that is too long is not an id."""
    found = {name: meta[name] for name in _IDS if name in meta}
    return {name: value for name, value in found.items() if len(str(value)) <= _LONGEST_ID} or None
