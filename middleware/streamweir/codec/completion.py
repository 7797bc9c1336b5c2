"""The event that ends a message without an id; the same object in every stream."""

from __future__ import annotations

from typing import Final

from streamweir.events import Content

__all__ = ["COMPLETION"]

COMPLETION: Final = Content("", is_complete=True)
"""The end of a message in the default channel whose events have no metadata."""
