"""Path patterns, by which a middleware chooses the requests that it covers.

A pattern is a literal path in which `{name}` matches one segment or a part of one, and a `*` at the end
matches the remaining path. Source: the library contract, section 1.
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
    """Return the path of a request within the application, which may be mounted below a prefix.

    If the path begins with `root_path` (in whole segments), as some servers and mounts send it, that prefix
    is removed; otherwise the path is returned unchanged.
    """
    path: str = scope["path"]
    prefix: str = (scope.get("root_path") or "").rstrip("/")
    if prefix and path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/"):
        return path[len(prefix) :]
    return path


class PathPatterns:
    """One or more patterns; `None` covers every path.

    Attributes:
        are_given: there are patterns.
        patterns: their texts.

    Raises:
        ConfigurationError: a pattern has an invalid form.
    """

    def __init__(self, paths: Paths) -> None:
        self.are_given = paths is not None
        self.patterns: tuple[str, ...] = (paths,) if isinstance(paths, str) else tuple(paths or ())
        self._templates = tuple(_template(pattern) for pattern in self.patterns)

    def cover(self, scope: Scope) -> bool:
        """Return whether a pattern matches the path of a request, with or without its `root_path`."""
        if not self.are_given:
            return True
        inner, whole = path_within(scope) or "/", scope["path"]
        return self._match(inner) or (whole != inner and self._match(whole))

    def _match(self, path: str) -> bool:
        return any(template.match(path) is not None for template in self._templates)


def _template(pattern: str) -> PathTemplate:
    if not isinstance(pattern, str) or not pattern.startswith(("/", "*")):
        raise ConfigurationError(f"paths: a pattern begins with '/', {pattern!r} does not")
    if any(character in _NAME.sub("", pattern.removesuffix("*")) for character in "{}*"):
        raise ConfigurationError(
            f"paths: {pattern!r} may hold {{name}} for one segment and a '*' at its end, nothing else"
        )
    return PathTemplate(pattern)
