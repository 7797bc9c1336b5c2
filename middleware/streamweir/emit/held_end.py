"""A sink that can hold back the end of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streamweir.events import Content, Event, Meta, SessionEnd, Stamp, Thinking
from streamweir.translation.sink import EventSink

__all__ = ["HeldEnd"]


class HeldEnd:
    """Passes the events of one stream on to sinks, and holds back the end if `holds` is set.

    Args:
        sinks: get the events.

    Attributes:
        holds: if True when the end comes, the end is held back until `release`.
        summary: the caller's fields of the summary, which replace the computed ones.
    """

    def __init__(self, *sinks: EventSink) -> None:
        self.holds = False
        self.summary: Mapping[str, Any] = {}
        self._sinks = sinks
        self._held: tuple[SessionEnd, Stamp] | None = None

    @property
    def is_held(self) -> bool:
        """Whether the end event is being held back."""
        return self._held is not None

    def release(self, ending: SessionEnd, *, duration_ms: int, timestamp: int) -> None:
        """Pass on the held end, with the fields that `ending` adds."""
        assert self._held is not None
        held, stamp = self._held
        self._held = None
        meta: Meta = {**(held.meta or {}), **(ending.meta or {})}
        summary = {**(held.summary or {}), "duration_ms": duration_ms}
        reason = ending.reason or held.reason
        self._pass_on_end(
            msgspec.structs.replace(held, reason=reason, summary=summary, meta=meta or None),
            Stamp(stamp.request_id, stamp.sequence, timestamp),
        )
        self.finish()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Pass `event` on; hold it back if it is the end and `holds` is set."""
        if not isinstance(event, SessionEnd):
            for sink in self._sinks:
                sink.write(event, stamp)
        elif self.holds:
            self._held = event, stamp
        else:
            self._pass_on_end(event, stamp)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Pass pieces of text on."""
        for sink in self._sinks:
            sink.write_run(event, texts, stamp)

    def finish(self) -> None:
        """Tell the sinks that the last event has been written, unless the end is held back."""
        if self._held is None:
            for sink in self._sinks:
                sink.finish()

    def heartbeat(self) -> bytes:
        """Return no bytes: this sink has no client."""
        return b""

    def _pass_on_end(self, event: SessionEnd, stamp: Stamp) -> None:
        given = {name: value for name, value in self.summary.items() if value is not None}
        event = msgspec.structs.replace(event, summary={**(event.summary or {}), **given})
        for sink in self._sinks:
            sink.write(event, stamp)
