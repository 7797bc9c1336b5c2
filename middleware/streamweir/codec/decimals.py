"""Numbers as decimal text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

__all__ = ["decimal", "decimals"]

_lines: Final = msgspec.json.Encoder().encode_lines

decimal: Final[Callable[[int], bytes]] = msgspec.json.Encoder().encode
"""Returns a number as decimal text, in half the time of the operator `%`."""

_FIRST: Final = [b"%d" % number for number in range(1024)]
"""The numbers that occur in nearly all streams."""


def decimals(first: int, step: int, count: int) -> list[bytes]:
    """Return `count` numbers from `first` on, which is not negative, each `step` more than the last one."""
    if step == 1 and first + count <= len(_FIRST):
        return _FIRST[first : first + count]
    return _lines([*range(first, first + step * count, step)]).split(b"\n")[:count]
