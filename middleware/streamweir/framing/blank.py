"""Bytes that may precede a body: a byte order mark and white space."""

from __future__ import annotations

from typing import Final

__all__ = ["BLANK", "BOM"]

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

BLANK: Final = BOM + b" \t\r\n"
"""The bytes of the byte order mark and of white space, for `bytes.strip`."""
