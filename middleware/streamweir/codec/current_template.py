"""The template of the texts of one stream: which messages show it, and which end it."""

from __future__ import annotations

from typing import Final

from streamweir.classification.failure_signs import reports_failure
from streamweir.codec.message_template import CountingTemplate, MessageTemplate, Piece, TextFields, are_alike
from streamweir.events import Content, Event, Thinking
from streamweir.framing import Frame

__all__ = ["MessageTemplates"]

_KEPT: Final = 2
"""The number of templates of a stream that are kept for when texts go on after another event."""

_LONGEST_COMPARED: Final = 4 << 10
"""Bytes of the longest message that is kept for comparison: its events take many times its bytes."""

_LONGEST_USUAL: Final = 256 << 10
"""Bytes of the longest message that is compared with the usual one, which reads its text once more."""

_TEXTS: Final = frozenset({Content, Thinking})

_NO_FRAME: Final = Frame(b"")


class MessageTemplates:
    """The template of the texts of one stream.

    It is in force from where texts follow each other until a message that does not fit it is decoded, or
    one that does and that means another event.

    Args:
        fields: of the dialect; None: every message is decoded.

    Attributes:
        current: the one in force, None if there is none.
    """

    __slots__ = ("_fields", "_frame", "_known", "_piece", "_row", "current")

    def __init__(self, fields: TextFields | None) -> None:
        self._fields = fields
        self._piece: Piece | None = None
        self._frame = _NO_FRAME
        self._row = 0
        """The number of texts in a row right before the last one."""
        self._known: tuple[MessageTemplate, ...] = ()
        self.current: MessageTemplate | None = None

    @property
    def latest(self) -> bytes:
        """The data of the latest message with the current template; empty unless its messages count."""
        return self.current.latest if type(self.current) is CountingTemplate else b""

    def note(self, frame: Frame, event: Event | None) -> None:
        """Note that `frame` was decoded to `event`; None if it gave no event or several."""
        if self._fields is None:
            return
        piece, last = (_piece_of(event) if type(event) in _TEXTS else None), self._piece
        if piece is None:
            self.current = None
            self._row = 0
        elif self.current is None or not self.current.matches(piece, frame):
            self._row = 0 if last is None else self._row + 1
            may_be_usual = self._fields.known and len(frame.data) <= _LONGEST_USUAL
            self.current = _usual_template_of(frame, piece, self._fields) if may_be_usual else None
            if self.current is None and not self._row and self._fields.form is not None:
                self.current = _formed_template_of(frame, piece, self._fields)
            if self.current is None and (self._known or self._row >= self._fields.learned_after):
                self.current = self._template_of(frame, piece, self._fields)
        if type(self.current) is CountingTemplate:
            self.current.latest = frame.data  # comparing has set it to a message before this one
        is_large = len(frame.data) > _LONGEST_COMPARED
        self._piece, self._frame = (None, _NO_FRAME) if is_large else (piece, frame)

    def _template_of(self, frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
        """Return a template that gives for two messages with different texts the events of the decoder."""
        last = self._piece
        if last is None or not are_alike(last, piece):
            self._row = 0
            return None
        if last.content == piece.content or (piece.meta and reports_failure(piece.meta.get("extra"))):
            return None
        for template in self._known:
            if template.matches(piece, frame) and template.matches(last, self._frame):
                return template
        learned = fields.template.learn(frame, piece, fields) if self._row >= fields.learned_after else None
        if learned is None or not learned.matches(last, self._frame):
            return None
        self._known = (learned, *self._known[: _KEPT - 1])
        return learned


def _usual_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of the usual message of the dialect, if `frame` is one."""
    if piece.meta is not None:
        return None
    for template in fields.known:
        if template.matches(piece, frame):
            return template
    return None


def _formed_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of a first text that has the form of the dialect."""
    if fields.form is None or (piece.meta and "extra" in piece.meta) or len(frame.data) > _LONGEST_COMPARED:
        return None
    return fields.form.template_of(frame, piece, fields)


def _piece_of(event: Event | None) -> Piece | None:
    """Return `event`, if it is nothing but a piece of text."""
    if type(event) is Content:
        has_more = event.whole or event.op or event.is_complete or event.opaque
        return event if event.content and not has_more else None
    if type(event) is not Thinking or event.opaque is not None:
        return None
    return event if event.content and event.whole is None else None
