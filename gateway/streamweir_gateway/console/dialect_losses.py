"""Computes the losses of a translation from each dialect that is read to each dialect that is written.

Source: the console contract, section 1 (`dialects`).
"""

from __future__ import annotations

from typing import Any

from streamweir.codec.dialects import Dialects
from streamweir.translation.description import describe

__all__ = ["dialect_losses"]

_STANDARD = "standard"
"""The name of the standard protocol. Its decoder can produce every event that encoders may lack."""


def dialect_losses(dialects: Dialects) -> dict[str, Any]:
    """Return the names of the dialects, and for each pair the events that the second cannot express."""
    found = [
        describe(dialects[name]) for name in sorted(dialects, key=lambda name: (name != _STANDARD, name))
    ]
    cells = [
        {
            "from": source.name,
            "to": target.name,
            "lost": [
                name for name in target.unsupported if source.name == _STANDARD or name in source.produced
            ],
        }
        for source in found
        if source.reads
        for target in found
        if target.writes
    ]
    return {"names": [one.name for one in found], "cells": cells}
