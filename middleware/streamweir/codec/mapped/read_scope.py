"""The state of one stream while it is read by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.frame_growth import FrameGrowth
from streamweir.events import Event
from streamweir.expressions import Scope

__all__ = ["READ_NAMES", "ReadScope"]

READ_NAMES = frozenset({"_message", "_text", "_event", "_state", "_options"})
"""The names that reading expressions may use outside of `each`."""


_STATE: Final = 16_000
"""The most characters of all remembered values."""

_FRAME: Final = 4
"""The JSON of a value that an expression finds in a frame is at most this many times the frame."""

_LITERALS: Final = 1000
"""The most characters of the literals in one expression."""


class ReadScope(Scope):
    """The scope of expressions that read, and the state that entries set.

    Attributes:
        usage: the token counts so far, for the summary at the end.
        complete: an entry has stated that the answer is complete.
        is_json: the data of the frame is JSON or empty.
    """

    __slots__ = ("_at_most", "_growth", "_unit", "complete", "is_json", "usage")

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.usage: dict[str, Any] = {}
        self.complete = False
        self.is_json = True
        self._unit = self._at_most = 0
        self._growth: FrameGrowth | None = None

    def begin_frame(self) -> None:
        """Reset the counts for the next frame."""
        self.begin()
        self._unit = _FRAME * (len(self.frame.data) + len(self.frame.event or "")) + _LITERALS
        self._unit += _STATE if self.state else 0
        self._at_most, self._growth = 0, None

    def forget(self) -> None:
        """Drop the frame and the sizes of its values."""
        super().forget()
        self._growth = None

    def count_event(self, event: Event, out: list[Event], *, expressions: int, literal: int) -> Event:
        """Count an event of the frame, and return it with long ids shortened.

        The size is estimated from the frame and the entry. If the estimates of all events of the frame reach
        the limit, the events are measured exactly from then on.

        Args:
            event: the event.
            out: the events of the frame before it.
            expressions: the number of expressions in its entry, none of which repeats parts of the message.
            literal: the bytes of the literals in its entry.

        Raises:
            MalformedEvent: the events of the frame are too large together.
        """
        self._at_most += expressions * (self._unit + self.made) + literal
        if self._at_most <= self.most:
            return event
        return self.measure_event(event, out)

    def measure_event(self, event: Event, out: list[Event]) -> Event:
        """Count the exact bytes of an event; see `count_event`."""
        if self._growth is None:
            self._growth = FrameGrowth(self.most)
            out[:] = map(self._growth.take, out)
        return self._growth.take(event)
