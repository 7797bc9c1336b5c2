"""Leaves out the first frames of a stream, for a client that has read them already.

Source: the Responses API (2026), `starting_after`: the `sequence_number` of the client's last event.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["FramesAfter"]

_NUMBER: Final = re.compile(rb'(?<!\\)"sequence_number" ?: ?(\d{1,18})\b')
"""Matches the number of a frame. In the text of a message, quotation marks follow a backslash."""

_END: Final = b"\n\n"


class FramesAfter:
    """The body of an SSE response without the frames up to a number.

    Frames are numbered in their order. From the first frame with a larger number on, every byte is sent.

    Args:
        number: the number of the last frame that is left out.
    """

    def __init__(self, number: int) -> None:
        self._number: Final = number
        self._begun = b""
        """The bytes of a frame that has not arrived completely."""
        self._has_passed = False

    def rest(self, data: bytes) -> bytes:
        """Return the part of a piece of the body that the client has not read yet."""
        if self._has_passed:
            return data
        data = self._begun + data
        begin = 0
        while (end := data.find(_END, begin)) >= 0:
            numbers = _NUMBER.findall(data, begin, end)
            if numbers and int(numbers[-1]) > self._number:
                self._has_passed = True
                return data[begin:]
            begin = end + len(_END)
        self._begun = data[begin:]
        return b""
