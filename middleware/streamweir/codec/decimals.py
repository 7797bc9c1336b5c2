"""Consecutive numbers as decimal text."""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DECIMALS", "decimals"]

_lines: Final = msgspec.json.Encoder().encode_lines

DECIMALS: Final = [b"%d" % number for number in range(1024)]
"""The numbers that occur in nearly all streams."""


def decimals(first: int, step: int, count: int) -> list[bytes]:
    """Return `count` numbers from `first` on, which is not negative, each `step` more than the last one."""
    if step == 1 and first + count <= len(DECIMALS):
        return DECIMALS[first : first + count]
    return _lines([*range(first, first + step * count, step)]).split(b"\n")[:count]
