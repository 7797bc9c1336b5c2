"""The state of one stream that is read by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.frame_growth import FrameGrowth
from streamweir.events import Event
from streamweir.expressions import Scope

__all__ = ["READ_NAMES", "ReadScope"]

READ_NAMES = frozenset({"_message", "_text", "_event", "_state", "_options"})
"""The names that expressions of reading rules may use outside of `each`."""


_STATE: Final = 16_000
"""The most characters of all remembered values."""

_FRAME: Final = 4
"""The JSON that an expression finds in a message may be at most this many times as large as the frame."""

_LITERALS: Final = 1000
"""The most characters of the literals in one expression."""


class ReadScope(Scope):
    """The values that expressions read by name, and the values that entries keep without an event.

    Attributes:
        usage: the latest counts of tokens, for the summary at the end.
        complete: whether an entry has reported that the answer is complete.
        is_json: whether the present frame holds JSON or is empty.
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
        """Begin `frame`, and reset the sizes of its events."""
        self.begin()
        self._unit = _FRAME * (len(self.frame.data) + len(self.frame.event or "")) + _LITERALS
        self._unit += _STATE if self.state else 0
        self._at_most, self._growth = 0, None

    def forget(self) -> None:
        """Release the values of the last frame, and their sizes."""
        super().forget()
        self._growth = None

    def count_event(self, event: Event, out: list[Event], *, expressions: int, literal: int) -> Event:
        """Count an event of the frame, and return it with digests in place of ids that are too long.

        The largest possible size of the event follows from its parts. Events are measured exactly only when
        the largest possible sizes exceed the limit.

        Args:
            event: the event.
            out: the earlier events of the frame.
            expressions: the number of expressions in the event; no expression repeats parts of the message.
            literal: the bytes of the literals in the event.

        Raises:
            MalformedEvent: the events are too many or too large for one frame.
        """
        self._at_most += expressions * (self._unit + self.made) + literal
        if self._at_most <= self.most:
            return event
        return self.measure_event(event, out)

    def measure_event(self, event: Event, out: list[Event]) -> Event:
        """Count the bytes of an event exactly; see `count_event`."""
        if self._growth is None:
            self._growth = FrameGrowth(self.most)
            out[:] = map(self._growth.take, out)
        return self._growth.take(event)
