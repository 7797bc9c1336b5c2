"""Tells whether a part of a text is of a JSON number, which has digits alone."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_json_number"]

_BEFORE: Final = re.compile(r"""["'\]}\d.eE+-][ ]?[:,][ ]?-?\d{0,20}\Z|\[[ ]?-?\d{0,20}\Z""")
_BEHIND: Final = re.compile(r"[\d.eE+-]{0,20}\s{0,8}[,}\]]")
_LONGEST: Final = 24


def is_json_number(text: str, start: int, end: int) -> bool:
    """Return whether the text from `start` to `end` consists of digits of a JSON number."""
    if not text[start:end].isdigit():
        return False
    before = text[max(0, start - _LONGEST) : start]
    return _BEFORE.search(before) is not None and _BEHIND.match(text, end) is not None
