"""Keeps the part of copied frames from which an encoder learns how the upstream numbers its frames."""

from __future__ import annotations

from typing import Final

__all__ = ["ends_of"]

_KEPT_BYTES: Final = 2048
"""Bytes that are kept of the beginning and of the end: an encoder looks for the numbering of frames there."""


def ends_of(data: bytes) -> bytes:
    """Return copied bytes, or their beginning and their end, for `Encoder.continue_behind`."""
    return data if len(data) <= 2 * _KEPT_BYTES else data[:_KEPT_BYTES] + data[-_KEPT_BYTES:]
