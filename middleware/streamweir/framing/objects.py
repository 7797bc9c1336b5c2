"""Reads consecutive JSON objects, with or without line ends between them, pretty-printed or not.

Source: servers that send only `to_json()` of each event (agno's playground).
Leniency: text outside of objects becomes one frame per line. A line end within a string, which is not allowed
in JSON, ends the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from streamweir.errors import LimitExceeded
from streamweir.framing.blank import BLANK
from streamweir.framing.control_bytes import CR
from streamweir.framing.frame import Frame

__all__ = ["ObjectsParser"]

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\n]|\\.', re.DOTALL)
_LINE_END: Final = re.compile(rb"\n")
_REST_OF_LINE: Final = re.compile(rb"[ \t]*+(?:\r\n|\n|\r)")
_BEGIN: Final = re.compile(rb"[^ \t\r\n\xef\xbb\xbf]")


class ObjectsParser:
    """Splits the bytes of a body into one frame per object; a frame is returned when its object is closed.

    Args:
        limit: the most bytes that one object may have.
        keeps_raw: frames have their `raw` bytes, and gaps are returned.
    """

    def __init__(self, limit: int, keeps_raw: bool = False) -> None:
        self.recognised = False
        self.cut_off = False
        self.keeps_raw = keeps_raw
        self._raw = bytearray()
        """The bytes of `_value` as they arrived; empty unless `keeps_raw`."""
        self._limit = limit
        self._value = bytearray()
        """The bytes of the object or line that has begun."""
        self._depth = 0
        self._is_text = False
        """`_value` ends within a string."""
        self._is_line = False
        """`_value` is a line, not an object."""
        self._at = 0
        """The number of bytes of `_value` that have been scanned."""

    @property
    def is_at_boundary(self) -> bool:
        """Always False: blank bytes between two objects are not distinguished from the next object."""
        return False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: an object is larger than the limit; all frames before it have been yielded.
        """
        self._value += data.replace(b"\r", b"\n") if CR in data else data
        if self.keeps_raw:
            self._raw += data
        begin = 0
        while (end := self._end(begin)) is not None:
            if self.keeps_raw:
                end = self._end_of_raw(end)
            begin, frame = end, self._frame(begin, end)
            if frame is not None:
                yield frame
        if not self._depth and not self._is_line:
            if self.keeps_raw and begin < len(self._raw):
                yield Frame(b"", raw=bytes(self._raw[begin:]), is_gap=True)
            begin = len(self._value)  # only blank bytes are left
        del self._value[:begin]
        del self._raw[:begin]
        self._at -= begin
        if len(self._value) > self._limit:
            self._refuse()

    def finish(self) -> Iterator[Frame]:
        """Yield the last frame at the end of the body, even if its object is not closed."""
        frame = self._frame(0, len(self._value))
        self._value.clear()
        self._raw.clear()
        if frame is not None:
            frame.unterminated = True
            yield frame

    def _frame(self, begin: int, end: int) -> Frame | None:
        data = bytes(self._value[begin:end]).strip(BLANK)
        raw = bytes(self._raw[begin:end]) if self.keeps_raw else None
        if len(data) > self._limit:
            self._refuse()
        if not data:
            return Frame(b"", raw=raw, is_gap=True) if raw else None
        self.recognised = True
        return Frame(data, raw=raw, bare=True)

    def _end_of_raw(self, end: int) -> int:
        """Return the end of the line on which the value at `end` ends, if only blanks follow the value."""
        found = _REST_OF_LINE.match(self._raw, end)
        self._at = end = end if found is None else found.end()
        return end

    def _refuse(self) -> None:
        raise LimitExceeded("a JSON object is larger than allowed")

    def _end(self, begin: int) -> int | None:
        """Return the end of the value that begins at `begin`; None if the end has not arrived."""
        if not self._depth and not self._is_line:
            self._open(max(begin, self._at))
        return self._end_of_line() if self._is_line else self._end_of_object()

    def _open(self, begin: int) -> None:
        """Begin the next value, if its first byte has arrived."""
        found = _BEGIN.search(self._value, begin)
        self._at = len(self._value) if found is None else found.end()
        if found is not None:
            is_object = found[0] in (b"{", b"[")
            self._depth, self._is_line = int(is_object), not is_object

    def _end_of_line(self) -> int | None:
        found = _LINE_END.search(self._value, self._at)
        self._at = len(self._value) if found is None else found.end()
        self._is_line = found is None
        return None if found is None else self._at

    def _end_of_object(self) -> int | None:
        while self._depth and (found := self._next_sign()):
            self._at = found.end()
            sign = found[0]
            if sign == b'"':
                self._is_text = not self._is_text
            elif sign == b"\n":  # no string has one
                self._is_text, self._depth = False, 0
            elif not sign.startswith(b"\\"):
                self._depth += 1 if sign in (b"{", b"[") else -1
            if not self._depth:
                return self._at
        return None

    def _next_sign(self) -> re.Match[bytes] | None:
        found = (_INSIDE if self._is_text else _OUTSIDE).search(self._value, self._at)
        if found is None:
            escapes = self._is_text and self._value.endswith(b"\\", self._at)
            self._at = len(self._value) - escapes  # the escaped character has not arrived
        return found
