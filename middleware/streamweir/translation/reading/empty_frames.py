"""The bytes that frames without a meaning count in `stream_bytes`, because it takes time to read them."""

from __future__ import annotations

from typing import Final

__all__ = ["EMPTY_BYTES", "GAP_BYTES", "MIN_EMPTY"]

GAP_BYTES: Final = 128
"""The bytes of a gap between two copied frames, like a text of that length."""

EMPTY_BYTES: Final = 1024
"""The bytes of a message that has no event, or an event that no rule knows."""

MIN_EMPTY: Final = 1 << 20
"""The least budget of such bytes in a stream, even if `stream_bytes` is smaller."""
