"""Reads the names and the ids of server-sent events."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from streamweir.ids import MAX_ID_CHARACTERS, short_id

__all__ = ["REMEMBERED_BYTES", "name_of", "remembered_name"]

REMEMBERED_BYTES: Final = 64
"""The longest name, in bytes, that may be given to `remembered_name`."""


def name_of(value: bytes) -> str | None:
    """Return the name or the id of an event as text; None if it is empty."""
    name = value.decode("utf-8", "replace")
    return (name if len(name) <= MAX_ID_CHARACTERS else short_id(name)) or None


remembered_name: Final = lru_cache(maxsize=64)(name_of)
"""`name_of` with a cache, for the names of events: a dialect has few of them."""
