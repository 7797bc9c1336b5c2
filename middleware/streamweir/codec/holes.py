"""Finds the places of values in the bytes of a message, by their paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from streamweir.codec.message_path import Path, value_at
from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json

__all__ = ["Hole", "fits", "hole_at", "text_hole"]

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_A_STRING: Final = re.compile(rb'"\s*+:\s*+(%b)' % _STRING, re.DOTALL)
_A_STRING_OR_NUMBER: Final = re.compile(rb'"\s*+:\s*+(%b|%b)' % (_STRING, _NUMBER), re.DOTALL)
"""Matches the rest of a key and the value after it; the group holds the value."""
_PROBE: Final = "another text"
_OTHER: Final = 7041776


class Hole(NamedTuple):
    """A value that changes from message to message: its place in the bytes, and its path in the message."""

    begin: int
    end: int
    path: Path
    is_text: bool


def text_hole(data: bytes, begin: int, path: Path) -> Hole | None:
    """Return the place of the text at `path` of the JSON that starts at `begin`; None if uncertain."""
    if path:
        return hole_at(data, path, is_text=True)
    return Hole(begin, len(data.rstrip()), path, is_text=True)


def hole_at(data: bytes, path: Path, *, is_text: bool) -> Hole | None:
    """Return the bytes of the value at `path`, found by its key; None unless only one place is possible."""
    key = _key_at(path)
    value = _A_STRING if is_text else _A_STRING_OR_NUMBER
    found, at = None, data.find(key)
    while at >= 0:
        end = at + len(key)
        if match := value.match(data, end - 1):
            if found is not None:
                return None
            found, end = match, match.end()
        at = data.find(key, end)
    return None if found is None else Hole(*found.span(1), path, is_text)


@cache
def _key_at(path: Path) -> bytes:
    """Return the last key of a path, in the form in which a message holds it."""
    return b'"%b"' % next(part for part in reversed(path) if isinstance(part, str)).encode()


def fits(data: bytes, begin: int, holes: Sequence[Hole]) -> bool:
    """Return whether the holes are the places of the values.

    This is tested by parsing a message with other values in the holes.
    """
    probe = data
    for hole in reversed(holes):
        value = b'"%b"' % _PROBE.encode() if hole.is_text else b"%d" % _OTHER
        probe = probe[: hole.begin] + value + probe[hole.end :]
    try:
        message, repaired = parse_json(probe[begin:])
    except MalformedEvent:
        return False
    found = [value_at(message, hole.path) for hole in holes]
    return not repaired and found == [_PROBE if hole.is_text else _OTHER for hole in holes]
