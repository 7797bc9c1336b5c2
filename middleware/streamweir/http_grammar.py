"""The grammar of HTTP's heads that is looked at outside of a parser."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TOKEN", "WRITABLE_VALUE"]

TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""A method, or the name of a header. Source: RFC 9110, section 5.6.2."""

WRITABLE_VALUE: Final = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
"""The value of a header. A server refuses a response with any other value. Source: RFC 9110, section 5.5."""
