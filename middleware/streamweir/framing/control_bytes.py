"""Bytes that end lines, or that none may hold, as numbers: so they are found in a read ten times as fast."""

from __future__ import annotations

from typing import Final

__all__ = ["CR", "LF", "NUL"]

NUL: Final = 0x00
LF: Final = 0x0A
CR: Final = 0x0D
