"""Keeps which texts the next read of a body is expected to have, and reads a read that has just these."""

from __future__ import annotations

from streamweir.codec.base import Decoder
from streamweir.codec.message_template import MessageTemplate
from streamweir.framing import Frame, SniffingParser
from streamweir.translation.items import FrameItems, TextRun
from streamweir.translation.reading.frame_reader import FrameReader
from streamweir.translation.reading.text_blocks import AnySurroundings, TextBlocks, may_begin_block

__all__ = ["ExpectedTexts"]


class ExpectedTexts:
    """The texts that the next read of one body is expected to have.

    Args:
        frames: reads the frames, one by one.
        limit: the most bytes that an event may have.

    The state at the end of a read decides how the caller may treat the next one:

    ============================ ======== ============= ====================================================
    the last read ended          `around` `next_around` the next read
    ============================ ======== ============= ====================================================
    at a boundary, texts known   set      set           if it has the bytes `around` its texts, it is just
                                                        these texts, and need not be given to `read`
    likewise, texts are judged   None     set           `read_texts` may be tried before `read`
    within the block of a text   None     set           `read_texts` may be tried before `read`
    anywhere else                None     None          is for `read`
    ============================ ======== ============= ====================================================

    Attributes:
        parser: cuts the body into frames; replaced once the dialect is known.
        has_ended: the end of the dialect has been read: later frames are returned without being decoded.
        around: see above.
        next_around: see above.
        unread: the beginning of a block that may be a text, kept from the last read.
    """

    parser: SniffingParser
    has_ended = False
    around: AnySurroundings | None = None
    next_around: AnySurroundings | None = None
    unread = b""

    def __init__(self, frames: FrameReader, limit: int) -> None:
        self._frames = frames
        self._limit = limit
        self._blocks = TextBlocks()
        self.around = self.next_around = None  # read for each event, which takes longer on the class

    def read_texts(self, data: bytes) -> tuple[MessageTemplate, list[str], bytes] | None:
        """Return the texts of a read that is one judged or growing text, or begins or ends within the block
        of a text.

        The beginning of a block at the end of the read is kept for the next read.

        Returns:
            The template of the texts, the texts, and the bytes of their blocks. None for any other read; the
            state is then unchanged.
        """
        around, decoder = self.next_around, self._frames.decoder
        if around is None or decoder is None:
            return None
        if decoder.judges_texts or around.template.grows:
            return self._only_text(around, decoder, data)
        if not around.is_constant or (not self.unread and data.endswith(around.end)):
            return None  # the caller has tried `around`
        data = self.unread + data
        stop = data.rfind(around.end) + len(around.end)
        rest = data[stop:]
        if stop < len(around.end) or len(data) > self._limit or (rest and not self._may_wait(rest, around)):
            return None
        data = data[:stop]
        texts = around.texts_in(data)
        if not texts:
            return None
        self.around = None if rest else around
        self.unread = rest
        return around.template, texts, data

    def _only_text(
        self, around: AnySurroundings, decoder: Decoder, data: bytes
    ) -> tuple[MessageTemplate, list[str], bytes] | None:
        """Return the text of a read that is one block, if the decoder accepts it; see `read_texts`.

        A growing text whose frames are kept goes with its frame, for which `TextRun.whole` is needed.
        """
        keeps_whole = around.template.grows and self.parser.keeps_raw
        if self.unread or len(data) > self._limit or keeps_whole:
            return None
        text = around.only_text_in(data)
        is_accepted = text and (not decoder.judges_texts or decoder.accepts_text(text))
        return (around.template, [text], data) if text and is_accepted else None

    def as_read(self, template: MessageTemplate, texts: list[str], raw: bytes) -> FrameItems:
        """Return the result of `read_texts` in the form that `read` returns."""
        run = TextRun(template.event, texts, template.known)
        return [run], Frame(b"", raw=raw) if self.parser.keeps_raw else None

    def _expect(self, around: AnySurroundings | None) -> None:
        """Note the surroundings of the next texts; call it when the parser is at a boundary."""
        decoder = self._frames.decoder
        self.next_around = None if self.has_ended else around
        is_tried = decoder is not None and not (decoder.judges_texts or self.unread)
        is_for_caller = is_tried and around is not None and not around.template.grows
        self.around = self.next_around if is_for_caller else None

    def _know(self, around: AnySurroundings | None) -> None:
        """Note the surroundings of the texts at the end of formed blocks; None if there are no texts."""
        self.around = self.next_around = around
        if around is not None:
            self._blocks.know(around)

    def _may_wait(self, data: bytes, around: AnySurroundings) -> bool:
        """Return whether `data` may be the beginning of the block of a text, kept until the next read."""
        return len(data) <= self._limit and may_begin_block(data, around, self.parser.framing)
