"""Thoughts that were sent and are not yet remembered as messages, because nothing may ever ask for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from streamweir.events import Thinking

__all__ = ["DeferredThoughts"]

_THOUGHT: Final = 64
"""Bytes that a thought takes in addition to its text and its id."""


class DeferredThoughts:
    """Runs of thoughts in the order in which they were sent.

    Args:
        room: the number of bytes, roughly, that they may take.
    """

    def __init__(self, room: int) -> None:
        self._left = room
        self._runs: deque[tuple[int, Thinking, Sequence[str], Sequence[str]]] = deque()

    def add(self, event: Thinking, ids: Sequence[str], texts: Sequence[str], room: int) -> None:
        """Keep thoughts like `event` with these ids and texts, which take `room` bytes."""
        size = _THOUGHT * len(texts) + room
        self._runs.append((size, event, ids, texts))
        self._left -= size

    def take(self, *, excess: bool) -> Iterator[Thinking]:
        """Yield the thoughts in their order, and forget them; with `excess` only while there is no room."""
        runs = self._runs
        while runs and (self._left < 0 or not excess):
            size, event, ids, texts = runs.popleft()
            self._left += size
            for message_id, text in zip(ids, texts, strict=True):
                yield Thinking(text, event.stage, meta={**(event.meta or {}), "message_id": message_id})
