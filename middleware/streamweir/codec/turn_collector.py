"""Builds the turn of one answer in the upstream's own shape, from the frames of the answer.

A turn is one message of the assistant. The upstream has to get the message back unchanged. So numbers, the
text of arguments and opaque values are copied, and never parsed and written again.

    state       entered by                             what `take` does
    ─────────   ────────────────────────────────────   ──────────────────────────────────────
    collecting  construction                           keeps the parts of the message
    complete    the frame that ends the message        keeps parts that follow the end, too
    given up    a part that is not understood, or      nothing; all parts are dropped
                more bytes than `max_bytes`

Source: the conversation contract, section 4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import msgspec

from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Thinking
from streamweir.framing import Frame

__all__ = ["CollectedTurn", "TurnCollector"]

_NOT_UNDERSTOOD: Final = (
    *(MalformedEvent, msgspec.MsgspecError, UnicodeError),
    *(AttributeError, LookupError, TypeError, ValueError),
)
"""The errors that are raised if a message lacks a value, or if a value has an unexpected type."""


class CollectedTurn(NamedTuple):
    """One message of the assistant, as the upstream made it.

    Attributes:
        message: the JSON of the message, or (Responses) of the list of its items, in the form in which the
            upstream accepts it in a request.
        texts: the texts that the client gets, one for each block.
        call_ids: the upstream's ids of the calls; calls without ids are left out.
        has_call: whether there is a call, for the client or run by the upstream itself.
        has_opaque: whether there is a value that only the upstream can read, such as a signature.
    """

    message: bytes
    texts: tuple[str, ...]
    call_ids: tuple[str, ...]
    has_call: bool
    has_opaque: bool


class TurnCollector(ABC):
    """Collects one turn. The table at the top of this file lists the states.

    Args:
        max_bytes: the most bytes of a turn; a larger turn is given up.

    Attributes:
        is_complete: whether the frame that ends the message has been taken.
        taken: the number of bytes kept until now; it grows with every part.
    """

    is_complete = False

    def __init__(self, max_bytes: int) -> None:
        self.taken = 0
        self._max_bytes = max_bytes
        self._is_given_up = False
        self._content: TextPieces | None = None
        """The text of the last frame with content, to which a run of texts is added."""
        self._thinking: TextPieces | None = None
        """The text of the last frame with thinking, to which a run of thinking is added."""

    @final
    def take(self, frame: Frame) -> None:
        """Take a frame before it is decoded. Never raises."""
        if self._is_given_up:
            return
        try:
            message = frame.json()
            if frame.invalid_text:
                self._give_up()
            else:
                self._take(message, frame.data)
        except _NOT_UNDERSTOOD:
            if frame.data.strip() not in (b"", b"[DONE]"):
                self._give_up()

    def take_texts(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Take texts that follow the last frame of their kind and differ from it only in their text."""
        target = self._content if type(event) is Content else self._thinking
        if target is not None:
            self._count(target.append("".join(texts)))

    @final
    def turn(self) -> CollectedTurn | None:
        """Return the turn collected until now; None if it was given up or has no parts. Never raises."""
        if self._is_given_up:
            return None
        try:
            turn = self._turn()
        except _NOT_UNDERSTOOD:  # such as arguments that were cut off, or a call without an id
            return None
        return turn if turn is not None and len(turn.message) <= self._max_bytes else None

    @abstractmethod
    def _take(self, message: Any, data: bytes) -> None:
        """Take one message.

        Args:
            message: the JSON value of the message, which must not be changed.
            data: the bytes of the message.
        """

    @abstractmethod
    def _turn(self) -> CollectedTurn | None:
        """Return the turn; None if it has no parts."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop all parts."""

    def _count(self, size: int) -> None:
        self.taken += size
        if self.taken > self._max_bytes:
            self._give_up()

    def _give_up(self) -> None:
        self._is_given_up = True
        self._content = self._thinking = None
        self._drop()
