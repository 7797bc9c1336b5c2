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
from streamweir.framing.control_bytes import CR
from streamweir.framing.frame import Frame

__all__ = ["ObjectsParser"]

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\n]|\\.', re.DOTALL)
_LINE_END: Final = re.compile(rb"\n")
_REST_OF_LINE: Final = re.compile(rb"[ \t]*+(?:\r\n|\n|\r)")
_BEGIN: Final = re.compile(rb"[^ \t\r\n\xef\xbb\xbf]")


class ObjectsParser:
    """Splits bytes into one frame per object, as soon as it is closed, wherever the network has cut them.

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
        """What has come of the object that is open."""
        self._depth = 0
        self._is_text = False
        """Amid a string of the object."""
        self._is_line = False
        """What has come is no object, but a line."""
        self._at = 0
        """So much of it has been looked at."""

    @property
    def is_at_boundary(self) -> bool:
        """Unknown: what is between two frames belongs to neither."""
        return False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            LimitExceeded: an object is larger than the limit; all before it have been yielded.
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
            begin = len(self._value)  # nothing but blanks is left
        del self._value[:begin]
        del self._raw[:begin]
        self._at -= begin
        if len(self._value) > self._limit:
            self._refuse()

    def finish(self) -> Iterator[Frame]:
        """Yield what the end of the body completes, an object that is open included."""
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
        """Return where the line of the value at `end` ends, if nothing else follows on it."""
        found = _REST_OF_LINE.match(self._raw, end)
        self._at = end = end if found is None else found.end()
        return end

    def _refuse(self) -> None:
        raise LimitExceeded("a JSON object is larger than allowed")

    def _end(self, begin: int) -> int | None:
        """Where the value ends that begins behind `begin`; None: that has not come."""
        if not self._depth and not self._is_line:
            self._open(max(begin, self._at))
        return self._end_of_line() if self._is_line else self._end_of_object()

    def _open(self, begin: int) -> None:
        """Begin with the next value, if it has come."""
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
            self._at = len(self._value) - escapes  # what it stands before has not come
        return found
