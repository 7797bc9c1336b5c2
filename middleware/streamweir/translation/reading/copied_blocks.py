"""Reads the blocks behind the usual texts of a body by their forms, with their bytes, which are copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from streamweir.codec.block_forms import BLOCK_END
from streamweir.events import Content, Event, SessionEnd
from streamweir.framing import Frame, SniffingParser
from streamweir.framing.control_bytes import LF
from streamweir.translation.items import DONE, FrameItems, StreamItem
from streamweir.translation.reading.empty_frames import EMPTY_BYTES
from streamweir.translation.reading.formed_blocks import SHORTEST_BLOCK, FormedBlocks
from streamweir.translation.reading.frame_reader import FrameReader

__all__ = ["read_copied"]

_NAME: Final = b"event: "
"""The bytes before the name of a block."""


def read_copied(
    data: bytes, frames: FrameReader, parser: SniffingParser, begun: FormedBlocks | None
) -> FormedBlocks | None:
    """Read the next blocks of a first read, up to the first one of another form.

    If frames may be shared, the frame of the texts is also that of the plain blocks directly behind them.

    Args:
        data: the first read; not longer than an event may be.
        frames: reads the frames of the body; it has `forms`.
        parser: the parser of the body.
        begun: the texts with which `data` begins, with their frame; the blocks behind them have no ids then.
            None if it begins otherwise: all of it is left to the parser.

    Returns:
        These texts and the blocks behind them; texts that come later are left to the parser.
    """
    decoder, forms, size = frames.decoder, frames.forms, len(data)
    frames.forms = None  # later reads are left to the parser
    if begun is None or begun.stop == size or decoder is None or forms is None or "sse" not in parser.raw_in:
        return begun
    if size // SHORTEST_BLOCK * EMPTY_BYTES > frames.empty_left:
        return begun
    stop = begun.stop
    shares, texts_end = frames.shares_frames, stop
    shared: list[StreamItem] = []
    items: list[FrameItems] = []
    read: list[FrameItems] = []
    while (found := forms.pattern.match(data, stop)) is not None:
        is_one = data.find(BLOCK_END, stop) == found.end() - len(BLOCK_END)
        if not is_one or (events := decoder.read_block(found)) is None:
            break
        stop = found.end()
        if events:
            read.append((events, None))
        if shares and (shares := _is_plain(found, events)):
            shared += events
            texts_end = stop
        else:
            items.append((events, _frame_of(found)))
        if stop == size or (events and type(events[-1]) is SessionEnd):
            break
    if stop == begun.stop:
        return begun
    frames.note_blocks(read, data.count(BLOCK_END, begun.stop, stop) - len(read), None)
    texts = begun.items[0]
    if texts_end > begun.stop:
        texts = [*texts[0], *shared], Frame(b"", raw=data[:texts_end])
    return FormedBlocks([texts, *items], stop)


def _is_plain(found: re.Match[bytes], events: Sequence[Event]) -> bool:
    """Return whether a block is a mark, or only a text, and is copied unchanged like the texts before it."""
    if events:
        return len(events) == 1 and type(events[0]) is Content and not events[0].meta
    return found[found.lastgroup or 0] == DONE


def _frame_of(found: re.Match[bytes]) -> Frame:
    """Return the frame of a block, with its bytes."""
    raw = found[0]
    name = raw[len(_NAME) : raw.find(LF)].decode("ascii") if raw[0] == _NAME[0] else None
    return Frame(found[found.lastgroup or 0], name, raw=raw)
