"""Writes texts whose SSE blocks differ only in the text and in the numbers of their stamps.

    id: 7                                                       the sequence, from here on with what follows
    data: {"type":"content","data":{"content":"Hel"             begin, text
    },"metadata":{"request_id":"r","timestamp":1790000000000    before_time, time
    ,"sequence":7                                               before_sequence, sequence
    }}                                                          end

An encoder that knows all this before the first text returns such a template from `Encoder.text_template`.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Final

from streamweir.codec.decimals import decimal, decimals
from streamweir.codec.text_json import text_json, text_lines
from streamweir.events import Stamp
from streamweir.jsontext import write_json

__all__ = ["LONG_TEXT", "StampedTemplate", "StampedThoughts"]

LONG_TEXT: Final = 256 << 10
"""The least characters of a text that is written in pieces."""

_PIECE: Final = 64 << 10
"""The number of characters of a long text that are written in one step."""


class StampedTemplate:
    """The block of a text, with places for the text and for the numbers of its stamp.

    Args:
        begin: the bytes between the id of the block and the text.
        before_time: the bytes between the text and the time.
        before_sequence: the bytes between the time and the sequence number.
        end: the bytes behind the sequence number.
    """

    __slots__ = ("_before_sequence", "_before_time", "_begin", "_end")

    def __init__(self, begin: bytes, before_time: bytes, before_sequence: bytes, end: bytes) -> None:
        self._begin = begin
        self._before_time = before_time
        self._before_sequence = before_sequence
        self._end = end

    def write(self, texts: Sequence[str], stamp: Stamp) -> bytes:
        """Return the blocks of texts; each has the next sequence number, the first one that of the stamp."""
        if len(texts) > 1:
            return self._several(text_lines(texts).split(b"\n"), stamp)
        text = texts[0]
        if len(text) >= LONG_TEXT and text.isascii():
            return self._long_block(text, stamp)
        number = decimal(stamp.sequence)
        return b"".join(
            (
                b"id: ",
                number,
                self._begin,
                text_json(text),
                self._before_time,
                decimal(stamp.timestamp),
                self._before_sequence,
                number,
                self._end,
            )
        )

    def _several(self, texts: Sequence[bytes], stamp: Stamp) -> bytes:
        """Return the blocks of several texts, which are given as JSON."""
        behind = self._before_time + decimal(stamp.timestamp) + self._before_sequence
        blocks = [self._end + b"id: ", b"", self._begin, b"", behind, b""] * len(texts)
        blocks[1::6] = blocks[5::6] = decimals(stamp.sequence, 1, len(texts))
        blocks[3::6] = texts
        blocks[0] = b"id: "
        blocks.append(self._end)
        return b"".join(blocks)

    def _long_block(self, text: str, stamp: Stamp) -> bytes:
        """Return the block of a long text in ASCII. No other buffer as large as the text is made."""
        begin = b'id: %d%b"' % (stamp.sequence, self._begin)
        end = b'"%b%d%b%d%b' % (
            self._before_time,
            stamp.timestamp,
            self._before_sequence,
            stamp.sequence,
            self._end,
        )
        block = BytesIO()
        block.seek(len(begin) + len(text) + len(end) - 1)  # a buffer that grows is copied
        block.write(b"\0")
        block.seek(0)
        block.write(begin)
        for at in range(0, len(text), _PIECE):
            block.write(memoryview(write_json(text[at : at + _PIECE]))[1:-1])
        block.write(end)
        return block.getvalue()


class StampedThoughts:
    """The block of a thought that is a message of its own: that of a text, with a place for the id behind
    the sequence number.

    Args:
        begin: the bytes between the id of the block and the text.
        before_time: the bytes between the text and the time.
        before_sequence: the bytes between the time and the sequence number.
        before_id: the bytes between the sequence number and the id of the message.
        end: the bytes behind the id of the message.
    """

    __slots__ = ("_before_id", "_before_sequence", "_before_time", "_begin", "_end")

    def __init__(
        self, begin: bytes, before_time: bytes, before_sequence: bytes, before_id: bytes, end: bytes
    ) -> None:
        self._begin = begin
        self._before_time = before_time
        self._before_sequence = before_sequence
        self._before_id = before_id
        self._end = end

    def write(self, texts: Sequence[str], ids: Sequence[str], stamp: Stamp) -> bytes:
        """Return the blocks of texts with the ids of their messages; their numbers are those of
        `StampedTemplate.write`.
        """
        behind = self._before_time + decimal(stamp.timestamp) + self._before_sequence
        blocks = [self._end + b"id: ", b"", self._begin, b"", behind, b"", self._before_id, b""] * len(texts)
        blocks[1::8] = blocks[5::8] = decimals(stamp.sequence, 1, len(texts))
        blocks[3::8] = text_lines(texts).split(b"\n")
        blocks[7::8] = text_lines(ids).split(b"\n")
        blocks[0] = b"id: "
        blocks.append(self._end)
        return b"".join(blocks)
