"""Adds an `id:` line to the events of an SSE body, so that an EventSource names the last when it reconnects.

The bytes of an event are held back until its blank line has arrived, because its last line may be an id:

    state     bytes that have come since the last event   left by
    ───────   ─────────────────────────────────────────   ────────────────────────────────────────────────────
    between   none, or comments and blank lines           a field (within)
    within    lines of an event, or a part of a line      a blank line, or the end of the body (between);
                                                          more than `_MAX_HELD` bytes (passing)
    passing   the beginning of an event, already sent     a blank line, or the end of the body (between)

While an event passes, the last byte of an unfinished line is held back: otherwise the end of that line would
look like the blank line after the event.

Source: WHATWG HTML, section 9.2.6; the configuration contract (the answer to a GET).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

__all__ = ["EventIds"]

_ID: Final = re.compile(rb"id(?=[:\r\n]|\Z)")
_BOM: Final = b"\xef\xbb\xbf"
_MAX_HELD: Final = 1 << 20
"""The most bytes of one event that are held back; a larger event is sent without an id."""


class EventIds:
    """Adds an `id:` line to each event without one. An object is given all bytes of one body, in order.

    Attributes:
        number: of the next event.

    Args:
        id_of: returns the id for the number of an event: 0, 1, 2 ... counted over the body.
    """

    def __init__(self, id_of: Callable[[int], str] = str) -> None:
        self._id_of = id_of
        self.number = 0
        self._rest = b""
        """A part of a line; the whole lines of the event are in `_lines`."""
        self._lines: list[bytes] = []
        self._held = 0
        self._has_field = self._has_id = False
        self._is_passing = False
        """The beginning of the current event has been sent without an id. Cleared at its blank line."""
        self._is_first = True
        self._is_after_cr = False

    def add(self, data: bytes) -> bytes:
        """Return the bytes to send for the next bytes of the body."""
        out: list[bytes] = []
        if self._is_after_cr and data.startswith(b"\n"):  # the other half of a line end
            self._add_to_last(b"\n", out)
            data = data[1:]
        data = self._rest + data
        self._is_after_cr = data.endswith(b"\r")
        lines = data.splitlines(keepends=True)
        self._rest = lines.pop() if lines and not data.endswith((b"\r", b"\n")) else b""
        for line in lines:
            self._take(line, out)
        if self._is_passing or self._held + len(self._rest) > _MAX_HELD:
            self._pass_on(out)
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the bytes that are held back, at the end of the body."""
        out: list[bytes] = []
        rest, self._rest = self._rest, b""
        if rest:
            self._note(rest)
        if self._has_field:
            self._end_event(out)
        self._release(out)
        return b"".join(out)

    def _take(self, line: bytes, out: list[bytes]) -> None:
        if not line.strip(b"\r\n"):
            if self._has_field:
                self._end_event(out)
            self._release(out, line)
            return
        self._note(line)
        if not self._has_field:  # a comment between two events
            self._release(out)

    def _pass_on(self, out: list[bytes]) -> None:
        """Send the lines of an event too large for an id, and all but the last byte of the open line."""
        rest = self._rest
        self._release(out, rest[:-1])
        self._rest = rest[-1:]
        self._is_passing = self._has_field = self._has_id = True

    def _note(self, line: bytes) -> None:
        """Keep a line of an event."""
        self._lines.append(line)
        self._held += len(line)
        text = line.removeprefix(_BOM) if self._is_first else line
        self._has_field = self._has_field or not text.startswith(b":")
        self._has_id = self._has_id or _ID.match(text) is not None

    def _add_to_last(self, data: bytes, out: list[bytes]) -> None:
        if self._lines:
            self._lines[-1] += data
        else:
            out.append(data)

    def _end_event(self, out: list[bytes]) -> None:
        """Add an id to the event whose lines are kept, unless it has one, and send the event."""
        number, self.number = self.number, self.number + 1
        if self._has_id or not self._lines:
            return
        first = self._lines[0]
        end = b"\r\n" if first.endswith(b"\r\n") else first[-1:] if first.endswith((b"\r", b"\n")) else b"\n"
        mark = _BOM if self._is_first and first.startswith(_BOM) else b""
        self._lines[0] = first.removeprefix(mark)
        out.append(mark + b"id: " + self._id_of(number).encode("ascii") + end)

    def _release(self, out: list[bytes], more: bytes = b"") -> None:
        out += self._lines
        if more:
            out.append(more)
        self._lines = []
        self._held = 0
        self._is_first = False
        self._has_field = self._has_id = self._is_passing = False
