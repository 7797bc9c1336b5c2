"""Reads the blocks of a body that have a form which the dialect declares, without the parser and the JSON.

    beginning    event: message_start ...          by `Decoder.read_block`
    first text   event: content_block_delta ...    by `TextFields.form`, which shows its surroundings
    more texts   event: content_block_delta ...    by these surroundings
    end          event: message_stop ...           by `Decoder.read_block`

Any other block, and any block that is cut by the network, is for the parser and `Decoder.decode`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, final

import msgspec

from streamweir.codec.base import Decoder
from streamweir.codec.block_forms import BLOCK_END, BlockForms
from streamweir.codec.message_template import Piece, TextFields, are_alike
from streamweir.events import Content, SessionEnd
from streamweir.framing import Frame, SniffingParser
from streamweir.translation.items import FrameItems, TextRun
from streamweir.translation.reading.changing_surroundings import ChangingSurroundings
from streamweir.translation.reading.empty_frames import EMPTY_BYTES
from streamweir.translation.reading.frame_reader import FrameReader
from streamweir.translation.reading.surroundings import Surroundings
from streamweir.translation.reading.text_blocks import AnySurroundings, usual_surroundings

__all__ = ["SHORTEST_BLOCK", "FormedBlocks", "begin_with_usual", "groups_from", "has_form", "read_formed"]


SHORTEST_BLOCK: Final = 8
"""No block of a message is shorter, in bytes."""


@final
class FormedBlocks(msgspec.Struct, frozen=True, gc=False):
    """The blocks at the beginning of a read that have been read.

    Attributes:
        items: the items of the blocks.
        stop: the end of the last of these blocks.
        around: the surroundings of the texts at their end; None if there are no texts.
    """

    items: Sequence[FrameItems]
    stop: int
    around: AnySurroundings | None = None


def begin_with_usual(
    data: bytes, frames: FrameReader, usual: TextFields, parser: SniffingParser
) -> FormedBlocks | None:
    """Read the usual texts with which a body begins; they need no template of the stream.

    Args:
        data: the first read; not longer than an event may be.
        frames: reads the frames of the body.
        usual: the text fields of the dialect.
        parser: the parser of the body.

    Returns:
        None for any other read.
    """
    for around in usual_surroundings(usual):
        texts, stop = around.first_run_in(data)
        if texts and frames.begin_with_texts(around.template):
            parser.note_sse_blocks()
            frame = Frame(b"", raw=data[:stop]) if "sse" in parser.raw_in else None
            return FormedBlocks((([TextRun(around.template.event, texts)], frame),), stop, around)
    return None


def has_form(data: bytes, frames: FrameReader, forms: BlockForms) -> bool:
    """Return whether `read_formed` has to be tried for `data`; `forms` are those of `frames`."""
    if frames.templates.current is None and frames.decoder and frames.decoder.plain_piece is not None:
        return True
    frames.found = forms.pattern.match(data)
    return frames.found is not None


def _found_in(data: bytes, begin: int, frames: FrameReader) -> re.Match[bytes] | None:
    """Return the block at `begin`, which `has_form` may have found."""
    found, frames.found = frames.found, None
    if found is not None and found.string is data and found.pos == begin:
        return found
    return None if frames.forms is None else frames.forms.pattern.match(data, begin)


def groups_from(
    formed: FormedBlocks, data: bytes, frames: FrameReader, parser: SniffingParser
) -> Iterator[FormedBlocks]:
    """Yield `formed`, and the blocks behind it in `data` up to the first one that has no declared form.

    A group is read when the items of the one before it have been taken: these may end the stream.
    """
    group: FormedBlocks | None = formed
    while group is not None:
        yield group
        is_over = group.stop == len(data) or frames.forms is None or not parser.is_at_boundary
        begun = FormedBlocks((), group.stop)
        group = None if is_over else read_formed(data, frames, parser, begun, tries_all=False)
        group = None if group is begun else group


def read_formed(
    data: bytes,
    frames: FrameReader,
    parser: SniffingParser,
    begun: FormedBlocks | None = None,
    *,
    tries_all: bool = True,
) -> FormedBlocks | None:
    """Read the next blocks of a read, up to the first one of another form.

    Args:
        data: a read that begins at a boundary; not longer than an event may be.
        frames: reads the frames of the body; it has `forms`.
        parser: the parser of the body.
        begun: the blocks before them in `data`, whose bytes are not kept; None if there are none.
        tries_all: see `Surroundings.run_in`.

    Returns:
        These blocks and those before them; `begun` if the first of these has no declared form, or has to be
        decoded.
    """
    begin = stop = 0 if begun is None else begun.stop
    decoder, forms, size = frames.decoder, frames.forms, len(data)
    if begin == size or decoder is None or forms is None or decoder.judges_texts or frames.held:
        return begun
    fields, match = decoder.text_fields, forms.pattern.match
    has_texts = fields is not None and fields.form is not None
    found = match(data, begin) if frames.found is None else _found_in(data, begin, frames)
    has_none = found is None and frames.templates.current is not None
    if has_none or size // SHORTEST_BLOCK * EMPTY_BYTES > frames.empty_left:
        return begun
    items: list[FrameItems] = []
    run = None
    while found is not None:
        events = decoder.read_block(found)
        if events is None:
            found = None
            break
        stop = found.end()
        if events:
            items.append((events, None))
        if stop == size or (events and type(events[-1]) is SessionEnd):
            break
        if events and has_texts and (run := _texts_at(stop, data, decoder, parser, tries_all)) is not None:
            break
        found = match(data, stop)
    if found is None and has_texts:
        run = _texts_at(stop, data, decoder, parser, tries_all)
    if stop > begin:
        empty = data.count(BLOCK_END, begin, stop) - len(items)
        frames.note_blocks(items, empty, None if run is None else run[0].template)
    elif run is not None:
        frames.note_texts(run[0].template)
    else:
        return begun
    around = None
    if run is not None:
        around, texts, stop = run
        items.append(([_run_of(around.template.event, texts, items)], None))
    parser.note_sse_blocks()
    return FormedBlocks(items if begun is None else [*begun.items, *items], stop, around)


def _run_of(piece: Piece, texts: list[str], items: list[FrameItems]) -> TextRun:
    """Return the run of the texts behind `items`; a text at the end of these is moved into it.

    Args:
        piece: the event of the texts.
        texts: the texts.
        items: the items of the blocks before them.
    """
    last = items[-1][0][-1] if items else None
    if type(last) is Content and are_alike(piece, last):
        items[-1] = items[-1][0][:-1], None
        texts = [last.content, *texts]
    return TextRun(piece, texts)


@lru_cache(maxsize=32)
def _usual_block(fields: TextFields | None) -> Surroundings | None:
    """Return the surroundings of the texts of the usual block, which hold no data of any stream; None if the
    dialect declares no such block.
    """
    if fields is None or fields.form is None or not fields.form.usual_block:
        return None
    block = fields.form.usual_block.replace("<text>", '"text"').encode() + BLOCK_END
    found = fields.form.block_at(block, 0)
    if found is None:
        return None
    before, name, message, holes = found
    return Surroundings.around(fields.template(Content(""), name, message, holes), before, BLOCK_END)


def _texts_at(
    begin: int, data: bytes, decoder: Decoder, parser: SniffingParser, tries_all: bool
) -> tuple[AnySurroundings, list[str], int] | None:
    """Return the first texts of the declared form, their surroundings, and the end of the last one; None if
    the first block is no such text.
    """
    piece, fields = decoder.plain_piece, decoder.text_fields
    if piece is None or fields is None or fields.form is None:
        return None
    usual = _usual_block(fields)
    if usual is not None:
        texts, end = usual.first_run_in(data, begin, tries_all=tries_all)
        if texts is not None:
            return usual.of(piece), texts, end
    found = fields.form.block_at(data, begin)
    if found is None:
        return None
    before, name, message, holes = found
    template = fields.template(piece, name, message, holes)
    around: AnySurroundings
    if template.is_constant:
        around = Surroundings.around(template, before, BLOCK_END)
    else:
        around = ChangingSurroundings(template, before, BLOCK_END, parser.note_id)
    texts, end = around.run_in(data, begin, tries_all=tries_all)
    return None if texts is None else (around, texts, end)
