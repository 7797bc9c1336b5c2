"""JSON Patch: applies a `state_delta` to a `state`.

Source: RFC 6902 (JSON Patch), RFC 6901 (JSON Pointer). A patch is applied whole or not at all. The document
is never changed: the containers on the way to a change are copied, the others are shared.
Intended difference: removing the whole document is an error, because nothing would be left to patch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from streamweir.jsontext import same_json

__all__ = ["PatchError", "apply_patch"]

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")


class PatchError(ValueError):
    """A patch is malformed, or does not fit the document."""


def apply_patch(document: Any, patch: Any) -> Any:
    """Return `document` with the operations of `patch` applied in order.

    Raises:
        PatchError: an operation is malformed, its place does not exist, or a `test` fails.
    """
    if not isinstance(patch, list):
        raise PatchError("a patch is a list of operations")
    for operation in patch:
        try:
            document = _applied(document, operation)
        except RecursionError as error:
            raise PatchError("the document is nested too deeply") from error
    return document


def _applied(document: Any, operation: Any) -> Any:
    match operation:
        case {"op": "add", "path": str(path), "value": value}:
            return _add(document, _tokens(path), value)
        case {"op": "remove", "path": str(path)}:
            return _remove(document, _tokens(path))
        case {"op": "replace", "path": str(path), "value": value}:
            return _replace(document, _tokens(path), value)
        case {"op": "move", "from": str(source), "path": str(path)}:
            return _move(document, _tokens(source), _tokens(path))
        case {"op": "copy", "from": str(source), "path": str(path)}:
            return _add(document, _tokens(path), _value_at(document, _tokens(source)))
        case {"op": "test", "path": str(path), "value": value}:
            if not same_json(_value_at(document, _tokens(path)), value):
                raise PatchError("a test fails")
            return document
    raise PatchError("an operation is malformed or unknown")


def _tokens(pointer: str) -> list[str]:
    """Return the steps of a JSON Pointer; empty for the whole document."""
    if not pointer:
        return []
    if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
        raise PatchError("a path is no JSON Pointer")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _add(document: Any, path: list[str], value: Any) -> Any:
    return _changed(document, path, lambda parent, step: _insert(parent, step, value)) if path else value


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    return _changed(document, path, _delete)


def _replace(document: Any, path: list[str], value: Any) -> Any:
    return _changed(document, path, lambda parent, step: _assign(parent, step, value)) if path else value


def _move(document: Any, source: list[str], path: list[str]) -> Any:
    value = _value_at(document, source)
    if source == path:
        return document
    if path[: len(source)] == source:
        raise PatchError("a value cannot be moved into itself")
    return _add(_remove(document, source), path, value)


def _changed(document: Any, path: list[str], change: Callable[[Any, str], None]) -> Any:
    """Return a copy of `document` with a changed container at `path`."""
    if not isinstance(document, dict | list):
        raise PatchError("a path leads into a value that holds nothing")
    copy = document.copy()
    step = path[0]
    if len(path) == 1:
        change(copy, step)
    else:
        place = _place(copy, step)
        copy[place] = _changed(copy[place], path[1:], change)
    return copy


def _value_at(document: Any, path: list[str]) -> Any:
    for step in path:
        document = document[_place(document, step)]
    return document


def _place(parent: Any, step: str) -> Any:
    """Return the key or the index of the existing value that a pointer step names."""
    if isinstance(parent, dict) and step in parent:
        return step
    if isinstance(parent, list):
        index = _index(step)
        if index < len(parent):
            return index
    raise PatchError("a path leads nowhere")


def _index(step: str) -> int:
    if _INDEX.fullmatch(step) is None:
        raise PatchError("not an index of a list")
    return int(step)


def _insert(parent: Any, step: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[step] = value
        return
    index = len(parent) if step == "-" else _index(step)
    if index > len(parent):
        raise PatchError("an index is beyond the end of its list")
    parent.insert(index, value)


def _delete(parent: Any, step: str) -> None:
    del parent[_place(parent, step)]


def _assign(parent: Any, step: str, value: Any) -> None:
    parent[_place(parent, step)] = value
