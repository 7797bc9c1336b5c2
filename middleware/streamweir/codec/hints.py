"""Cheap signs of a dialect's messages, so that most dialects are never asked about another's body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["Hints"]


class Hints:
    """Signs of a dialect's messages. A message without any of these signs is not shown to the dialect.

    Args:
        names: SSE event names, or values of the fields `type`, `event`, `kind`.
        keys: fields at the top of a message.
        starts: the beginnings of a message's data, for a dialect whose data is no JSON.
    """

    def __init__(
        self, *, names: Iterable[str] = (), keys: Iterable[str] = (), starts: Iterable[bytes] = ()
    ) -> None:
        self.names: Final = frozenset(names)
        self.keys: Final = frozenset(keys)
        self.starts: Final = tuple(starts)
