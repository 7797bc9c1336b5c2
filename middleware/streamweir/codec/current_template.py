"""Chooses the template for the texts of one stream: which messages begin a template, and which end it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from streamweir.classification.failure_signs import reports_failure
from streamweir.codec.growing_template import GrowingTemplate, is_whole_text
from streamweir.codec.message_template import CountingTemplate, MessageTemplate, Piece, TextFields, are_alike
from streamweir.codec.thought_template import ThoughtTemplates
from streamweir.events import Content, Error, Event, SessionEnd, Thinking
from streamweir.framing import Frame

__all__ = ["ENDS", "NO_FRAME", "TEXTS", "MessageTemplates"]

_KEPT: Final = 2
"""The number of templates that are kept, so that a stream of texts can continue after another event."""

_LONGEST_COMPARED: Final = 4 << 10
"""The longest message that is kept for comparison, in bytes: its events take several times as much memory."""

_LONGEST_USUAL: Final = 256 << 10
"""The longest message compared with the usual message, in bytes: the comparison reads the text twice."""

_MOST_GROWING: Final = 8
"""The most templates of whole texts that one stream learns."""

TEXTS: Final = frozenset({Content, Thinking})
"""The events that may have a template."""

ENDS: Final = frozenset({SessionEnd, Error})
"""The events after which no text of the stream follows."""

NO_FRAME: Final = Frame(b"")


class MessageTemplates:
    """The template of the texts of one stream.

    A template is in force from the moment at which texts follow each other. It ends when a message is
    decoded that does not fit the template, or that fits it and means another event. If the texts of the
    dialect are stateless, it stays in force behind a message that means one event other than a text, an end
    or an error.

    For messages that hold all of a text so far, the template of the first one is in force from the second one
    on (`GrowingTemplate`).

    Args:
        fields: the text fields of the dialect; None: every message is decoded.

    Attributes:
        current: the template in force; None if no template is in force.
        takes_whole: whole texts have templates, too; may be cleared before the first message.
        stays: the template stays in force behind a message that means one event other than a text or an end.
        is_text: the message that was noted last is a text, with the template in force if there is one.
        thoughts: the template of thoughts that are messages of their own; None if the dialect has none. May
            be set to None before the first message.
    """

    stays = False
    takes_whole = False
    _growing: GrowingTemplate | None = None
    """The template of the latest whole text, which may not be in force yet."""
    _growing_left = _MOST_GROWING
    _piece: Piece | None = None
    _frame: Frame | None = None
    """The frame of `_piece`."""
    _row = 0
    """The number of texts that directly precede the last text."""
    _known: tuple[MessageTemplate, ...] = ()

    def __init__(self, fields: TextFields | None) -> None:
        self._fields = fields
        self.current: MessageTemplate | None = None
        self.thoughts: ThoughtTemplates | None = None
        self.is_text = False
        if fields is not None:
            self.stays, self.takes_whole = fields.is_stateless, fields.grows
            if fields.ids:
                self.thoughts = ThoughtTemplates(fields)

    def note(self, frame: Frame, event: Event | None) -> None:
        """Note that `frame` was decoded to `event`; None: it was decoded to no event or to several."""
        fields = self._fields
        if fields is None:
            return
        if type(event) not in TEXTS:
            self.note_other(event)
            return
        if self.thoughts is not None:
            self.thoughts.note(frame, event)
        piece, last = _piece_of(event), self._piece
        self.is_text = piece is not None
        if piece is None:
            self.current = self._piece = None
            self._frame, self._row = None, 0
            if self.takes_whole and is_whole_text(cast("Piece", event)):
                self._note_whole(frame, cast("Piece", event), fields)
            return
        if self.current is None or not self.current.matches(piece, frame):
            self._row = 0 if last is None else self._row + 1
            may_be_usual = fields.known and len(frame.data) <= _LONGEST_USUAL
            self.current = _usual_template_of(frame, piece, fields) if may_be_usual else None
            if self.current is None and not self._row and fields.form is not None:
                self.current = _formed_template_of(frame, piece, fields)
            if self.current is None and (self._known or self._row >= fields.learned_after):
                self.current = self._template_of(frame, piece, fields)
        if type(self.current) is CountingTemplate:
            self.current.latest = frame.data  # comparing has set it to a message before this one
        is_large = len(frame.data) > _LONGEST_COMPARED
        self._piece, self._frame = (None, None) if is_large else (piece, frame)

    def note_all(self, frame: Frame, events: Sequence[Event]) -> None:
        """Note that `frame` was decoded to `events`; empty also if it could not be read to its end."""
        self.note(frame, events[0] if len(events) == 1 else None)
        if self.thoughts is not None and len(events) > 1:
            self.thoughts.note_begin(frame, events)

    def note_other(self, event: Event | None) -> None:
        """Note that a message was decoded to another event than a text, to no event, or to several."""
        self.is_text = False
        if self.thoughts is not None:
            self.thoughts.note(NO_FRAME, event)
        self._row = 0
        self._piece = self._frame = None
        if not self.stays or event is None or type(event) in ENDS:
            self.current = None

    def _note_whole(self, frame: Frame, event: Piece, fields: TextFields) -> None:
        """Note that a message was decoded to all of a text so far."""
        growing = self._growing
        if len(frame.data) > _LONGEST_USUAL:
            growing = None
        elif growing is not None and growing.renew(frame, event):
            self.current, self.is_text = growing, True
        elif self._growing_left:
            self._growing_left -= 1
            growing = GrowingTemplate.learn(frame, event, fields)
        self._growing = growing

    def _template_of(self, frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
        """Return a template that reads `frame` and an earlier message as the decoder did; else None."""
        last, before = self._piece, self._frame
        if last is None or before is None or not are_alike(last, piece):
            self._row = 0
            return None
        if last.content == piece.content or (piece.meta and reports_failure(piece.meta.get("extra"))):
            return None
        for template in self._known:
            if template.matches(piece, frame) and template.matches(last, before):
                return template
        learned = fields.template.learn(frame, piece, fields) if self._row >= fields.learned_after else None
        if learned is None or not learned.matches(last, before):
            return None
        self._known = (learned, *self._known[: _KEPT - 1])
        return learned


def _usual_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of the dialect's usual message, if `frame` is such a message."""
    if piece.meta is not None:
        return None
    for template in fields.known:
        if template.matches(piece, frame):
            return template
    return None


def _formed_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of a first text whose message has the form that the dialect declares."""
    if fields.form is None or (piece.meta and "extra" in piece.meta) or len(frame.data) > _LONGEST_COMPARED:
        return None
    holes = fields.form.holes_in(frame.data, piece.content)
    return None if holes is None else fields.template(piece, frame.event, frame.data, holes)


def _piece_of(event: Event | None) -> Piece | None:
    """Return `event` if it is only a piece of text, else None."""
    if type(event) is Content:
        has_more = event.whole or event.op or event.is_complete or event.opaque
        return event if event.content and not has_more else None
    if type(event) is not Thinking or event.opaque is not None:
        return None
    return event if event.content and event.whole is None else None
