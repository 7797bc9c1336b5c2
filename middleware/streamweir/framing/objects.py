"""JSON objects one behind the other, with or without anything between them, pretty-printed or not.

Source: how servers write that send `to_json()` of each event and nothing else (agno's playground).
Leniency: what is no object is a frame per line; a line end within a string, which JSON cannot have, ends the
value that it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.errors import LimitExceeded
from streamweir.framing.blank import BLANK
from streamweir.framing.frame import Frame

__all__ = ["ObjectsParser"]

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\\\n]')
_LINE_END: Final = re.compile(rb"\n")
_BEGIN: Final = re.compile(rb"[^\s\xef\xbb\xbf]")
_OPENING: Final = b"{["
_QUOTE, _BACKSLASH, _LF = b'"\\\n'


class ObjectsParser:
    """Splits bytes into one frame per object, as soon as it is closed, wherever the network has cut them.

    Args:
        limit: the most bytes that one object may have.
    """

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = limit
        self._value = bytearray()
        """What has come of the object that is open."""
        self._depth = 0
        self._is_text = False
        """Amid a string of the object."""
        self._at = 0
        """So much of it has been looked at."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: an object is larger than the limit; all before it have been yielded.
        """
        self._value += data.replace(b"\r", b"\n") if b"\r" in data else data
        begin = 0
        while (end := self._end(begin)) is not None:
            begin, frame = end, self._frame(begin, end)
            if frame is not None:
                yield frame
        del self._value[:begin]
        self._at -= begin
        if len(self._value) > self._limit:
            self._refuse()

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes, an object that is open included."""
        frame = self._frame(0, len(self._value))
        self._value.clear()
        if frame is not None:
            frame.unterminated = True
            yield frame

    def _frame(self, begin: int, end: int) -> Frame | None:
        data = bytes(self._value[begin:end]).strip(BLANK)
        if len(data) > self._limit:
            self._refuse()
        if not data:
            return None
        self.recognised = True
        return Frame(data, bare=True)

    def _refuse(self) -> None:
        raise LimitExceeded("a JSON object is larger than allowed")

    def _end(self, begin: int) -> int | None:
        """Where the value ends that begins behind `begin`; None: that has not come."""
        if not self._depth and not self._is_text and (end := self._open(begin)) is not None:
            return end
        while self._depth and (
            found := (_INSIDE if self._is_text else _OUTSIDE).search(self._value, self._at)
        ):
            self._at = found.end()
            sign = self._value[found.start()]
            if sign == _QUOTE:
                self._is_text = not self._is_text
            elif sign == _BACKSLASH:
                if self._at == len(self._value):  # what it stands before has not come
                    self._at -= 1
                    return None
                self._at += 1
            elif sign == _LF:
                self._is_text, self._depth = False, 0
            else:
                self._depth += 1 if sign in _OPENING else -1
            if not self._depth:
                return self._at
        if self._depth:
            self._at = len(self._value)
        return None

    def _open(self, begin: int) -> int | None:
        """Begin with the next value; one that is no object or list ends with its line."""
        found = _BEGIN.search(self._value, max(begin, self._at))
        if found is None:
            self._at = len(self._value)
            return None
        self._at = found.start()
        if self._value[self._at] in _OPENING:
            self._depth, self._at = 1, self._at + 1
            return None
        end = _LINE_END.search(self._value, self._at)
        return None if end is None else end.end()
