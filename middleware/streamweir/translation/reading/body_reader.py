"""Reads one body: bytes to frames, and frames to items."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Final

from streamweir.codec.message_template import MessageTemplate, TextFields
from streamweir.events import Payload
from streamweir.framing import Frame
from streamweir.translation.items import FrameItems, ReadFrame, TextRun, frame_of_run, raising
from streamweir.translation.reading.copied_blocks import read_copied
from streamweir.translation.reading.empty_frames import GAP_BYTES
from streamweir.translation.reading.expected_texts import ExpectedTexts
from streamweir.translation.reading.formed_blocks import (
    FormedBlocks,
    begin_with_usual,
    groups_from,
    has_form,
    read_formed,
)
from streamweir.translation.reading.text_blocks import AnySurroundings
from streamweir.translation.reading.thought_blocks import ThoughtReader, may_begin_thought

__all__ = ["BodyReader"]

_SEVERAL: Final = 4
"""A short read with as many texts is worth a search for them, also if it begins with another event."""
_SHORT: Final = 1024
"""A read shorter than this goes to the parser, which is then faster than a search for texts."""

_LONG: Final = 64 << 10
"""A longer read is read in pieces of this many bytes: some searches look at all bytes up to its end."""


class BodyReader(ExpectedTexts):
    """Reads the body of one stream: whole blocks of texts by their surroundings, all else by the parser.

    Args:
        frames: reads the frames, one by one.
        limit: the most bytes that an event may have.

    Attributes:
        usual: the text fields of the dialect, set before the first byte if the body may begin with its usual
            texts; None after the first read.
    """

    usual: TextFields | None = None
    _only_frame: Callable[[bytes], Frame | None] | None = None
    """Finds the frame of a read that is one frame; set once the stream is under way."""

    @cached_property
    def _thoughts(self) -> ThoughtReader:
        return ThoughtReader(self._frames)

    def read(self, data: bytes) -> Iterable[FrameItems]:
        """Return the frames that `data` completes, with their items. To be iterated before the next call.

        Raises:
            LimitExceeded: in the iteration: an event is larger than allowed, after all before it.
            NotTheDialect: in the iteration: the body is not of the dialect.
        """
        if len(data) > _LONG:
            return chain.from_iterable(map(self.read, _pieces_of(data)))
        if (self.usual or self._frames.forms) and (begun := self._read_formed(data)) is not None:
            return begun
        return self._read_further(data)

    def _read_further(self, data: bytes) -> Iterable[FrameItems]:
        """Read bytes that do not begin with blocks of declared forms."""
        decoder, is_tried = self._frames.decoder, self.around is not None
        before = b"" if self.next_around is None else self.next_around.before
        may_go_on = before and (self.unread or data.startswith(before) or data.count(before) >= _SEVERAL)
        is_short = len(data) < _SHORT and not (may_go_on or may_begin_thought(data, self._frames.templates))
        self.around = self.next_around = None
        data, self.unread = self.unread + data, b""
        if is_short or decoder is None or len(data) > self._limit:
            return self._read_frames(data)
        return self._read_blocks(data, is_tried=is_tried)

    def _read_formed(self, data: bytes) -> Iterable[FrameItems] | None:
        """Read the first blocks of a read if they are usual texts that begin the body, or have a declared
        form, and the rest like a later read; return None for any other read.
        """
        frames, parser, usual = self._frames, self.parser, self.usual
        self.usual = None
        if len(data) > self._limit:
            return None
        formed = None if usual is None else begin_with_usual(data, frames, usual, parser)
        if frames.forms is not None and not self.unread and parser.is_at_boundary:
            formed = (read_copied if parser.raw_in else read_formed)(data, frames, parser, formed)
        if formed is None:
            return None
        if formed.stop == len(data):
            self._know(formed.around)
            return formed.items
        return self._read_groups(data, formed)

    def _read_groups(self, data: bytes, formed: FormedBlocks) -> Iterator[FrameItems]:
        """Read blocks of declared forms group by group, of which `formed` is the first, and then the rest."""
        stop = 0
        for group in groups_from(formed, data, self._frames, self.parser):
            self._know(group.around)
            yield from group.items
            stop = group.stop
        if rest := data[stop:]:
            yield from self._read_further(rest)

    def _read_frames(self, data: bytes) -> Iterable[FrameItems]:
        """Read `data` by the parser, or at once if it is one whole frame."""
        parser = self.parser.chosen or self.parser
        is_at_boundary = parser.is_at_boundary
        found = parser.feed(data)
        if type(found) is not tuple or len(found) != 1 or self.has_ended:
            return self._parsed(data, found, is_at_boundary=is_at_boundary)
        read = self._read_alone(found[0], data, None)
        return [((read,), found[0])] if isinstance(read, Payload) else read

    def read_alone(self, data: bytes) -> ReadFrame | None:
        """Return what a read means that is the block or line of one frame whose bytes are not kept.

        Returns:
            The event, if the frame is one event other than a text; else what `read` returns. None for any
            other read, and if `read_texts` has to be tried; the state is then unchanged.
        """
        only_frame, around, forms = self._only_frame, self.around, self._frames.forms
        if only_frame is None and self._frames.is_under_way:
            self._only_frame = only_frame = self.parser.finder_of_only_frame
        if only_frame is None or (around is None and self.next_around is not None):
            return None
        if may_begin_thought(data, self._frames.templates):
            is_tried = around is not None or len(data) > self._limit
            return None if is_tried else self._thoughts.read_begin(data, self.parser, self.read)
        is_formed = forms is not None and len(data) <= forms.longest and has_form(data, self._frames, forms)
        if is_formed or (frame := only_frame(data)) is None:
            return None
        return self._read_alone(frame, data, around)

    def _read_alone(self, frame: Frame, data: bytes, around: AnySurroundings | None) -> ReadFrame:
        """Read a frame that takes up all of `data`; `around`: the surroundings that it does not have."""
        frames = self._frames
        decoder, template = frames.decoder, frames.templates.current
        try:
            text = None if template is None or around is not None else template.text_of(frame)
            if text and template and decoder and (not decoder.judges_texts or decoder.accepts_text(text)):
                read: ReadFrame = [self.as_read(template, [text], frame.raw or b"")]
                is_text = True
            else:
                read = frames.read_event(frame)
                is_text = frames.templates.is_text
        except Exception as error:
            self.around = self.next_around = None
            return raising(error)
        current = frames.templates.current
        if around is not None and current is template and not is_text:
            return read
        self.around = self.next_around = None
        if current is not None:
            self._note_boundary(current, template, data, frame if is_text else None)
        return read

    def _read_blocks(self, data: bytes, *, is_tried: bool) -> Iterator[FrameItems]:
        """Read texts by their surroundings, and the bytes between them by the parser.

        Args:
            data: one read.
            is_tried: the caller has tried whether all of `data` is texts.
        """
        templates, parser, blocks = self._frames.templates, self.parser, self._blocks
        begin, size = 0, len(data)
        tries_all = True
        while begin < size:
            template = templates.current
            around = None if self.has_ended else blocks.around(template)
            if around is None and templates.thoughts and (known := self._thoughts.template_for(parser)):
                run, stop = self._thoughts.read(known, data, begin, parser)
                if run is not None:
                    yield [run], None
                    begin = stop
                    continue
            elif around is None:
                stop = blocks.end_of_probe(template, data, begin, parser.framing)
            elif parser.is_at_boundary:
                tries_all = tries_all and not (is_tried and data.endswith(around.end))
                texts, stop = around.run_in(data, begin, tries_all=tries_all)
                tries_all = False
                if texts is not None:
                    begin = yield from self._judged(around, texts, data, begin, stop)
                    continue
                if not around.is_constant:
                    stop = size
                elif stop == begin:
                    if self._may_wait(data[begin:], around):
                        self.unread = data[begin:]
                        break
                    stop = size
            else:
                stop = data.find(around.end, begin) + len(around.end)
                stop = stop if stop >= len(around.end) else size
            yield from self._read_frames(data[begin:stop])
            begin = stop
        if parser.is_at_boundary:
            self._expect(blocks.around(templates.current))

    def finish(self) -> Iterator[FrameItems]:
        """Yield the frames that the end of the body completes. Raises: see `read`."""
        unread, self.unread = self.unread, b""
        if unread:
            yield from self._read_frames(unread)
        for frame in self.parser.finish():
            is_read = frame.raw is None or not (frame.is_gap or self.has_ended)
            yield from self._frames.read(frame) if is_read else self._unread_frame(frame)

    def _judged(
        self, around: AnySurroundings, texts: list[str], data: bytes, begin: int, stop: int
    ) -> Generator[FrameItems, None, int]:
        """Read texts up to the first one that the decoder rejects; decode that one. Return the position after
        them.

        Args:
            around: the surroundings of the texts.
            texts: in the order of their blocks.
            data: one read.
            begin: the beginning of the first block.
            stop: the end of the last one.
        """
        decoder = self._frames.decoder
        accepted = len(texts)
        if decoder is not None and decoder.judges_texts:
            accepted = decoder.accepts_texts(texts)
        is_rejected = accepted < len(texts)
        stop = around.end_of(accepted, data, begin) if is_rejected else stop
        if accepted:
            yield self.as_read(around.template, texts[:accepted], data[begin:stop])
        if not is_rejected:
            return stop
        end = around.end_of(1, data, stop)
        block = data[stop:end]
        yield from self._parsed(block, self.parser.feed(block), is_at_boundary=True, is_judged=True)
        return end

    def _parsed(
        self, data: bytes, found: Iterable[Frame], *, is_at_boundary: bool, is_judged: bool = False
    ) -> Iterator[FrameItems]:
        """Read bytes frame by frame. Consecutive texts of the current template become one run.

        If `data`, the bytes, is the block of one text, the surroundings of the text are learned from it.

        Args:
            found: the frames that the parser returned for them.
            is_at_boundary: the parser was at a boundary before them.
            is_judged: the decoder has rejected the text of the first frame, which is decoded.
        """
        frames = self._frames
        begun = frames.templates.current
        template = None if is_judged else begun
        decoder = frames.decoder
        assert decoder is not None
        accepts_text = decoder.accepts_text if decoder.judges_texts else None
        texts: list[str] = []
        raws: list[bytes] = []
        frame, is_text, whole = None, False, b""
        try:
            for frame in found:
                raw = frame.raw
                is_read = raw is None or not (frame.is_gap or self.has_ended)
                text = None if template is None or not is_read else template.text_of(frame)
                if text is not None and template is not None and (accepts_text is None or accepts_text(text)):
                    texts.append(text)
                    is_text, whole = True, template.known
                    if raw is not None:
                        raws.append(raw)
                    continue
                if texts and template is not None:
                    yield [TextRun(template.event, texts, whole)], frame_of_run(raws)
                    texts, raws = [], []
                read = frames.read_event(frame) if is_read else self._unread_frame(frame)
                if type(read) is not list:
                    frame.forget_value()
                    read = [((read,), frame)]  # type: ignore[list-item]
                yield from read
                template, is_text = frames.templates.current, is_read and frames.templates.is_text
                accepts_text = decoder.accepts_text if decoder.judges_texts else None
        except Exception:  # the texts before it count
            if texts and template is not None:
                yield [TextRun(template.event, texts, whole)], frame_of_run(raws)
            raise
        if texts and template is not None:
            yield [TextRun(template.event, texts, whole)], frame_of_run(raws)
        if frames.templates.current is not None:
            learned_from = frame if is_at_boundary and is_text else None
            self._note_boundary(frames.templates.current, begun, data, learned_from)

    def _note_boundary(
        self, current: MessageTemplate, begun: MessageTemplate | None, data: bytes, frame: Frame | None
    ) -> None:
        """Set `around`, if the parser is at a boundary; learn the surroundings first if the known ones did
        not fit.

        Args:
            current: the current template.
            begun: the template before `data` was parsed. If it equals `current`, `around` did not fit one of
                its texts.
            data: the bytes that were parsed.
            frame: the last frame in them, if it is a text that may be learned from; None: learn nothing.
        """
        known = self._blocks.around(current)
        is_unknown = known is None and (frame is None or self._blocks.is_given_up(current))
        if is_unknown or not self.parser.is_at_boundary:
            return
        decoder = self._frames.decoder
        may_miss = not (self.has_ended or decoder is None or decoder.judges_texts)
        if frame is not None and frame.data and (known is None or (current is begun and may_miss)):
            known = self._blocks.learn(current, data, frame, self.parser)
        if known is not None and not known.is_constant and frame is not None:
            known.note(frame.data)
        self._expect(known)

    def _unread_frame(self, frame: Frame) -> list[FrameItems]:
        """Return a frame that is not decoded: a gap, or a frame after the end.

        Raises:
            LimitExceeded: there were too many gaps.
        """
        if not self.has_ended:
            self._frames.count_empty(GAP_BYTES)
        if self._frames.held is not None:
            self._frames.hold(frame)
            return []
        return [((), frame)]


def _pieces_of(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _LONG] for at in range(0, len(data), _LONG))
