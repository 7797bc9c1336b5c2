"""Patterns of JSON whose commas and colons may be followed by a space.

Nearly all servers write these spaces everywhere or nowhere. A place for a space takes as long to match as ten
letters, so a pattern without such places is tried first.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

__all__ = ["MAY_BE_SPACE", "JsonPattern"]

MAY_BE_SPACE: Final = "<may_be_space>"
"""In the expression of a `JsonPattern`: a place for a space."""


class JsonPattern:
    """Matches JSON without spaces, or with spaces at any of the places for them.

    Args:
        expression: the regular expression, with `MAY_BE_SPACE` at each place for a space.
        flags: those of `re.compile`.
    """

    def __init__(self, expression: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._expression = expression
        self._flags = flags

    @cached_property
    def dense(self) -> re.Pattern[bytes]:
        """Matches JSON without spaces."""
        return re.compile(self._expression.replace(MAY_BE_SPACE, "").encode(), self._flags)

    @cached_property
    def spaced(self) -> re.Pattern[bytes]:
        """Matches JSON with or without each of the spaces."""
        return re.compile(self._expression.replace(MAY_BE_SPACE, " ?+").encode(), self._flags)

    def match(self, data: bytes, begin: int = 0) -> re.Match[bytes] | None:
        """Return the match that begins at the position `begin`; None if there is none."""
        return self.dense.match(data, begin) or self.spaced.match(data, begin)
