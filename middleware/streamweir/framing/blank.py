"""What may stand in front of a body without being any of it."""

from __future__ import annotations

from typing import Final

__all__ = ["BLANK", "BOM"]

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

BLANK: Final = BOM + b" \t\r\n"
"""The bytes of it, and of white space."""
