"""Makes the numbered frames of a response."""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["NumberedFrames"]

_SEQUENCE_NUMBER: Final = re.compile(rb'(?<!\\)"sequence_number" ?: ?(\d+)\b')
"""Matches the number of a frame. Within the text of a message, quotation marks follow a backslash."""
_MOST_DIGITS: Final = 15
"""A number with more digits is not exact in every client, so it is not continued."""


class NumberedFrames:
    """Makes the frames of one response.

    Attributes:
        next: the `sequence_number` of the next frame.
    """

    def __init__(self) -> None:
        self.next = 0

    def frame(self, kind: str, fields: dict[str, Any]) -> Frame:
        """Return the next frame, whose type is `response.` followed by `kind`."""
        name = f"response.{kind}"
        number = self.next
        message = {"type": name, **fields, "sequence_number": number}
        self.next = number + 1
        return Frame(write_json(message), name)

    def continue_behind(self, copied: bytes) -> None:
        """Continue after the last number in copied frames of the upstream."""
        numbers = _SEQUENCE_NUMBER.findall(copied)
        if numbers and len(numbers[-1]) <= _MOST_DIGITS:
            self.next = int(numbers[-1]) + 1
