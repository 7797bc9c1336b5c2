"""Finds what a whole text adds to the text that was sent, so that the texts after it extend one run."""

from __future__ import annotations

from collections.abc import Iterable

from streamweir.events import Content, Event, Thinking
from streamweir.stages import TextDeduplication
from streamweir.translation.items import TextRun

__all__ = ["piece_of"]


def piece_of(
    run: TextRun, event: Content | Thinking, events: Iterable[Event], texts: TextDeduplication | None
) -> tuple[TextRun | None, Event]:
    """Return the run of the new part of a whole text, and the new part.

    Args:
        run: the run of the whole text.
        event: the whole text.
        events: the events that the deduplication has put in its place; not used up.
        texts: the stage of deduplication; None: every whole text has to be compared.

    Returns:
        None and `event` if the next whole text has to be compared, too.
    """
    piece = events[0] if isinstance(events, tuple) and len(events) == 1 else None
    if texts is None or type(piece) is not type(event) or not isinstance(piece, Content | Thinking):
        return None, event
    if piece.with_text(piece.content) != piece or not texts.continues(event):
        return None, event
    return TextRun(run.event, [piece.content]), piece
