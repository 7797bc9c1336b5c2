"""Notes the kind of each event of a stream, without the content: for `capture: metadata`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from streamweir.events import Content, Event, Stamp, Thinking, Warning
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.sink import OutlineSink
from streamweir.translation.stage_watch import watch_stages
from streamweir_gateway.console.text_changes import change_of

__all__ = ["EventKinds"]

_IDS: Final = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "upstream_time")
"""The metadata fields that an event without content keeps, in addition to those that every event has."""
_LONGEST_ID: Final = 128


class EventKinds(OutlineSink):
    """A sink that makes an entry of the log for each event; further pieces of a text get no entry.

    Args:
        entries: gets the entries.
        attempt: the number of the attempt.
    """

    def __init__(self, entries: list[tuple[Any, ...]], attempt: int) -> None:
        self._add = entries.append
        self._attempt = attempt
        self._stream: StreamNormalizer | None = None
        """The stream, until its first output has been noted; then None."""

    def follow(self, stream: StreamNormalizer) -> None:
        """Note the events of a stream, from its first event on."""
        self._stream = stream
        stream.pipeline.add_sink(self)
        watch_stages(stream.pipeline, self._note_change, self._note_dropped)

    def write(self, event: Event, stamp: Stamp) -> None:
        """Note an event."""
        if self._stream is not None and self._stream.reader.first_output is not None:
            self._stream = None
            self._mark(what="commit", attempt=self._attempt)
        meta = event.meta
        code = event.message_code if isinstance(event, Warning) else None
        ids = _ids_of(meta) if meta else None
        self._add(("kind", time.monotonic(), 0, stamp.sequence, event.type, ids, code))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Do nothing: the pieces belong to a text that was noted with its first piece."""

    def finish(self) -> None:
        """Drop the reference to the stream."""
        self._stream = None

    def heartbeat(self) -> bytes:
        """Return no bytes: there is no client."""
        return b""

    def _note_change(self, event: Event, replaced: Sequence[Event]) -> None:
        if (change := change_of(event, replaced)) is not None:
            self._mark(what=change)

    def _note_dropped(self) -> None:
        self._mark(what="dropped")

    def _mark(self, **fields: Any) -> None:
        self._add(("mark", time.monotonic(), fields))


def _ids_of(meta: Any) -> dict[str, Any] | None:
    """Return the ids of an event, or None. A value that is too long is not an id."""
    found = {name: meta[name] for name in _IDS if name in meta}
    return {name: value for name, value in found.items() if len(str(value)) <= _LONGEST_ID} or None
