"""The bytes around the texts of a body, by which a read that consists of texts is read without parsing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from streamweir.codec.message_template import MessageTemplate
from streamweir.framing import Frame

__all__ = ["Surroundings"]

V = TypeVar("V")

_ignored: Final = msgspec.json.Decoder(list[int | float | str]).decode
_text: Final = msgspec.json.Decoder(str).decode
_texts: Final = msgspec.json.Decoder(list[str]).decode

_QUOTE: Final = ord('"')

_MOST_MISSES: Final = 3
"""So many texts in a row that are not like the latest one show that a number counts."""


class Surroundings:
    """The bytes before and behind the text in the blocks of one template.

    Numbers beside the text, such as times in seconds, are often the same as in the latest block. If blocks
    are not `is_constant`, `_latest` has the surroundings of that block, which are constant. `note` sets it,
    until three noted blocks in a row were followed by a different one; it stays None from then on.

    Args:
        template: of the messages.
        begin: the bytes of a block before its message.
        end: the bytes of a block behind its message.

    Attributes:
        template: the argument.
        before: the bytes at the beginning of a block, up to the first value that changes.
        end: the argument.
        is_constant: blocks differ only in their text; else also in numbers, such as times.
    """

    __slots__ = (
        "_after",
        "_begin",
        "_between",
        "_block_begin",
        "_end",
        "_latest",
        "_misses",
        "before",
        "end",
        "is_constant",
        "template",
    )

    def __init__(
        self,
        template: MessageTemplate,
        begin: bytes,
        end: bytes,
        constants: tuple[bytes, bytes] | None = None,
    ) -> None:
        before, after = constants or template.edges
        self.template = template
        self.is_constant = constants is not None or template.is_constant
        self._latest: Surroundings | None = None
        self._misses = 0
        self._block_begin = begin
        self.end = end
        self.before = begin + before
        self._after = after + end
        self._between = self._after + self.before
        self._begin, self._end = len(self.before), -len(self._after)

    @classmethod
    def of(cls, template: MessageTemplate, frame: Frame, block: bytes) -> Surroundings | None:
        """Return the surroundings of the message of `frame` in its block; None if that has no line end."""
        begin, found, end = block.rpartition(frame.data)
        return cls(template, begin, end) if found and end else None

    def note(self, message: bytes) -> None:
        """Note the message of the latest block, unless blocks are constant."""
        if self.is_constant or self._misses > _MOST_MISSES:
            return
        self._misses += 1
        self._latest = None
        if self._misses <= _MOST_MISSES:
            around = self.template.around_text(message)
            self._latest = Surroundings(self.template, self._block_begin, self.end, around)

    def _text_in(self, data: bytes) -> str | None:
        """Return the text of one block that is not `is_constant`; None or empty for any other bytes."""
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        begin, end = self._begin, len(data) + self._end
        if data.find(b"\n", begin, end) >= 0 or data.find(b"\r", begin, end) >= 0:
            return None
        text = self.template.text_in(data, begin, end)
        if text is not None and self._misses <= _MOST_MISSES:
            self.note(data[len(self._block_begin) : -len(self.end)])
        return text

    def run_in(self, data: bytes, begin: int, *, tries_all: bool) -> tuple[list[str] | None, int]:
        """Return the texts of consecutive blocks from `begin` on, and where the last block ends.

        The texts are None if the parser has to read the bytes up to that end. The end is `begin` if no block
        is whole.

        Args:
            data: one read.
            begin: a boundary in it.
            tries_all: first try whether all whole blocks are texts. Use it once per read: its time grows with
                the read.
        """
        end = self.end
        stop = data.rfind(end, begin) + len(end)
        if stop < begin + len(end):
            return None, begin
        if not self.is_constant:
            return self._run_of_latest(data, begin, stop, tries_all=tries_all)
        if tries_all and (texts := self.texts_in(data[begin:stop])) is not None:
            return texts, stop
        at = begin
        while at < stop and data.startswith(self.before, at):
            at = data.find(end, at) + len(end)
        if at > begin:
            return self.texts_in(data[begin:at]), at
        return None, data.find(end, begin) + len(end)

    def _run_of_latest(
        self, data: bytes, begin: int, stop: int, *, tries_all: bool
    ) -> tuple[list[str] | None, int]:
        """Answer `run_in` for blocks that are like the latest one, of those before `stop`."""
        latest, texts, end = self._latest, None, stop
        if latest is not None and latest.is_first_in(data, begin):
            texts, end = latest.run_in(data, begin, tries_all=tries_all)
        if texts is None:
            return self._differing_in(data[begin:stop]), stop
        self._misses = 0
        return texts, end

    def _differing_in(self, data: bytes) -> list[str] | None:
        """Return the texts of blocks in which one value behind the text differs; None for any other bytes."""
        constants = self.template.value_behind
        if constants is None:
            return None
        before, separator, after = constants
        begin, end = self._block_begin + before, after + self.end
        if not (data.startswith(begin) and data.endswith(end)):
            return None
        blocks = data[len(begin) : -len(end)].split(end + begin)
        parts = [block.partition(separator) for block in blocks]
        try:
            values = _in_lines([value for _, _, value in parts], _ignored)
            texts = _in_lines([text for text, _, _ in parts], _texts)
        except (msgspec.MsgspecError, ValueError):
            return None
        if not values or not texts:
            return None
        latest = before + blocks[-1] + after
        self.template.note_latest(latest)
        self.note(latest)
        return texts

    def is_first_in(self, data: bytes, begin: int) -> bool:
        """Return whether the first block from `begin` on may have these surroundings."""
        end = data.find(self.end, begin) + len(self.end)
        return data.startswith(self.before, begin) and data.endswith(self._after, begin, end)

    def end_of(self, blocks: int, data: bytes, begin: int) -> int:
        """Return the end of so many blocks from `begin` on; each of them is whole."""
        for _ in range(blocks):
            begin = data.find(self.end, begin) + len(self.end)
        return begin

    def first_run_in(self, data: bytes) -> tuple[list[str] | None, int]:
        """Return the texts of the blocks at the beginning of `data`, and where the last of them ends."""
        if not data.startswith(self.before):
            return None, 0
        texts = self.texts_in(data)
        return (texts, len(data)) if texts else self.run_in(data, 0, tries_all=False)

    def only_text_in(self, data: bytes) -> str | None:
        """Return the text of bytes that are a single block; None for any other bytes."""
        if data.find(self.end) != len(data) - len(self.end):
            return None
        texts = self.texts_in(data)
        return texts[0] if texts else None

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes.

        Also None for several blocks that are not `is_constant`.
        """
        if not self.is_constant:
            texts = None if self._latest is None else self._latest.texts_in(data)
            if texts is not None:
                self._misses = 0
                return texts
            text = self._text_in(data)
            return [text] if text else None
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        strings = data[self._begin : self._end]
        try:
            if strings.find(self._between) < 0:  # `in` is slow: it tries the bytes as a number first
                text = _text(strings)
                return [text] if text and strings[0] == strings[-1] == _QUOTE else None  # and no line end
            return _in_lines(strings.split(self._between), _texts)
        except (msgspec.MsgspecError, ValueError):
            return None


def _in_lines(pieces: list[bytes], decode: Callable[[bytes], list[V]]) -> list[V] | None:
    """Return the values of JSON texts without line ends; None if one is another text, or empty.

    Raises:
        MsgspecError, ValueError: one is no such value.
    """
    # a string ends at a line end, so that none is taken for two, or two for one
    lines = b",\n".join(pieces)
    if lines.count(b"\n") != len(pieces) - 1 or lines.find(b"\r") >= 0:
        return None
    values = decode(b"[%b]" % lines)
    return values if len(values) == len(pieces) and "" not in values else None
