"""A call whose arguments are sent in pieces before its start."""

from __future__ import annotations

from typing import Final

import msgspec

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import ToolCallStart
from streamweir.optional_json import json_object

__all__ = ["AnnouncedCall"]

_CHARACTER_BYTES: Final = 4


class AnnouncedCall:
    """The delayed start of a call, and pieces of its arguments, in case the stream breaks before the start.

    Args:
        start: the start without its arguments.

    Attributes:
        start: the argument.
    """

    __slots__ = ("_pieces", "start")

    def __init__(self, start: ToolCallStart) -> None:
        self.start = start
        self._pieces: TextPieces | None = TextPieces()

    @property
    def size(self) -> int:
        """The number of bytes of arguments that are kept."""
        return 0 if self._pieces is None else self._pieces.size

    def keep(self, piece: str, room: int) -> int:
        """Keep one more piece, or drop all pieces if there is no room; return the change of `size`.

        Args:
            piece: a piece of the JSON text of the arguments.
            room: how many more bytes may be kept.
        """
        before = self.size
        if self._pieces is not None and len(piece) * _CHARACTER_BYTES > room:
            self._pieces = None
        if self._pieces is not None:
            self._pieces.append(piece)
        return self.size - before

    def with_arguments(self) -> ToolCallStart:
        """Return the start, with the arguments if the pieces form one whole JSON object."""
        came = None if self._pieces is None else json_object(self._pieces.text)
        return self.start if came is None else msgspec.structs.replace(self.start, arguments=came)
