"""Reads server-sent events.

Source: WHATWG HTML, section 9.2.6 (interpreting an event stream). Intended differences:

- A block that has only an event name is a frame without data: legacy servers end a stream with `event: done`.
- The last block needs no blank line after it.
- A line that is a JSON object is a frame: legacy servers print one without `data:`.
- Lines after `data: {` that are not fields belong to that data: other servers print JSON over several lines.
- A line `error: {...}` is the data of an event `error`: llama.cpp reports a failure so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import repeat

from streamweir.errors import LimitExceeded
from streamweir.framing.alike_blocks import data_of_alike
from streamweir.framing.blank import BOM
from streamweir.framing.control_bytes import CR, LF, NUL
from streamweir.framing.event_names import REMEMBERED_BYTES, name_of, remembered_name
from streamweir.framing.frame import Frame
from streamweir.ids import MAX_ID_CHARACTERS

__all__ = ["SSEParser"]

_MOST_LINES = 1024
"""The most lines of an event that are kept before they are joined: each takes the memory of 30 letters."""
_BLANK_LINE = b"\n\n"
_FIELDS = (b"data:", b"event:", b"retry:", b"id:")
_NUMBERED = re.compile(rb"(?<![^\n])id: ([^\n\0]{1,%d})\ndata: ([^\n]*)\n\n" % MAX_ID_CHARACTERS)


class SSEParser:
    """Splits the bytes of a body into frames.

    state      bytes that have come                              left by
    ────────   ───────────────────────────────────────────────   ──────────────────────────────────────────
    start      none, or a part of a byte order mark (`_head`)    any other byte: `_head` is None for good
    boundary   whole events only (not `_is_open`)                a byte that is no blank line
    within     a part of an event or of a line (`_is_open`)      a blank line, or the end of a comment line

    `_after_cr` is set while the last byte is a CR: an LF after it belongs to that line end. `recognised` is
    set by the first field, comment or line of JSON, and never cleared. `cut_off` is set if the body ends
    within a line.

    Args:
        limit: the most bytes that one event may have.
        keeps_raw: frames have their `raw` bytes, and gaps are returned.
    """

    recognised = False
    cut_off = False
    _after_cr = False
    _data_size = 0
    _event: str | None = None
    _prints_json: bool | None = None
    """Whether the data of the event is pretty-printed JSON; None until a line asks for it."""

    def __init__(self, limit: int, keeps_raw: bool = False) -> None:
        self.keeps_raw = keeps_raw
        self._raw = bytearray()
        """The whole lines of the next frame or gap that have arrived; empty unless `keeps_raw`."""
        self._limit = limit
        self._head: bytes | None = b""
        self._is_open = True
        """A part of an event, or of a byte order mark, may have arrived."""
        self._line = bytearray()
        self._data: list[bytes] = []
        self._blocks: list[bytes] = []
        """Earlier lines of the event, joined `_MOST_LINES` at a time; `_data` has the later ones."""
        self._id: str | None = None

    @property
    def is_at_boundary(self) -> bool:
        """Whether no byte of the next event has arrived."""
        return not self._is_open

    def note_blocks(self) -> None:
        """Note that the body begins with whole blocks of data, which have been read without the parser."""
        self.recognised = True
        self._head = None
        self._is_open = False

    def note_id(self, value: bytes) -> None:
        """Set the current id to that of an event which was read without the parser."""
        if NUL not in value:
            self._id = name_of(value)

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that `data` completes, to be taken before the next call.

        Raises:
            LimitExceeded: during the iteration: an event is larger than the limit; all frames before it have
                been returned.
        """
        if self._head is not None and data and not self._head and data[0] != BOM[0]:
            self._head = None  # no byte order mark
            self._is_open = False
        if self.keeps_raw:
            alone = self.only_frame(data)
            return self._feed_raw(data) if alone is None else (alone,)
        if self._is_open or data[-2:] != _BLANK_LINE or CR in data:
            self._is_open = True
            return self._feed(data)
        return self._whole_blocks(data[:-2])

    def only_frame(self, data: bytes) -> Frame | None:
        """Return the frame of a read that is one whole block; else return None and change no state."""
        end = len(data) - 2
        if data[-2:] != _BLANK_LINE or self._is_open or data.find(CR) >= 0 or end > self._limit:
            return None
        if data.find(LF) == end and data[:5] == b"data:":
            self.recognised = True
            frame: Frame | None = Frame(data[6 if data[5:6] == b" " else 5 : end], None, self._id)
        elif data.find(b"\n\n") == end:
            frame = self._whole_block(data[:end])
        else:
            return None
        if self.keeps_raw and frame is not None:
            frame.raw = data
        return frame

    def _feed_raw(self, data: bytes) -> Iterator[Frame]:
        if self._head is not None:
            data = self._skip_bom(data)
        if not self._is_open and data.endswith(b"\n\n") and CR not in data:
            for block in data[:-2].split(b"\n\n"):
                frame = None if self._is_open or len(block) > self._limit else self._whole_block(block)
                if frame is None:
                    yield from self._feed_raw_lines(block + b"\n\n")
                else:
                    frame.raw = block + b"\n\n"
                    yield frame
        else:
            yield from self._feed_raw_lines(data)

    def _feed_raw_lines(self, data: bytes) -> Iterator[Frame]:
        if self._after_cr and data.startswith(b"\n"):  # the other half of a line end
            data = data[1:]
            if self._raw:
                self._raw += b"\n"
            else:
                yield Frame(b"", raw=b"\n", is_gap=True)
        self._after_cr = data.endswith(b"\r")
        lines = data.splitlines(keepends=True)
        if self._line and (LF in data or CR in data):
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            if not line.endswith((b"\n", b"\r")):
                self._keep_rest(line)
            elif (frame := self._take_raw(line)) is not None:
                yield frame
        is_begun = self._line or self._raw or self._event or self._after_cr
        self._is_open = bool(is_begun or self._head is not None)

    def _take_raw(self, line: bytes) -> Frame | None:
        """Read a line including its end; return the frame or the gap that the line completes."""
        is_first = not self._raw
        self._raw += line
        text = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        frame = self._take(text)
        if frame is None and (not text or (is_first and text.startswith(b":"))):
            frame = Frame(b"", is_gap=True)
        if frame is not None:
            frame.raw = bytes(self._raw)
            self._raw.clear()
        elif len(self._raw) > 2 * self._limit:  # lines that mean nothing
            raise LimitExceeded("an event is larger than allowed")
        return frame

    def _feed(self, data: bytes) -> Iterator[Frame]:
        if self._head is not None:
            data = self._skip_bom(data)
        if not data:
            return
        if self._after_cr or CR in data:
            data = self._unify_line_ends(data)
        begin = 0
        if self._line or self._data or self._event:
            end = data.find(b"\n\n")
            begin = end + 2 if end >= 0 else len(data)
            yield from self._feed_lines(data[:begin])
        end = data.rfind(b"\n\n", begin)
        if end >= 0:
            yield from self._whole_blocks(data[begin:end])
            begin = end + 2
        if begin < len(data):
            yield from self._feed_lines(data[begin:])
        self._is_open = bool(
            self._line or self._data or self._event or self._after_cr or self._head is not None
        )

    def _whole_blocks(self, blocks: bytes) -> Iterable[Frame]:
        """Read whole blocks separated by blank lines; all at once if they begin with the same bytes."""
        if len(blocks) > self._limit:
            return self._each_block(blocks)
        if _BLANK_LINE not in blocks:
            alone = self._whole_block(blocks)
            return self._each_block(blocks) if alone is None else (alone,)
        if blocks[:4] == b"id: ":
            return self._numbered_blocks(blocks)
        alike = data_of_alike(blocks)
        if alike is None:
            return self._each_block(blocks)
        name, lines = alike
        self.recognised = True
        return [*map(Frame, lines, repeat(name), repeat(self._id))]

    def _numbered_blocks(self, blocks: bytes) -> Iterable[Frame]:
        """Read whole blocks; all at once if each consists of an id and one line of data."""
        pairs = _NUMBERED.findall(blocks + b"\n\n")
        lengths = sum([len(number) + len(line) for number, line in pairs])
        if lengths + len(pairs) * len(b"id: \ndata: \n\n") != len(blocks) + 2:  # something stands between
            return self._each_block(blocks)
        self.recognised = True
        self._id = name_of(pairs[-1][0])
        return [Frame(line, None, number.decode("utf-8", "replace")) for number, line in pairs]

    def _each_block(self, blocks: bytes) -> Iterator[Frame]:
        for block in blocks.split(b"\n\n"):
            frame = self._whole_block(block) if len(block) <= self._limit else None
            if frame is not None:
                yield frame
            else:
                yield from self._feed_lines(block + b"\n\n")

    def _whole_block(self, block: bytes) -> Frame | None:
        """Return the frame of a block that is one line of data, with or without an id or a name before it.

        For any other block, return None and change no state.
        """
        names, line_end, line = block.rpartition(b"\n")
        if line[:5] != b"data:":
            return None
        data = line[6:] if line[5:6] == b" " else line[5:]
        event = None
        if line_end:
            if names.startswith(b"event: ") and LF not in names:
                name = names[7:]
                event = remembered_name(name) if len(name) <= REMEMBERED_BYTES else name_of(name)
            elif names.startswith(b"id: ") and LF not in names and NUL not in names:
                self._id = name_of(names[4:])
            else:
                return None
        self.recognised = True
        return Frame(data, event, self._id)

    def _feed_lines(self, data: bytes) -> Iterator[Frame]:
        *lines, rest = data.split(b"\n")
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            frame = self._take(line)
            if frame is not None:
                yield frame
        if rest:
            self._keep_rest(rest)

    def _keep_rest(self, rest: bytes) -> None:
        """Keep the beginning of a line until its end arrives."""
        self._line += rest
        if len(self._line) + self._data_size > self._limit:
            raise LimitExceeded("an event is larger than allowed")

    def finish(self) -> Iterator[Frame]:
        """Yield the frames that the end of the body completes."""
        if not self.keeps_raw:
            yield from self._finish()
            return
        raw = bytes(self._raw + self._line)
        for frame in self._finish():
            frame.raw, raw = raw, b""
            yield frame
        if raw:
            yield Frame(b"", raw=raw, is_gap=True, unterminated=True)

    def _finish(self) -> Iterator[Frame]:
        line = bytes(self._line) or self._head or b""
        self._line.clear()
        frame = self._take(line) if line else None
        if frame is not None:
            frame.unterminated = True
            yield frame
        if self._data or (self._event and not line):
            last = self._dispatch()
            last.unterminated = True
            yield last
        elif frame is None:
            self.cut_off = bool(line)
            self.recognised |= self.cut_off and any(field.startswith(line) for field in _FIELDS)

    def _skip_bom(self, data: bytes) -> bytes:
        head = (self._head or b"") + data
        if len(head) < len(BOM) and BOM.startswith(head):
            self._head = head
            return b""
        self._head = None
        return head.removeprefix(BOM)

    def _unify_line_ends(self, data: bytes) -> bytes:
        """Replace CR and CRLF by LF; a CRLF that arrives in two reads counts as one line end."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
            if not data:
                return data
        self._after_cr = data.endswith(b"\r")
        if CR in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _take(self, line: bytes) -> Frame | None:
        if len(line) + self._data_size > self._limit:
            raise LimitExceeded("an event is larger than allowed")
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._data_size += len(line)
            if len(self._data) >= _MOST_LINES:
                self._join_lines()
            return None
        if not line:
            return self._dispatch() if self._data or self._event else None
        return self._take_other(line)

    def _take_other(self, line: bytes) -> Frame | None:
        if line.startswith(b":"):
            self.recognised = True
            return None
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._add(b"")
            case b"event":
                self._event = name_of(value)
            case b"id" if NUL not in value:
                self._id = name_of(value)
            case b"retry":
                pass
            case b"error" if value[:1] == b"{" and not self._data:
                self._event = self._event or "error"
                self._add(value)
            case _ if colon and line.startswith(b"{") and line.rstrip().endswith(b"}") and not self._data:
                self.recognised = True
                return Frame(line, self._event, self._id)
            case _ if self._is_printed_json:
                self._add(line)
            case _:
                return None
        self.recognised = True
        return None

    @property
    def _is_printed_json(self) -> bool:
        """Whether the data is pretty-printed JSON: its first line is an opening bracket.

        The first line is looked at once per event, because it may be as long as an event.
        """
        if self._prints_json is None and self._data:
            self._prints_json = _is_bracket((self._blocks or self._data)[0].split(b"\n", 1)[0])
        return bool(self._prints_json)

    def _add(self, line: bytes) -> None:
        self._data.append(line)
        self._data_size += len(line)
        if len(self._data) >= _MOST_LINES:
            self._join_lines()

    def _join_lines(self) -> None:
        *lines, last = self._data
        self._blocks.append(b"\n".join(lines))
        self._data = [last]

    def _dispatch(self) -> Frame:
        lines = [*self._blocks, *self._data] if self._blocks else self._data
        data = lines[0] if len(lines) == 1 else b"\n".join(lines)
        self._blocks.clear()
        frame = Frame(data, self._event, self._id)
        self.recognised = True
        self._data.clear()
        self._data_size = 0
        self._event = self._prints_json = None
        return frame


def _is_bracket(line: bytes) -> bool:
    """Return whether a line is one opening bracket and blanks."""
    return line.rstrip() in (b"{", b"[")
