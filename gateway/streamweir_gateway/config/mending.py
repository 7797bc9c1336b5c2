"""A tree with faults made one that can be validated.

What is wrong becomes unresolved or empty, what does not belong goes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from streamweir_gateway.config.diagnostics import InvalidValue, KeyPath
from streamweir_gateway.config.interpolation import Unresolved
from streamweir_gateway.config.merging import Tree

__all__ = ["Fault", "mended"]

_NO_LIST: Final = "must be a list"
_SHAPES: Final = {
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": _NO_LIST,
}


class Fault(NamedTuple):
    """Something in the tree that the models do not take."""

    kind: str
    """pydantic's word for it, or `key` for a key that is itself wrong."""
    path: KeyPath
    """Where it was written."""
    refusal: InvalidValue | None = None
    is_null: bool = False

    @property
    def expected_shape(self) -> str:
        """What is said of a value that is no mapping or no list."""
        return _SHAPES.get(self.kind, "cannot be used here")


def mended(tree: Tree, faults: Iterable[Fault]) -> Tree:
    """Return a copy of `tree` without `faults`; what lay below one may be wrong in turn."""
    copied = copy.deepcopy(tree)
    # A key takes with it what it holds, so keys go last, the inner before the outer.
    for fault in sorted(faults, key=lambda fault: (fault.kind == "key", -len(fault.path))):
        _mend(copied, fault)
    return copied


def _mend(tree: Tree, fault: Fault) -> None:
    holder, last = _holder(tree, fault.path)
    if fault.kind in ("key", "extra_forbidden"):
        del holder[last]
    elif fault.kind in _SHAPES:
        holder[last] = [] if _SHAPES[fault.kind] == _NO_LIST else {}
    elif fault.refusal is not None and holder[last] == []:
        # A list that must not be empty; where a single value should stand, the next round sees to it.
        holder[last] = [Unresolved()]
    else:
        holder[last] = Unresolved()


def _holder(tree: Tree, path: KeyPath) -> tuple[Any, Any]:
    """Return the mapping or list that holds what `path` leads to, and the last step.

    One string may stand for a list of one: the step into it leads nowhere, and the string itself is meant.
    """
    holder: Any = tree
    for depth, step in enumerate(path[:-1]):
        inner = holder[step]
        if not isinstance(inner, dict | list):
            return holder, path[depth]
        holder = inner
    return holder, path[-1]
