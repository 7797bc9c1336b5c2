"""Which requests a middleware is meant for: patterns of paths.

A pattern is a path, taken literally but for `{name}`, which stands for one segment or a part of one, and a
`*` at the end, which stands for any rest. Source: the library contract, section 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from streamweir.errors import ConfigurationError

__all__ = ["PathPatterns", "Paths"]

Paths: TypeAlias = str | Sequence[str] | None

_NAME: Final = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")


class PathPatterns:
    """One or more patterns; none at all (`None`) covers every path.

    Raises:
        ConfigurationError: a pattern cannot be understood.
    """

    def __init__(self, paths: Paths) -> None:
        self.are_given = paths is not None
        patterns = [paths] if isinstance(paths, str) else paths or ()
        self._patterns = tuple(re.compile(_expression(pattern), re.DOTALL) for pattern in patterns)

    def cover(self, path: str) -> bool:
        """Is `path` (of a scope) one of those meant?"""
        return not self.are_given or any(pattern.fullmatch(path) for pattern in self._patterns)


def _expression(pattern: str) -> str:
    if not isinstance(pattern, str) or not pattern.startswith(("/", "*")):
        raise ConfigurationError(f"paths: a pattern begins with '/', {pattern!r} does not")
    stem, star = (pattern[:-1], ".*") if pattern.endswith("*") else (pattern, "")
    literals = _NAME.split(stem)
    if any(character in literal for literal in literals for character in "{}*"):
        raise ConfigurationError(
            f"paths: {pattern!r} may hold {{name}} for one segment and a '*' at its end, nothing else"
        )
    return "[^/]+".join(map(re.escape, literals)) + star
