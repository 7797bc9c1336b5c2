"""The end of a stream that waits to be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streamweir.events import Content, Event, Meta, SessionEnd, Stamp, Thinking
from streamweir.translation.sink import EventSink

__all__ = ["HeldEnd"]


class HeldEnd:
    """Passes the events of one stream on, and holds its end back where that is wanted.

    Args:
        sinks: get what is passed on.

    Attributes:
        holds: the end is held back when it comes.
        summary: what the caller says in the end's summary; it wins.
    """

    def __init__(self, *sinks: EventSink) -> None:
        self.holds = False
        self.summary: Mapping[str, Any] = {}
        self._sinks = sinks
        self._held: tuple[SessionEnd, Stamp] | None = None

    @property
    def is_held(self) -> bool:
        """The end has come, and has not been passed on."""
        return self._held is not None

    def release(self, ending: SessionEnd, *, duration_ms: int, timestamp: int) -> None:
        """Pass the end on, with what `ending` adds to it."""
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
        """Pass `event` on, unless it is the end and is to be held back."""
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
        """Pass on that the last event has been written, unless it is held back."""
        if self._held is None:
            for sink in self._sinks:
                sink.finish()

    def heartbeat(self) -> bytes:
        """Return nothing: who passes events on is not silent."""
        return b""

    def _pass_on_end(self, event: SessionEnd, stamp: Stamp) -> None:
        given = {name: value for name, value in self.summary.items() if value is not None}
        event = msgspec.structs.replace(event, summary={**(event.summary or {}), **given})
        for sink in self._sinks:
            sink.write(event, stamp)
