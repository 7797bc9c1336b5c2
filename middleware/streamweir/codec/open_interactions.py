"""Keeps the open questions of a stream, for protocols that report them at the end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from streamweir.events import Interaction
from streamweir.jsontext import json_to_keep, parse_json

__all__ = ["OpenInteractions"]

_LEAST: Final = 512
"""The least number of bytes that each question counts for."""


class OpenInteractions:
    """The open interactions of one stream, held as JSON.

    If they are too many, the oldest ones are forgotten. An interaction that is too large is not kept.

    Args:
        room: the number of bytes, roughly, that all interactions together may take.
    """

    def __init__(self, room: int) -> None:
        self._left = room
        self._room = room
        self._open: OrderedDict[str, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Interaction]:
        return (Interaction(**parse_json(kept)[0]) for kept in self._open.values())

    def add(self, event: Interaction) -> None:
        """Note a question."""
        self.discard(event.interaction_id)
        kept = json_to_keep({name: getattr(event, name) for name in event.__struct_fields__})
        if len(kept) + _LEAST > self._room:
            return
        self._open[event.interaction_id] = kept
        self._left -= len(kept) + _LEAST
        while self._left < 0:
            self.discard(next(iter(self._open)))

    def clear(self) -> None:
        """Forget all questions."""
        for interaction_id in [*self._open]:
            self.discard(interaction_id)

    def discard(self, interaction_id: str) -> None:
        """Note that a question was answered or withdrawn."""
        if interaction_id in self._open:
            self._left += len(self._open.pop(interaction_id)) + _LEAST
