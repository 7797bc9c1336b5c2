"""JSON values that are kept for the end of a message."""

from __future__ import annotations

from typing import Any, Final

import orjson

from streamweir.jsontext import json_to_keep

__all__ = ["KeptValues"]

_LEAST: Final = 64
"""Each counts for so many bytes at least."""


class KeptValues:
    """A list of values, held as their JSON: as objects they would take up to thirty times as much.

    Args:
        room: how many bytes they may take together, about.
    """

    def __init__(self, room: int) -> None:
        self._room = self._left = room
        self._values: list[bytes] = []

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: Any) -> bool:
        """Keep `value`, unless there is no room; return whether it is kept."""
        kept = json_to_keep(value)
        if len(kept) + _LEAST > self._left:
            return False
        self._left -= len(kept) + _LEAST
        self._values.append(kept)
        return True

    def take(self) -> list[orjson.Fragment]:
        """Return all of them, to be written, and forget them."""
        kept, self._values, self._left = self._values, [], self._room
        return [*map(orjson.Fragment, kept)]
