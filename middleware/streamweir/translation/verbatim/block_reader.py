"""One stream read block by block, where its frames are handed on as they came."""

from __future__ import annotations

from streamweir.framing import Frame
from streamweir.translation.items import SafeEvent, StreamItem, TextRun
from streamweir.translation.reader import StreamReader
from streamweir.translation.reading.marked_event import whole_event
from streamweir.translation.reading.surroundings import Surroundings

__all__ = ["BlockReader"]


class BlockReader:
    """Reads what holds the end of one frame at most, so that it is known which block each event is of.

    Args:
        reader: of the stream, which knows its dialect, framing and templates.
    """

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._text_frame: Frame | None = None
        """That of the text which was read last by itself."""

    def read(self, data: bytes) -> TextRun | list[StreamItem]:
        """Return what a piece of the body says that holds the end of one frame at most.

        A run is one text of the template that is in force. Raises what `StreamReader.feed` does.
        """
        parser, of_frames = self._reader.parser, self._reader.frames
        assert of_frames.decoder is not None
        frames = [*(parser.chosen or parser).feed(data)]
        template = of_frames.templates.current
        if template is not None and len(frames) == 1:
            text = template.text_of(frames[0])
            if text is not None and of_frames.decoder.accepts_text(text):
                self._text_frame = frames[0]
                return TextRun(template.event, [text])
        return [item for frame in frames for item in of_frames.read(frame)]

    def surroundings_in(self, block: bytes) -> Surroundings | None:
        """Return what stands around the text that was read last, whose block this is, for `read_texts`."""
        template, frame = self._reader.frames.templates.current, self._text_frame
        return None if template is None or frame is None else Surroundings.of(template, frame, block)

    def read_texts(self, data: bytes, around: Surroundings) -> list[str] | None:
        """Return what `data` says, if it is nothing but such blocks, and their template is the one in force.

        None for anything else, of which no note was taken.
        """
        of_frames = self._reader.frames
        decoder = of_frames.decoder
        if decoder is None or around.template is not of_frames.templates.current:
            return None
        if len(data) > self._reader.limits.event_bytes:
            return None
        texts = around.texts_in(data)
        if texts is None or (decoder.judges_texts and not all(map(decoder.accepts_text, texts))):
            return None
        return texts

    def read_marked(self, data: bytes) -> list[StreamItem] | None:
        """Return the marked event that `data` is, and what was held back before it; None if it is none."""
        event = whole_event(data)
        return None if event is None else [*self._reader.frames.release(), SafeEvent(event)]
