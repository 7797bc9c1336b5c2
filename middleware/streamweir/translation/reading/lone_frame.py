"""Finds the frame of a read that is one whole frame, as most reads of a slow stream are."""

from __future__ import annotations

from typing import Final

from streamweir.framing import Frame, NDJSONParser, SniffingParser, SSEParser
from streamweir.translation.reading.frame_reader import FrameReader

__all__ = ["lone_frame"]

_PARSERS: Final = (SSEParser, NDJSONParser)


def lone_frame(data: bytes, sniffing: SniffingParser, frames: FrameReader) -> Frame | None:
    """Return the frame of a read that is one block or one line.

    Args:
        data: the read.
        sniffing: the parser of the body, which need not be given the read any more.
        frames: reads the frames of the body.

    Returns:
        None for any other read, for a frame whose bytes are kept, for the first frames of a body, and for a
        block that may have a declared form. The state is then unchanged.
    """
    parser, forms = sniffing.chosen, frames.forms
    if not frames.is_under_way or not isinstance(parser, _PARSERS) or parser.keeps_raw:
        return None
    frame = parser.only_frame(data)
    if frame is None or forms is None or frames.decoder is None:
        return frame
    begins_answer = frames.templates.current is None and frames.decoder.plain_piece is not None
    return None if begins_answer or forms.pattern.match(data) else frame
