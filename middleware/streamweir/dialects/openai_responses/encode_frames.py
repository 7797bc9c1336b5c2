"""The frames of a response, which are numbered."""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["NumberedFrames"]

_SEQUENCE_NUMBER: Final = re.compile(rb'(?<!\\)"sequence_number" ?: ?(\d{1,15})\b')
"""In a text of a message the quotation marks have a backslash before them."""


class NumberedFrames:
    """Makes the frames of one response.

    Attributes:
        next: the `sequence_number` of the next frame.
    """

    def __init__(self) -> None:
        self.next = 0

    def frame(self, kind: str, fields: dict[str, Any]) -> Frame:
        """Return the next frame; its type is `response.` and `kind`."""
        name = f"response.{kind}"
        message = {"type": name, **fields, "sequence_number": self.next}
        self.next += 1
        return Frame(write_json(message), name)

    def continue_behind(self, copied: bytes) -> None:
        """Count on from the last number in copied frames of the upstream."""
        if numbers := _SEQUENCE_NUMBER.findall(copied):
            self.next = int(numbers[-1]) + 1
