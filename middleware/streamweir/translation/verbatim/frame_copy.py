"""Frames as they came, for a client of the very dialect that its upstream speaks.

What arrives is cut where frames end. A frame is read like any other, its events go their way, and then the
frame itself goes out as it is; of a failure, with the texts that may leave. Text upon text is handed on as a
whole read.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast, get_args

from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.errors import ErrorInfo, NotTheDialect
from streamweir.events import Error, Event, SessionEnd, SessionStart
from streamweir.framing import Block, BlockCutter, LineFraming, payload_of
from streamweir.framing.blank import BLANK
from streamweir.jsontext import valid_utf8
from streamweir.translation.items import StreamItem, TextRun
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.reading.marked_event import MARKED_STARTS
from streamweir.translation.reading.surroundings import Surroundings
from streamweir.translation.verbatim.block_reader import BlockReader
from streamweir.translation.verbatim.safe_frame import FrameSanitizer
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["FrameCopy"]

_PROBE: Final = 192
_PROBES: Final = 24
"""In so many pieces of this size a large read is taken, until texts are known by what surrounds them."""

_LONGEST_UNREAD: Final = 4 << 10
"""More than this of a block is read as it comes, so that its limit holds."""

_LONGEST_HEAD: Final = 64 << 10
"""A body that begins with more blanks than this is written anew."""

_DONE: Final = b"[DONE]"
_JSON_STARTS: Final = (b"{", b"[", b"data:")


class FrameCopy:
    """Reads one stream and hands on its frames, where its client reads what the upstream writes.

    Args:
        reader: of the stream.
        pipeline: of the stream.
        writer: of the client.
    """

    def __init__(self, reader: StreamReader, pipeline: Pipeline, writer: VerbatimWriter) -> None:
        self._reader = reader
        self._blocks = BlockReader(reader)
        self._pipeline = pipeline
        self._writer = writer
        self._position = pipeline.position
        self._probes = _PROBES
        self._sanitizer = FrameSanitizer()
        self._around: Surroundings | None = None
        self._is_settled = False
        """Whether frames are copied is known."""
        self._head = b""
        """What came before that was."""
        self._cutter = BlockCutter("sse")
        self._is_between = False
        """The last block is whole, and more may follow it."""
        self._is_blank = True
        self._unread = b""
        """What has come of a block that begins like a text, to be read with its end."""
        self._held_back = 0
        """How many events are in the frame that waits."""
        self._waiting = b""
        """Frames of a body that may turn out to be nothing but a failure, or a document."""
        self._malformed = 0
        """How many frames that could not be read have been left out."""
        self._end: list[StreamItem] = []
        """The last events, once they have been read and their frames have gone out."""

    # What comes

    def feed(self, data: bytes) -> None:
        """Take what has arrived."""
        reader = self._reader
        if reader.frames.takes_marked and data.startswith(MARKED_STARTS) and self._takes_marked(data):
            return
        if self._unread:
            data, self._unread = self._unread + data, b""
        around = self._around
        if around is None:
            if self._probes and len(data) > _PROBE:
                self._probes -= 1
                self._read(data[:_PROBE])
                self.feed(data[_PROBE:])
            else:
                self._read(data)
            return
        if self._is_between:
            if self._take_texts(data, around):
                return
            if data.endswith(around.end):
                self._read(data)
                return
        self._take_cut(data, around)

    def _take_texts(self, blocks: bytes, around: Surroundings) -> bool:
        """Take blocks that are texts, all of them; False, and nothing taken, for any others."""
        texts = self._blocks.read_texts(blocks, around)
        if texts is None:
            return False
        if self._pipeline.push_more(around.template.event, texts):
            self._writer.copy(blocks)
        else:
            self._take_run(TextRun(around.template.event, texts), blocks)
        return True

    def _take_cut(self, data: bytes, around: Surroundings) -> None:
        """Take what begins or ends within a block; what may be the beginning of a text waits for its end."""
        end = around.end
        if not self._is_between and (first := data.find(end)) >= 0:
            self._read(data[: first + len(end)])
            data = data[first + len(end) :]
        if not self._is_between or self._position.ended:
            self._read(data)
            return
        if (stop := data.rfind(end) + len(end)) >= len(end):
            blocks, data = data[:stop], data[stop:]
            if not self._take_texts(blocks, around):
                self._read(blocks)
        if len(data) <= _LONGEST_UNREAD and data[: len(around.before)] == around.before[: len(data)]:
            self._unread = data
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        if not data or self._position.ended:
            return
        try:
            if self._is_settled or self._settle(data):
                self._take(data)
        except Exception as error:
            self._fail_for(error)

    def close(self, failure: ErrorInfo | None = None) -> None:
        """Take the end of the body; `failure` is why it broke off, if it did."""
        unread, self._unread = self._unread, b""
        if unread:
            self._read(unread)
        try:
            if self._position.ended:
                return
            if self._end:
                self._take_last_behind_end()
                return
            if not self._is_settled:
                self._read_plainly(self._head)
            if not self._writer.copies:
                self._pipeline.take(self._reader.close())
            else:
                self._take_last()
        except NotTheDialect as error:
            self.give_over()
            if failure is not None:
                self._pipeline.end(failure)
            else:
                self._pipeline.end_for(error)
        except Exception as error:
            self._fail_for(error)

    @property
    def has_ended(self) -> bool:
        """Final evidence has gone out, and the end of the stream waits for that of the body."""
        return bool(self._end)

    def settle(self) -> None:
        """The body is over, or is not to be read on: end the stream the way that its last frame said."""
        end, self._end = self._end, []
        self._pipeline.take(end)

    def conclude(self, events: Iterable[Event]) -> None:
        """Take what the dialect says behind the last frame: errors are ours to write, all else was there."""
        writer = self._writer
        for event in events:
            if writer.copies and not isinstance(event, Error):
                writer.part = "theirs" if self._reader.complete else "end"
            self._pipeline.take((event,))
            self.give_over()

    def give_over(self) -> None:
        """From here on what the client gets is ours to write."""
        self._writer.part = "ours"

    # Whether frames are copied

    def _settle(self, data: bytes) -> bool:
        """Find out what is read, and whether the client reads it too; True once that is known."""
        reader = self._reader
        self._head += reader.detect(data)
        if reader.dialect is None:
            return False
        framing = reader.parser.decide(self._head)
        text = self._head.lstrip(BLANK)
        if framing is None and len(self._head) <= _LONGEST_HEAD and not text.startswith(b"<"):
            return False
        self._is_settled = True
        head, self._head = self._head, b""
        lines = cast("LineFraming", framing) if framing in get_args(LineFraming) else None
        if lines == "ndjson" and not text.startswith(_JSON_STARTS):  # what it is framed as is a guess
            lines = None
        if lines is not None and self._writer.begin_copies(reader.dialect, lines):
            self._cutter = BlockCutter(lines)
            self._take(head)
        else:
            self._read_plainly(head)
        return False

    def _read_plainly(self, data: bytes) -> None:
        self._is_settled, self._head = True, b""
        self._pipeline.take(self._reader.feed(data))

    # Frames

    def _take(self, data: bytes) -> None:
        if not self._writer.copies:
            self._pipeline.take(self._reader.feed(data))
            return
        run: TextRun | None = None
        raws: list[bytes] = []
        try:
            for block in self._cutter.cut(data):
                if self._pipeline.ended:
                    break
                if self._end:
                    self._take_behind_end(block)
                    continue
                read = self._blocks.read(self._significant(block.new))
                if isinstance(read, TextRun):
                    if run is not None and run.event is read.event:
                        run.texts.extend(read.texts)
                    else:
                        self._take_run(run, b"".join(raws))
                        run, raws = read, []
                    raws.append(valid_utf8(block.raw))
                    self._around = self._blocks.surroundings_in(block.raw)
                    continue
                self._take_run(run, b"".join(raws))
                run, raws = None, []
                self._take_items(block, read)
        finally:
            self._take_run(run, b"".join(raws))
            self._is_between = self._cutter.is_between and not self._end

    def _significant(self, new: bytes) -> bytes:
        """Return what of a piece is not in front of the body."""
        if self._is_blank:
            new = new.lstrip(BLANK)
            self._is_blank = not new
        return new

    def _take_run(self, run: TextRun | None, raw: bytes) -> None:
        if run is not None:
            if self._pipeline.waiting:
                self._write_waiting()
            self._pipeline.take((run,))
            self._writer.copy(raw)

    def _take_items(self, block: Block, items: list[StreamItem]) -> None:
        reader = self._reader
        if not block.is_whole and not items:
            return
        held_back = reader.frames.held_back
        if held_back is not None or reader.is_document:
            self._waiting += block.raw
            self._held_back = held_back or 0
            return
        raw, items = block.raw, self._take_waiting(items)
        if self._end:
            self._take_behind_end(block)
        elif reader.frames.takes_marked and TOKEN_PREFIX in raw:
            self._take_ours(items)
        elif reader.malformed > self._malformed:
            self._malformed = reader.malformed
            self._take_unsent(items)
        else:
            self._take_frame(raw, items)

    def _take_waiting(self, items: list[StreamItem]) -> list[StreamItem]:
        """Take the frame that something has followed, if one waits; return the items that are not of it."""
        if not self._waiting:
            return items
        waiting, self._waiting = self._waiting, b""
        self._take_frame(waiting, items[: self._held_back])
        return items[self._held_back :]

    def _take_frame(self, raw: bytes, items: Sequence[StreamItem], *, is_ended: bool = True) -> None:
        """Let the events of a frame go their way, and then the frame itself."""
        pipeline, writer = self._pipeline, self._writer
        if not writer.follows_frames and payload_of(raw, self._cutter.framing).strip():
            writer.follow(raw)
        if pipeline.started:
            self._write_waiting()
        safe = self._sanitizer.process(valid_utf8(raw), items, self._cutter.framing)
        ends = next((place for place, item in enumerate(items) if _is_end(item)), None)
        begins = items[:1] if items and isinstance(items[0], SessionStart) else ()
        writer.announced = () if pipeline.started else [*pipeline.waiting]
        if begins:
            writer.copy(safe, is_ended=is_ended)
        if ends is not None and pipeline.waiting and not pipeline.started and not begins:
            pipeline.take((SessionStart(),))
        pipeline.take(items if ends is None else items[:ends])
        writer.announced = ()
        if not begins:
            writer.copy(safe, is_ended=is_ended)
        if ends is not None and not pipeline.ended:
            self._end = [*items[ends:]]
            self._reader.has_ended = True

    def _take_ours(self, items: Iterable[StreamItem]) -> None:
        """Let events go their way that this process has put into the stream: they are written."""
        writer = self._writer
        writer.part = "ours"
        self._pipeline.take(items)
        writer.part = "theirs"

    def _take_unsent(self, items: Iterable[StreamItem]) -> None:
        """Let go what was read of a frame that is left out: it could not be read, or not to its end."""
        for item in items:
            if isinstance(item, Error):  # one too many
                self._writer.part = "ours"
            self._pipeline.take((item,))

    def _takes_marked(self, data: bytes) -> bool:
        """Take an event that this process has put into the stream, if `data` is one and nothing else."""
        items = self._blocks.read_marked(data)
        if items is None:
            return False
        self._take_ours(items)
        return True

    def _take_last(self) -> None:
        """Take the last frame, which has no end; half a frame is not sent."""
        rest, is_document = self._cutter.rest, self._reader.is_document
        items = [*self._reader.close()]
        is_failure = any(isinstance(item, Error) for item in items) and not self._reader.started
        if is_document:
            rest, self._waiting = self._waiting + rest, b""
        elif not is_failure:
            items = self._take_waiting(items)
        if self._end:
            self._take_last_behind_end()
        elif not rest or is_failure:
            self._take_ours(items)
        elif self._reader.cut_off or not self._is_frame(rest, items):
            self._take_unsent(items)
        else:
            self._take_frame(rest, items, is_ended=False)

    def _is_frame(self, rest: bytes, items: Iterable[StreamItem]) -> bool:
        """Is a block without its end more than the head of one? A name alone may be an end."""
        payload = payload_of(rest, self._cutter.framing)
        return bool(payload.strip()) or not rest.strip() or any(map(_is_end, items))

    def _take_behind_end(self, block: Block) -> None:
        """Behind final evidence only what says nothing goes out; anything else ends the stream."""
        if not block.is_whole:
            return
        if payload_of(block.raw, self._cutter.framing).strip() in (b"", _DONE):
            self._writer.copy(block.raw)
        else:
            self.settle()

    def _take_last_behind_end(self) -> None:
        """Take what has no line end behind final evidence: the word for the end, if it is whole."""
        rest = self._cutter.rest
        if payload_of(rest, self._cutter.framing).strip() == _DONE:
            self._writer.copy(rest, is_ended=False)

    def _write_waiting(self) -> None:
        if self._pipeline.waiting and self._pipeline.started:
            self._writer.part = "ours"
            self._pipeline.write_waiting()
            self._writer.part = "theirs"

    def _fail_for(self, error: Exception) -> None:
        self.give_over()
        self._pipeline.end_for(error)


def _is_end(item: StreamItem) -> bool:
    return isinstance(item, SessionEnd) or (isinstance(item, Error) and item.terminal)
