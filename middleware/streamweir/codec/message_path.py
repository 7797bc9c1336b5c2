"""Finds a value in a message by its path."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Path", "value_at"]

Path: TypeAlias = tuple[str | int, ...]
"""The path of a value in a message: the keys of objects, the indexes of lists."""


def value_at(message: Any, path: Path) -> Any:
    """Return the value at `path`; None if there is none."""
    for part in path:
        if type(message) is dict:
            if (message := message.get(part)) is None:
                return None
        elif type(message) is list and type(part) is int and part < len(message):
            message = message[part]
        else:
            return None
    return message
