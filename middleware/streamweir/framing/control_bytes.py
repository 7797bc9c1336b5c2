"""Line ends and NUL as numbers: `LF in data` is ten times faster with a number than with bytes."""

from __future__ import annotations

from typing import Final

__all__ = ["CR", "LF", "NUL"]

NUL: Final = 0x00
LF: Final = 0x0A
CR: Final = 0x0D
