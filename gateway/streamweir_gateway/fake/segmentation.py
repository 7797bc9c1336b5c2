"""Cuts the bytes of a connection into writes."""

from __future__ import annotations

import random
from itertools import chain
from typing import Final

from streamweir_gateway.fake.faults import Fault
from streamweir_gateway.fake.steps import Raw, Steps

__all__ = ["cut_into_writes"]

_SIZES: Final = (1, 2, 3, 5, 8, 20, 100, 1000)


def cut_into_writes(steps: Steps, fault: Fault | None, seed: int) -> Steps:
    """Return `steps` with each write cut in the way that `fault` says."""
    if fault is None:
        return steps
    chance = random.Random(seed)
    is_bytewise = fault.name == "bytewise"
    return chain.from_iterable(
        _pieces(step.data, chance, 1 if is_bytewise else None) if isinstance(step, Raw) else (step,)
        for step in steps
    )


def _pieces(data: bytes, chance: random.Random, size: int | None) -> Steps:
    start = 0
    while start < len(data):
        end = start + (size or chance.choice(_SIZES))
        yield Raw(data[start:end])
        start = end
