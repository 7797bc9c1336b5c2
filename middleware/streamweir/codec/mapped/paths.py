"""Reads paths to places in a message, for `has` and `lacks`, and finds out which paths overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from streamweir.expressions import Path

__all__ = ["MISSING", "concern_each_other", "concerns_any", "parse_path", "value_at"]

MISSING: Final = object()
"""The value at a place that does not exist."""

_STEP: Final = re.compile(r"\.?([^.\[\]\s]+)|\[(-?[0-9]{1,9})\]")


def parse_path(text: str) -> Path | None:
    """Return the names and indices of a path such as `choices[0].delta`; None if `text` is no path."""
    path: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (match[0].startswith(".") == (not path) and match[1] is not None):
            return None
        path.append(match[1] if match[1] is not None else int(match[2]))
        position = match.end()
    return tuple(path) or None


def value_at(value: Any, path: Path) -> Any:
    """Return the value at `path`, or `MISSING`."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        elif isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def concern_each_other(one: Path, other: Path) -> bool:
    """Return whether two paths are equal, or one of them leads into the value at the other."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def concerns_any(path: Path, others: Iterable[Path]) -> bool:
    """Return whether `path` equals one of `others`, or leads into its value, or the other way round."""
    return any(concern_each_other(path, other) for other in others)
