"""Cheap signs of a dialect, declared: most dialects are never asked about a body that is not theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["Hints"]


class Hints:
    """What messages of a dialect look like. One that has none of these signs is not shown to it.

    Args:
        names: SSE event names, or values of the fields `type`, `event`, `kind`.
        keys: fields at the top of a message.
        starts: what the data of a message begins with, for a dialect whose data is no JSON.
    """

    def __init__(
        self, *, names: Iterable[str] = (), keys: Iterable[str] = (), starts: Iterable[bytes] = ()
    ) -> None:
        self.names: Final = frozenset(names)
        self.keys: Final = frozenset(keys)
        self.starts: Final = tuple(starts)
