"""The size of a value as JSON in bytes, without writing it.

A value made of parts of one message may contain one part many times: as objects the value takes little
memory, as JSON it may be a thousand times as large as the message.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from streamweir.errors import MalformedEvent
from streamweir.jsontext import write_json

__all__ = ["JsonSizes"]

_NUMBER: Final = 12
"""Bytes of a typical number, `true`, `false` or `null`, with the separator after it."""

_SHORT: Final = 64
"""A text of at most this many characters is counted at each place where it occurs."""

_PIECE: Final = 64 << 10
"""Characters of a long text that are encoded at a time, faster than a buffer as large as the text."""

_CONTAINERS: Final = (dict, list, tuple)


class JsonSizes:
    """Measures values that exist at one time; an object that occurs several times is measured once.

    Args:
        most: the most bytes of JSON that one value may have.
    """

    __slots__ = ("_known", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[int, int] = {}

    def of(self, value: Any) -> int:
        """Return roughly how many bytes of JSON `value` has; for large values within a few per cent.

        Raises:
            MalformedEvent: the value is larger than allowed.
        """
        kind = type(value)
        if kind is str:
            return self._of_text(value)
        if kind is dict or kind is list or kind is tuple:
            return self._of_container(value)
        if kind is int:
            return _NUMBER + int(value).bit_length() // 3
        if isinstance(value, bytes):
            return len(value)
        if isinstance(value, orjson.Fragment):
            return len(value.contents)
        return self._of_container({**value}) if isinstance(value, dict) else _NUMBER

    def _of_text(self, text: str) -> int:
        if len(text) <= _SHORT:
            return len(text) + 2 if text.isascii() and text.isprintable() else len(write_json(text))
        size = self._known.get(id(text))
        if size is None:
            size = self._known[id(text)] = self._checked(_long_text_size(text))
        return size

    def _of_container(self, value: Any) -> int:
        size = self._known.get(id(value))
        if size is not None:
            return size
        size = 2
        if type(value) is dict:
            for key, item in value.items():
                size += len(key) + 4 + self.of(item)
                if size > self._most:
                    break
        else:
            for item in value:
                size += 1 + self.of(item)
                if size > self._most:
                    break
        self._known[id(value)] = self._checked(size)
        return size

    def _checked(self, size: int) -> int:
        if size > self._most:
            raise MalformedEvent("what a frame becomes is larger than allowed")
        return size


def _long_text_size(text: str) -> int:
    """Return how many bytes of JSON a text has."""
    return 2 + sum([len(write_json(text[at : at + _PIECE])) - 2 for at in range(0, len(text), _PIECE)])
