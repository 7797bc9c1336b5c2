"""Finds out whether the frames of a chat hold pieces of the answer, or each time the whole answer until then.

Up to 0.23.1 (and later with `legacy: true`) each frame holds the whole answer until then, from 0.24 on only
the new part. No field tells which of them it is. No text is held back: the first guess is sent, and corrected
if a later frame proves it wrong.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final, NamedTuple

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Whole

__all__ = ["AnswerForm", "Part"]

_LONG: Final = 16
"""From this length on, a text that is sent twice, or nearly so, is a copy and no coincidence ("哈",
"哈哈").
"""

_DISTINCT: Final = 4
"""A text with fewer different characters may repeat itself without being a copy."""

_LONGEST_DOUBT: Final = 64 << 10
"""After this number of characters the guess is final."""

_OPENING: Final = "<think>"
"""The beginning of thinking, which an answer has only once: a second frame that begins with it is a copy."""


class Part(NamedTuple):
    """The answer in a frame: the next piece (`whole` is None), or the whole text until now."""

    text: str
    whole: Whole | None


class AnswerForm:
    """Distinguishes pieces of an answer from copies of it.

    Args:
        option: `delta`, `cumulative`, or `auto` to find out.
    """

    def __init__(self, option: str = "auto") -> None:
        self._settled = option != "auto"
        self._cumulative = option == "cumulative"
        self._previous = ""
        self._joined = TextPieces()
        self._extensions = 0
        self._all_decorated = True

    @property
    def is_settled(self) -> bool:
        """Whether it is certain what further answers hold."""
        return self._settled

    @property
    def is_cumulative(self) -> bool:
        """Whether every further answer is certainly the whole text until then."""
        return self._settled and self._cumulative

    def extend(self, text: str) -> None:
        """Note the whole text of a further frame, while `is_cumulative`."""
        self._previous = text

    def grow(self, text: str) -> None:
        """Note the new part of the text of another frame. Called only while `is_cumulative`."""
        self._previous += text

    def new_in(self, text: str) -> str:
        """Return the new part of `text`, as far as it is known."""
        may_be_copy = self._cumulative or not self._settled
        return text[len(self._previous) :] if may_be_copy and text.startswith(self._previous) else text

    def take(self, text: str, *, marked: bool, decorated: bool) -> Part:
        """Return the relation of the next frame's answer to the earlier answers.

        Args:
            text: the answer of a frame; not empty.
            marked: whether the frame has a key of the newer form (`final`, think flags).
            decorated: whether the frame has fields of the rewritten last frame in the older form (prompt,
                reference).
        """
        self._all_decorated = self._all_decorated and decorated
        part = Part(text, "snapshot" if self._cumulative else None)
        if not self._settled:
            part = self._learn(text, marked=marked, decorated=decorated and not self._all_decorated)
            self._joined.append(text)
        self._previous = text
        if self._joined.size > _LONGEST_DOUBT:
            self._settled = True
        if self._settled:
            self._joined = TextPieces()
        return part

    def _learn(self, text: str, *, marked: bool, decorated: bool) -> Part:
        before = self._previous
        if not before:
            return Part(text, None)
        if len(text) > len(before) and text.startswith(before):
            return self._learn_from_extension(text, marked=marked)
        if marked:
            return self._settle(text, cumulative=False)
        if decorated or self._is_rewritten(text):
            return self._settle(text, cumulative=True)
        if text == before:
            self._cumulative = self._cumulative or _is_varied(text)
            return Part(text, "snapshot" if self._cumulative else None)
        return self._settle(text, cumulative=False)

    def _learn_from_extension(self, text: str, *, marked: bool) -> Part:
        """Return the part for a text that extends the text before it.

        Two such texts prove that each frame has the whole answer, unless the message has the key of pieces.
        """
        self._extensions += 1
        again, varied = self._extensions > 1, _is_varied(self._previous)
        is_significant = len(self._previous) >= _LONG or self._previous.startswith(_OPENING)
        if (again and not marked) or (varied and (again or is_significant)):
            return self._settle(text, cumulative=True)
        self._cumulative = not marked
        return Part(text, "snapshot" if self._cumulative else None)

    def _settle(self, text: str, *, cumulative: bool) -> Part:
        self._settled = True
        guessed, self._cumulative = self._cumulative, cumulative
        if guessed and not cumulative:
            return Part(self._joined.text + text, "snapshot")
        return Part(text, "snapshot" if cumulative else None)

    def _is_rewritten(self, text: str) -> bool:
        """Return whether `text` keeps most of the previous text at both ends, or is only shorter."""
        before = self._previous
        if self._cumulative and before.startswith(text) and _is_varied(text):
            return True
        if len(before) < _LONG:
            return False
        begin = _shared(before, text)
        end = _shared(before[begin:][::-1], text[begin:][::-1])
        return (begin + end) * 2 >= len(before)


def _is_varied(text: str) -> bool:
    """Return whether the next piece is unlikely to begin like `text` by chance."""
    return len(set(text)) >= _DISTINCT


def _shared(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
