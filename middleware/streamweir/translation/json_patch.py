"""JSON Patch: applies a `state_delta` to a `state`.

Source: RFC 6902 (JSON Patch), RFC 6901 (JSON Pointer). A patch is applied whole or not at all. The document
is never changed: the containers on the way to a change are copied once by a patch, the others are shared.
Intended difference: removing the whole document is an error, because nothing would be left to patch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json, same_json, write_json

__all__ = ["CopyRoom", "PatchError", "apply_patch"]

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")

_MOST_COPIED: Final = 8 << 20
"""The most bytes of JSON that the `copy` operations on one document make."""

_Made: TypeAlias = dict[int, Any]
"""The containers that one patch has made, by their ids. Nothing else refers to them: they may be changed."""


class PatchError(ValueError):
    """A patch is malformed, or does not fit the document."""


class CopyRoom:
    """Bounds what the `copy` operations on one document make: each may double the document.

    Once there is no room for a copy, there is none for any later one.
    """

    def __init__(self, room: int = _MOST_COPIED) -> None:
        self._left = room

    def copy_of(self, value: Any) -> Any:
        """Return a copy of a JSON value.

        Raises:
            PatchError: there is no room for it.
        """
        written = write_json(value) if self._left > 0 else b""
        self._left = self._left - len(written) if written and len(written) <= self._left else 0
        if self._left <= 0:
            raise PatchError("the copies of a document are larger than allowed")
        return parse_json(written)[0] if isinstance(value, dict | list) else value


def apply_patch(document: Any, patch: Any, copies: CopyRoom | None = None) -> Any:
    """Return `document` with the operations of `patch` applied in order.

    Args:
        document: a JSON value.
        patch: the operations.
        copies: bounds the copies in the document; None: those of this patch alone.

    Raises:
        PatchError: an operation is malformed, its place does not exist, a `test` fails, or a copy is too
            large.
    """
    if not isinstance(patch, list):
        raise PatchError("a patch is a list of operations")
    copies = copies or CopyRoom()
    made: _Made = {}
    for operation in patch:
        try:
            document = _applied(document, operation, made, copies)
        except (RecursionError, MalformedEvent) as error:
            raise PatchError("the document is nested too deeply") from error
    return document


def _applied(document: Any, operation: Any, made: _Made, copies: CopyRoom) -> Any:
    match operation:
        case {"op": "add", "path": str(path), "value": value}:
            return _add(document, _tokens(path), value, made)
        case {"op": "remove", "path": str(path)}:
            return _remove(document, _tokens(path), made)
        case {"op": "replace", "path": str(path), "value": value}:
            return _replace(document, _tokens(path), value, made)
        case {"op": "move", "from": str(source), "path": str(path)}:
            return _move(document, _tokens(source), _tokens(path), made)
        case {"op": "copy", "from": str(source), "path": str(path)}:
            copied = copies.copy_of(_value_at(document, _tokens(source)))
            return _add(document, _tokens(path), copied, made)
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


def _add(document: Any, path: list[str], value: Any, made: _Made) -> Any:
    if not path:
        return value
    return _changed(document, path, lambda parent, step: _insert(parent, step, value), made)


def _remove(document: Any, path: list[str], made: _Made) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    return _changed(document, path, _delete, made)


def _replace(document: Any, path: list[str], value: Any, made: _Made) -> Any:
    if not path:
        return value
    return _changed(document, path, lambda parent, step: _assign(parent, step, value), made)


def _move(document: Any, source: list[str], path: list[str], made: _Made) -> Any:
    value = _value_at(document, source)
    if source == path:
        return document
    if path[: len(source)] == source:
        raise PatchError("a value cannot be moved into itself")
    return _add(_remove(document, source, made), path, value, made)


def _changed(document: Any, path: list[str], change: Callable[[Any, str], None], made: _Made) -> Any:
    """Return `document` with a changed container at `path`; each container is copied once by a patch."""
    if not isinstance(document, dict | list):
        raise PatchError("a path leads into a value that holds nothing")
    if id(document) not in made:
        document = document.copy()
        made[id(document)] = document
    step = path[0]
    if len(path) == 1:
        change(document, step)
    else:
        place = _place(document, step)
        document[place] = _changed(document[place], path[1:], change, made)
    return document


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
