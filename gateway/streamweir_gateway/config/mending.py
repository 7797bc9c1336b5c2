"""Mends a tree with faults, so that it can be validated.

A wrong value becomes unresolved or empty; an unknown key is removed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from streamweir.yaml_files.report import KeyPath
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.merging import Tree

__all__ = ["Fault", "mended"]

_NO_LIST: Final = "must be a list"
_SHAPES: Final = {
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": _NO_LIST,
}


_EXAMPLES: Final[Mapping[str, str]] = {
    "auth": "{keys: {web: KEY}}",
    "breaker": "{failures: 5, open_for: 30s}",
    "cors": '{origins: ["https://app.example"]}',
    "defaults": "{heartbeat: 15s}",
    "dialects": "{acme: {file: acme.yaml}}",
    "endpoints": "{/chat: {upstream: http://127.0.0.1:9000/chat, speaks: legacy}}",
    "headers": '{Authorization: "Bearer ${KEY}"}',
    "keys": '{web: "${WEB_KEY}"}',
    "limits": "{request_bytes: 10MiB}",
    "protocol_options": "{ragflow: {form: agent}}",
    "retries": "{attempts: 2, on: [connect, 503]}",
    "server": "{workers: 2}",
    "timeouts": "{first_event: 60s, idle: 120s}",
    "tls": "{ca: ca.pem}",
    "upstreams": "{support: {url: http://127.0.0.1:9000, speaks: legacy}}",
    "warnings": '{message: "This service moves."}',
}
"""Valid mappings for keys, by key."""

_EXAMPLES_WITHIN: Final[Mapping[str, str]] = {
    "endpoints": "{upstream: http://127.0.0.1:9000/chat, speaks: legacy}",
    "upstreams": "{url: http://127.0.0.1:9000, speaks: legacy}",
    "protocol_options": "{form: agent}",
    "keys": '{key: "${WEB_KEY}"}',
}
"""Valid mappings for the items below a key, by that key."""


class Fault(NamedTuple):
    """A part of the tree that the models do not accept."""

    kind: str
    """The kind of fault: pydantic's word, or `key` for a key that is itself wrong."""
    path: KeyPath
    """The path at which the fault was written."""
    refusal: InvalidValue | None = None
    is_null: bool = False

    @property
    def expected_shape(self) -> str:
        """The message about a value that is not a mapping, or not a list."""
        return _SHAPES.get(self.kind, "cannot be used here") + self.example

    @property
    def advice(self) -> str:
        """The message about a key without a value."""
        if not self.example:
            return ""
        return f"; what belongs to it is indented under it:{self.example.removeprefix(' such as')}"

    @property
    def example(self) -> str:
        """The valid mapping that a message shows as an example; empty for other values."""
        if _SHAPES.get(self.kind, _NO_LIST) == _NO_LIST:
            return ""
        names = [step for step in self.path if isinstance(step, str)]
        key = names[-1] if names else ""
        holder = names[-2] if len(names) > 1 else ""
        shown = _EXAMPLES.get(key) or _EXAMPLES_WITHIN.get(holder)
        return "" if shown is None else f" such as `{shown}`"


def mended(tree: Tree, faults: Iterable[Fault]) -> Tree:
    """Return a copy of `tree` with `faults` mended. Values inside a mended part may still be wrong."""
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
    """Return the mapping or list that contains the value at `path`, and the last step of the path.

    A string may replace a list of one item, and a list a mapping that contains it. The path then has a step
    that the tree lacks, and the value that was written is returned.
    """
    holder: Any = tree
    above: tuple[Any, Any] = tree, path[0]
    for depth, step in enumerate(path[:-1]):
        if isinstance(step, int) and isinstance(holder, dict):
            continue  # the one item of a list, without the list around it
        if isinstance(step, str) and isinstance(holder, list):
            continue  # the list of a mapping, without the mapping around it
        inner = holder[step]
        above = holder, step
        if not isinstance(inner, dict | list):
            return holder, path[depth]
        holder = inner
    if isinstance(holder, list) and isinstance(path[-1], str):
        return above
    return holder, path[-1]
