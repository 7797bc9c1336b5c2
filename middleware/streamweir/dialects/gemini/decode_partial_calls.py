"""Reads calls whose arguments arrive in pieces, each with the path of its value (`partialArgs`).

    part                                                    state of the call
    ─────────────────────────────────────────────────────   ─────────────────────────────────────────
    a name with `willContinue` or `partialArgs`             begun
    no name, `partialArgs` or `willContinue` or both        begun; the values are put at their paths
    no `willContinue`, a further name, or the finish reason   complete

Source: the Gemini API (v1beta1 of Vertex), `FunctionCall.partialArgs` and `PartialArg`; the end of the last
call may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import arguments, objects_in, text_of
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Opaque

__all__ = ["PartialCall", "continues"]

_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_DEPTH: Final = 50
"""The most steps of a path."""

_PIECES: Final = ("args", "partialArgs", "willContinue")
_PIECE: Final = 128
"""The bytes of a piece in addition to its path and its value."""


def continues(call: Mapping[str, Any]) -> bool:
    """Return whether a `functionCall` is a piece of a call, but not its last one."""
    return call.get("willContinue") is True


class PartialCall:
    """A call that has begun.

    Attributes:
        opaque: the signature of the part that began the call.

    Args:
        call: the first piece.
        opaque: see the attribute.
        room: the room for all incomplete calls of the stream.
    """

    def __init__(self, call: Mapping[str, Any], opaque: Opaque | None, room: Room) -> None:
        self.opaque = opaque
        self._fields = {name: value for name, value in call.items() if name not in _PIECES}
        self._root: dict[str, Any] = {"args": arguments(call.get("args"))}
        self._room = room
        self._kept = 0

    def add(self, pieces: Any) -> list[dict[str, Any]]:
        """Put the values of `partialArgs` at their paths; return the pieces whose path leads nowhere."""
        return [piece for piece in objects_in(pieces) if not self._put(piece)]

    def whole(self) -> dict[str, Any]:
        """Return the `functionCall` with its arguments until now; the call is no longer kept."""
        self._room.give_back(self._kept)
        return {**self._fields, "args": _joined(self._root["args"])}

    def _put(self, piece: Mapping[str, Any]) -> bool:
        path, text = text_of(piece.get("jsonPath")), piece.get("stringValue")
        size = _PIECE + len(path) + (len(text) if isinstance(text, str) else 0)
        self._room.take(size)
        self._kept += size
        holder: Any = self._root
        place: str | int = "args"
        for step in _steps(path):
            holder = _held(holder, place, [] if isinstance(step, int) else {})
            if type(holder) is not (list if isinstance(step, int) else dict):
                return False
            place = step
        if holder is self._root:
            return False
        if not isinstance(text, str):
            value = piece.get("numberValue", piece.get("boolValue"))
            return _held(holder, place, value) is value
        held = _held(holder, place, TextPieces())
        if isinstance(held, TextPieces):
            held.append(text)
        return isinstance(held, TextPieces)


def _steps(path: str) -> list[str | int]:
    """Return the keys and indices of a path such as `$.rows[0].name`; empty if it cannot be read."""
    steps: list[str | int] = []
    at = 1 if path.startswith("$") else 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or len(steps) == _DEPTH:
            return []
        name, index, quoted, double = found.groups()
        steps.append(int(index) if index is not None else name or quoted or double or "")
        at = found.end()
    return steps


def _held(holder: Any, place: Any, empty: Any) -> Any:
    """Return the value at a place; put `empty` there if it is free. None behind the end of a list."""
    if isinstance(holder, dict):
        return holder.setdefault(place, empty)
    if place == len(holder):
        holder.append(empty)
    return holder[place] if place < len(holder) else None


def _joined(value: Any) -> Any:
    """Return arguments whose texts are strings."""
    if isinstance(value, TextPieces):
        return value.text
    if isinstance(value, dict):
        return {name: _joined(held) for name, held in value.items()}
    return [_joined(held) for held in value] if isinstance(value, list) else value
