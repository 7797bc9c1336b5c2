"""Collects the audio of a response, which arrives as pieces of base64.

Source: the Responses API, `response.audio.delta` (openai-python 3.57).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Data, Event, Meta

__all__ = ["Audio"]

_MEDIA_TYPE: Final = "audio/pcm"
_PART: Final = 1 << 20
"""The characters of base64, roughly, in one part: longer audio is sent in parts, so little is kept."""

_ENCODED: Final = re.compile(r"[^=]+={0,2}")


class Audio:
    """The pieces of audio since the last part was sent.

    Args:
        room: the room for the pieces.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._pieces = TextPieces()

    def add(self, piece: str, meta: Meta | None) -> Iterator[Event]:
        """Add a piece; yield a part when it is long enough."""
        self._room.take(self._pieces.append(piece))
        if self._pieces.size >= min(_PART, self._room.size // 4):
            yield from self.take(meta)

    def take(self, meta: Meta | None) -> Iterator[Event]:
        """Yield the audio that has not been sent, if there is any."""
        pieces, self._pieces = self._pieces, TextPieces()
        self._room.give_back(pieces.size)
        if pieces.size:
            yield Data("audio", {"base64": _joined(pieces.text), "media_type": _MEDIA_TYPE}, meta=meta)


def _joined(text: str) -> str:
    """Return pieces of base64 as one text; each may have been encoded alone, with its own padding."""
    encoded = _ENCODED.findall(text)
    if len(encoded) < 2:
        return text
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, encoded))).decode()
    except (binascii.Error, ValueError):
        return text
