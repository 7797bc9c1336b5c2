"""Keys whose features are not built yet. The value `off` is accepted; other values are refused with a reason.

Source: the configuration contract, "Rules".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.yaml_files.report import KeyPath, Report

__all__ = ["LATER_KEYS", "without_later_keys"]

ANY: Final = "*"
"""Matches any name in a path of `LATER_KEYS`."""

LATER_KEYS: Final[tuple[KeyPath, ...]] = (
    ("otel",),
    ("server", "doctor"),
    ("endpoints", ANY, "shadow"),
)


def without_later_keys(tree: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the tree of a file without these keys; report each key whose value is not `off`."""
    found = dict(tree)
    for pattern in LATER_KEYS:
        for path, value in _found(tree, pattern, ()):
            if value not in ("off", False):
                report.at_value(path, "is not built yet: the only value is off")
            found = _without(found, path)
    return found


def _found(tree: Any, pattern: KeyPath, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if not pattern:
        yield path, tree
    elif isinstance(tree, Mapping):
        for name in tree if pattern[0] == ANY else {pattern[0]} & tree.keys():
            yield from _found(tree[name], pattern[1:], (*path, name))


def _without(tree: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
    """Return a copy of the mappings on the way to `path`, without its last key."""
    key, *rest = path
    name = str(key)
    if not rest:
        return {other: value for other, value in tree.items() if other != name}
    return {**tree, name: _without(tree[name], tuple(rest))}
