"""Replaces the data of a frame; event names, ids, comments and line ends stay."""

from __future__ import annotations

import re
from typing import Final

from streamweir.framing.blank import BOM
from streamweir.framing.line_style import LineFraming

__all__ = ["with_data"]

_LINE_ENDS: Final = b"\r\n"
_FIELD: Final = re.compile(rb"data(?:$|: ?)|error: ?(?=\{)")
"""Matches the name of a field that holds data; `error` holds data only in front of an object."""

_NOT_DATA: Final = re.compile(rb"[ \t]*+$|:|[A-Za-z_-]++(?::|$)")
"""Matches lines after a data line that do not continue it: blank lines, comments, fields."""


def with_data(raw: bytes, data: bytes, framing: LineFraming) -> bytes:
    """Return a frame with its data replaced.

    Args:
        raw: the bytes of the frame.
        data: the new data, one line.
        framing: the framing of the frame.
    """
    if framing != "sse":
        end = raw[len(raw.rstrip(_LINE_ENDS)) :]
        return data + end
    out: list[bytes] = []
    is_written = False
    for line in raw.removeprefix(BOM).splitlines(keepends=True):
        text = line.rstrip(_LINE_ENDS)
        field = _FIELD.match(text)
        is_bare = text.startswith(b"{") and text.rstrip().endswith(b"}")
        if field is None and not is_bare and (not is_written or _NOT_DATA.match(text)):
            out.append(line)
        elif not is_written:
            is_written = True
            begin = b"" if field is None else b"data:" if text == b"data" else field[0]
            out.append(begin + data + line[len(text) :])
    return b"".join(out)
