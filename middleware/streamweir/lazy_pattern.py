"""Regular expressions that are compiled at their first use, because most streams need none of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import AnyStr, Generic

__all__ = ["LazyPattern"]


class LazyPattern(Generic[AnyStr]):
    """A regular expression with the methods of `re.Pattern`.

    Args:
        pattern: the expression.
        flags: of `re`.

    Raises:
        re.error: the expression is invalid; raised at the first use.
    """

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern: AnyStr = pattern
        self.flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self.pattern, self.flags)

    def search(self, text: AnyStr, position: int = 0) -> re.Match[AnyStr] | None:
        """Return the first match in `text`, from `position` on."""
        return self._compiled.search(text, position)

    def match(self, text: AnyStr, position: int = 0) -> re.Match[AnyStr] | None:
        """Return the match at `position`."""
        return self._compiled.match(text, position)

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """Return the match if the whole `text` matches."""
        return self._compiled.fullmatch(text)

    def finditer(self, text: AnyStr, position: int = 0) -> Iterator[re.Match[AnyStr]]:
        """Return the matches that do not overlap, from `position` on."""
        return self._compiled.finditer(text, position)

    def sub(
        self, replacement: AnyStr | Callable[[re.Match[AnyStr]], AnyStr], text: AnyStr, count: int = 0
    ) -> AnyStr:
        """Return `text` with its matches replaced; `count` limits their number, unless it is 0."""
        return self._compiled.sub(replacement, text, count)

    def split(self, text: AnyStr) -> list[AnyStr]:
        """Return the parts of `text` between matches, and the groups, which must all take part in a match."""
        return self._compiled.split(text)
