"""The state of one stream while it is read by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.frame_growth import FrameGrowth
from streamweir.events import Event
from streamweir.expressions import Scope

__all__ = ["READ_NAMES", "ReadScope"]

READ_NAMES = frozenset({"_message", "_text", "_event", "_state", "_options"})
"""The names of expressions that read, outside of `each`."""


_STATE: Final = 16_000
"""Characters of all that may be remembered."""

_FRAME: Final = 4
"""The JSON that an expression finds in a message is at most so many times the frame."""

_LITERALS: Final = 1000
"""Characters of the literals in one expression."""


class ReadScope(Scope):
    """The names that expressions see, and the values that entries keep without an event.

    Attributes:
        usage: the counts so far, for the summary of the end.
        complete: an entry has said that the answer is complete.
        is_json: the frame that is read holds JSON, or nothing.
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
        """Count anew for `frame`."""
        self.begin()
        self._unit = _FRAME * (len(self.frame.data) + len(self.frame.event or "")) + _LITERALS
        self._unit += _STATE if self.state else 0
        self._at_most, self._growth = 0, None

    def forget(self) -> None:
        """Release the values of the last frame, and their sizes."""
        super().forget()
        self._growth = None

    def count_event(self, event: Event, out: list[Event], *, expressions: int, literal: int) -> Event:
        """Count an event of the frame, and return it with its ids as short as they leave.

        The largest possible size of the event follows from its parts. Events are only measured from the one
        on with which they might be too many bytes.

        Args:
            event: the event.
            out: the events of the frame before it.
            expressions: how many expressions it was made with, none of which repeats parts of the message.
            literal: bytes of its literals.

        Raises:
            MalformedEvent: the events of the frame are more than one frame may become.
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
