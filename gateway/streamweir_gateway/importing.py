"""Imports modules without a search for garbage meanwhile.

Modules make hundreds of thousands of objects and hardly any garbage. Python looks through all of them several
times while they are imported, which takes a seventh of a start.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["importing"]


@contextmanager
def importing() -> Iterator[None]:
    """Search for no garbage within the block."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
