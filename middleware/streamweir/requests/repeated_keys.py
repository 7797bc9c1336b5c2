"""Finds a deciding key that occurs twice in a body: one reader would take the first value, another the last.

Source: the standard protocol 1.1, section 5 (`BAD_REQUEST`); RFC 8259, section 4 (names within an object).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

__all__ = ["DECIDING_KEYS", "repeated_key"]

DECIDING_KEYS: Final = ("model", "stream")
"""The keys that decide which upstream is chosen and whether the answer is a stream."""


def _spelled(name: str) -> str:
    """Return a regular expression for all spellings of a name in JSON."""
    return "".join(f"(?:{character}|\\\\u00{ord(character):02x})" for character in name)


_ANY_SPELLING: Final = re.compile(f'"(?:{"|".join(map(_spelled, DECIDING_KEYS))})"'.encode(), re.IGNORECASE)
_MODEL, _STREAM = (f'"{name}"'.encode() for name in DECIDING_KEYS)


def repeated_key(body: bytes) -> str | None:
    """Return the deciding key that occurs more than once in the object of a body; None if there is none.

    Args:
        body: JSON that has been parsed before, so that its nesting is known to be bounded.
    """
    if body.find(b"\\u00") >= 0:  # half of what `in` takes
        may_repeat = len(_ANY_SPELLING.findall(body)) > 1
    else:
        may_repeat = body.count(_MODEL) > 1 or body.count(_STREAM) > 1
    if not may_repeat:  # nearly always
        return None
    outermost: list[tuple[str, Any]] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = pairs  # of nested objects the outermost comes last

    try:
        json.loads(body.decode("utf-8", "replace"), object_pairs_hook=note, strict=False)
    except (ValueError, RecursionError):
        return None
    return _repeated([name for name, _ in outermost])


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for name in DECIDING_KEYS if names.count(name) > 1), None)
