"""Writes the table of faults for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from streamweir_gateway.fake.faults import FAULTS

__all__ = ["fault_lines"]


def fault_lines() -> Iterator[str]:
    """Yield a line for each fault, in groups: an example and the effect."""
    width = max(len(kind.example) for kind in FAULTS.values())
    for group, kinds in groupby(FAULTS.values(), key=lambda kind: kind.group):
        yield f"{group}:"
        yield from (f"  {kind.example:{width}}  {kind.explanation}" for kind in kinds)
        yield ""
