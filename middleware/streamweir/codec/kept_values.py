"""Keeps JSON values until the end of a message."""

from __future__ import annotations

from typing import Any, Final

import orjson

from streamweir.jsontext import json_to_keep

__all__ = ["KeptValues"]

_LEAST: Final = 64
"""The least number of bytes that each value counts for."""


class KeptValues:
    """A list of values, held as JSON: Python objects would take up to thirty times as much memory.

    Args:
        room: the number of bytes, roughly, that all values together may take.
    """

    def __init__(self, room: int) -> None:
        self._room = self._left = room
        self._values: list[bytes] = []

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: Any) -> bool:
        """Keep `value` if there is room; return whether it is kept."""
        kept = json_to_keep(value)
        if len(kept) + _LEAST > self._left:
            return False
        self._left -= len(kept) + _LEAST
        self._values.append(kept)
        return True

    def take(self) -> list[orjson.Fragment]:
        """Return all kept values, ready to be written, and forget them."""
        kept, self._values, self._left = self._values, [], self._room
        return [*map(orjson.Fragment, kept)]
