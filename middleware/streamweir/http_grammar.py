"""The parts of HTTP's grammar that are checked outside of a parser."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TOKEN", "WRITABLE_VALUE"]

TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""Matches a method, or the name of a header. Source: RFC 9110, section 5.6.2."""

WRITABLE_VALUE: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
"""Matches a header value. A server refuses a response with any other value. Source: RFC 9110, section 5.5."""
