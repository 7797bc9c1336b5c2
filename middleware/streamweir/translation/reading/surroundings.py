"""The bytes around the texts of a body, by which a read that consists of texts is read without parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeVar

import msgspec

from streamweir.codec.message_template import MessageTemplate, Piece
from streamweir.translation.reading.separator import Separator, searched_part

__all__ = ["Surroundings", "TextReader", "texts_in_lines", "values_in_lines"]

V = TypeVar("V")

_text: Final = msgspec.json.Decoder(str).decode
_texts: Final = msgspec.json.Decoder(list[str]).decode


class TextReader:
    """Reads the texts of blocks by the bytes around them.

    Attributes:
        end: the bytes of a block after its message.
    """

    __slots__ = ()

    end: bytes

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes."""
        raise NotImplementedError

    def only_text_in(self, data: bytes) -> str | None:
        """Return the text of bytes that are a single block; None for any other bytes."""
        if data.find(self.end) != len(data) - len(self.end):
            return None
        texts = self.texts_in(data)
        return texts[0] if texts else None

    def end_of(self, blocks: int, data: bytes, begin: int) -> int:
        """Return the end position of this many whole blocks from `begin` on."""
        for _ in range(blocks):
            begin = data.find(self.end, begin) + len(self.end)
        return begin


class Surroundings(TextReader, msgspec.Struct, eq=False, gc=False):
    """The bytes before and after the text in the blocks of one template, if the blocks differ only in the
    text. Made by `around` and `of`.

    Attributes:
        template: the template of the messages.
        before: the bytes of a block before the text.
        end: the bytes of a block after its message.
    """

    template: MessageTemplate
    before: bytes
    end: bytes
    _after: bytes
    _part: bytes
    _part_size: int
    _first: bytes
    _last: bytes
    _begin: int
    _end: int
    _separator: Separator | None = None
    """Splits several texts; made when a read has them."""
    _between: str | None = None
    """The separator with the quotes around it, for texts without escapes; empty if all texts have to be
    parsed. Set by the first read of several texts.
    """

    is_constant: ClassVar[bool] = True

    @classmethod
    def around(
        cls, template: MessageTemplate, begin: bytes, end: bytes, edges: tuple[bytes, bytes] | None = None
    ) -> Surroundings:
        """Return the surroundings of the texts of `template`.

        Args:
            template: the template of the messages.
            begin: the bytes of a block before its message.
            end: the bytes of a block after its message.
            edges: the bytes of a message before and after the text; None: those of the template.
        """
        before, after = edges or template.edges
        before, after = begin + before, after + end
        part = searched_part(after + before)
        first, last = before + b'"', b'"' + after
        return cls(template, before, end, after, part, len(part), first, last, len(before), -len(after))

    def of(self, event: Piece) -> Surroundings:
        """Return the same surroundings for texts of another event."""
        if self._separator is None:
            self._between_texts()  # once for all of them
        return msgspec.structs.replace(self, template=self.template.of(event))

    def note(self, message: bytes) -> None:
        """Note the message of the latest block; only its text may differ from earlier ones."""

    def run_in(self, data: bytes, begin: int, *, tries_all: bool) -> tuple[list[str] | None, int]:
        """Return the texts of consecutive blocks from `begin` on, and where the last block ends.

        The texts are None if the parser has to read the bytes up to that end. The end is `begin` if no block
        is whole.

        Args:
            data: one read.
            begin: a boundary in it.
            tries_all: first try whether all blocks up to the last text are texts. Use it once per read: its
                time grows with the read.
        """
        before, end, size = self.before, self.end, len(self.end)
        stop = data.rfind(end, begin) + size
        if stop < begin + size:
            return None, begin
        if tries_all:
            at = stop
            if data[stop + self._end - 1 : stop] != self._last:  # other blocks are behind the last text
                at = data.find(end, max(begin, data.rfind(before, begin, stop))) + size
            if (texts := self.texts_in(data[begin:at])) is not None:
                return texts, at
        at = begin
        while at < stop and data.startswith(before, at):
            at = data.find(end, at) + size
        if at > begin:
            return self.texts_in(data[begin:at]), at
        return None, data.find(end, begin) + size

    def is_first_in(self, data: bytes, begin: int) -> bool:
        """Return whether the first block from `begin` on may have these surroundings."""
        end = data.find(self.end, begin) + len(self.end)
        return data.startswith(self.before, begin) and data.endswith(self._after, begin, end)

    def first_run_in(
        self, data: bytes, begin: int = 0, *, tries_all: bool = True
    ) -> tuple[list[str] | None, int]:
        """Return the texts of the blocks from `begin` on, and where the last of them ends; see `run_in`."""
        if data[begin : begin + self._begin] != self.before:
            return None, begin
        return self.run_in(data, begin, tries_all=tries_all)

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes."""
        if data[: self._begin + 1] != self._first or data[self._end - 1 :] != self._last:
            return None
        strings = data[self._begin : self._end]
        try:
            if len(strings) < self._part_size or strings.find(self._part) < 0:  # `in` is slow
                text = _text(strings)
                return [text] if text else None
            if strings.find(b"\\") < 0 and (texts := self._plain_texts(strings)) is not None:
                return texts
            pieces = self._between_texts().split(strings)
            return None if pieces is None else texts_in_lines(pieces)
        except (msgspec.MsgspecError, ValueError):
            return None

    def _between_texts(self) -> Separator:
        if self._separator is None:
            self._separator = Separator(self._after + self.before)
        return self._separator

    def _plain_texts(self, strings: bytes) -> list[str] | None:
        """Return the texts of JSON strings without escapes; None for any other bytes.

        Args:
            strings: bytes without a backslash, from the first quote of the first string to the last quote of
                the last one.
        """
        between = self._between
        if between is None:
            between = self._between = _text_between(self._between_texts())
        if not between:
            return None
        texts = strings[1:-1].decode().split(between)
        joined = "".join(texts)
        try:
            is_plain = _text(f'"{joined}"') == joined  # one string: no text has a quote or a line end
        except msgspec.MsgspecError:
            return None
        return texts if is_plain and all(texts) else None


def _text_between(separator: Separator) -> str:
    """Return a separator of JSON strings with their quotes; empty if it is long, or not plain text."""
    whole = separator.whole
    is_plain = whole.isascii() and whole.find(b"\\") < 0 and not separator.is_long
    return f'"{whole.decode()}"' if is_plain else ""


def texts_in_lines(pieces: Sequence[bytes]) -> list[str] | None:
    """Return the strings that `pieces` encode as JSON without line ends; None if a piece has a line end or is
    empty.

    Raises:
        MsgspecError, ValueError: a piece is not a JSON string.
    """
    texts = values_in_lines(pieces, _texts)
    return None if texts is None or "" in texts else texts


def values_in_lines(pieces: Sequence[bytes], decode: Callable[[bytes], list[V]]) -> list[V] | None:
    """Return the values that `pieces` encode as JSON without line ends; None if a piece has a line end.

    Raises:
        MsgspecError, ValueError: a piece is not such a value.
    """
    # a string ends at a line end, so that none is taken for two, or two for one
    lines = b",\n".join(pieces)
    if lines.count(b"\n") != len(pieces) - 1 or lines.find(b"\r") >= 0:
        return None
    values = decode(b"[%b]" % lines)
    return values if len(values) == len(pieces) else None
