"""What was asked in a stream and is not answered, for protocols that say so at the end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from streamweir.events import Interaction, wire_data
from streamweir.jsontext import write_json

__all__ = ["Asked"]

ROOM: Final = 512 << 10
"""Bytes of JSON that open interactions may take together: in memory they take up to thirty times as much."""

_LEAST: Final = 512
"""Each counts for so many at least."""


class Asked:
    """The open interactions of one stream: of too many the oldest go, one too large is not kept."""

    def __init__(self, room: int = ROOM) -> None:
        self._left = room
        self._room = room
        self._open: OrderedDict[str, tuple[Interaction, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Interaction]:
        return (event for event, _ in self._open.values())

    def add(self, event: Interaction) -> None:
        """Something is asked."""
        self.discard(event.interaction_id)
        size = len(write_json(wire_data(event))) + len(write_json(event.meta)) + _LEAST
        if size > self._room:
            return
        self._open[event.interaction_id] = event, size
        self._left -= size
        while self._left < 0:
            self.discard(next(iter(self._open)))

    def discard(self, interaction_id: str) -> None:
        """It is answered, or taken back."""
        if interaction_id in self._open:
            self._left += self._open.pop(interaction_id)[1]
