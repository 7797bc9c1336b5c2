"""Path patterns: the requests that a middleware covers.

A pattern is a literal path in which `{name}` matches one segment or a part of one, and a `*` at the end
matches any rest. Source: the library contract, section 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from streamweir.errors import ConfigurationError
from streamweir.http.path_template import PathTemplate
from streamweir.http.sending import Scope

__all__ = ["PathPatterns", "Paths", "path_within"]

Paths: TypeAlias = str | Sequence[str] | None

_NAME: Final = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*\}")


def path_within(scope: Scope) -> str:
    """Return the path of a request within the application, which may be mounted below a prefix."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    if prefix and path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/"):
        return path[len(prefix) :]
    return path


class PathPatterns:
    """One or more patterns; `None` covers every path.

    Raises:
        ConfigurationError: a pattern has another form.
    """

    def __init__(self, paths: Paths) -> None:
        self.are_given = paths is not None
        patterns = [paths] if isinstance(paths, str) else paths or ()
        self._templates = tuple(_template(pattern) for pattern in patterns)

    def cover(self, path: str) -> bool:
        """Return whether a pattern matches `path`, the path of a scope."""
        return not self.are_given or any(template.match(path) is not None for template in self._templates)


def _template(pattern: str) -> PathTemplate:
    if not isinstance(pattern, str) or not pattern.startswith(("/", "*")):
        raise ConfigurationError(f"paths: a pattern begins with '/', {pattern!r} does not")
    if any(character in _NAME.sub("", pattern.removesuffix("*")) for character in "{}*"):
        raise ConfigurationError(
            f"paths: {pattern!r} may hold {{name}} for one segment and a '*' at its end, nothing else"
        )
    return PathTemplate(pattern)
