"""Finds rules that no frame ever reaches.

Source: the dialect-file contract, section 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["unreachable"]

R = TypeVar("R")


def unreachable(rules: Sequence[R], takes_all_of: Callable[[R, R], bool]) -> list[tuple[int, int]]:
    """Return each rule that is never reached, with the first earlier rule that takes all of its frames.

    Args:
        rules: the rules in their order.
        takes_all_of: returns whether the first rule takes every frame of the second rule.
    """
    found = []
    for place, rule in enumerate(rules):
        first = next((before for before in range(place) if takes_all_of(rules[before], rule)), None)
        if first is not None:
            found.append((place, first))
    return found
