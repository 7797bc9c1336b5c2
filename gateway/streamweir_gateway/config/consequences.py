"""Removes faults that only follow from another fault, so that each cause is reported once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, Final

from streamweir.yaml_files.report import KeyPath
from streamweir_gateway.config.key_places import keys_under
from streamweir_gateway.config.mending import Fault
from streamweir_gateway.config.merging import Tree

__all__ = ["without_consequences"]

_NO_KEY_HERE: Final = frozenset({"extra_forbidden", "key"})


def without_consequences(faults: Sequence[Fault], tree: Tree) -> list[Fault]:
    """Return `faults` without the faults that disappear when another fault is mended.

    These are keys that lack the indentation below an empty key before them, and keys that are missing because
    they are misspelt.

    Args:
        faults: all faults.
        tree: the tree that has these faults.
    """
    strays = [
        stray
        for fault in faults
        if fault.is_null and fault.advice and fault.kind not in _NO_KEY_HERE
        for stray in _strays(fault.path, faults, tree)
    ]
    misspelt = [_meant(fault.path) for fault in faults if fault.kind == "extra_forbidden"]
    return [
        fault
        for fault in faults
        if not any(fault.path[: len(stray)] == stray for stray in strays)
        and not (fault.kind == "missing" and fault.path in misspelt)
    ]


def _strays(empty: KeyPath, faults: Sequence[Fault], tree: Tree) -> Iterator[KeyPath]:
    """Yield the keys directly after the key `empty` that are wrong at their level."""
    *above, key = empty
    holder: Any = tree
    for step in above:
        holder = holder[step]
    if not isinstance(holder, dict) or key not in holder:
        return
    wrong = {fault.path for fault in faults if fault.kind in _NO_KEY_HERE}
    wrong |= {(*above, name) for name in keys_under(empty) if _has_no_shape((*above, name), faults)}
    beside = list(holder)
    behind = ((*above, name) for name in beside[beside.index(key) + 1 :])
    yield from takewhile(wrong.__contains__, behind)


def _has_no_shape(path: KeyPath, faults: Sequence[Fault]) -> bool:
    return any(fault.path == path and not fault.is_null for fault in faults)


def _meant(path: KeyPath) -> KeyPath:
    """Return the known key that an unknown key probably means; the key itself if no known key is similar."""
    above, key = path[:-1], str(path[-1])
    near = get_close_matches(key, keys_under(above), n=1)
    return (*above, near[0] if near else key)
