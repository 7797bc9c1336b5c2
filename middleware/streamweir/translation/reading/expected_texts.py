"""Reads that are one text like the last one: known by what stands around it, and not parsed again."""

from __future__ import annotations

from streamweir.codec.message_template import MessageTemplate
from streamweir.framing import SniffingParser
from streamweir.translation.reading.surroundings import Surroundings

__all__ = ["ExpectedTexts"]


class ExpectedTexts:
    """Learns what stands around the texts of one stream, where each is a read of its own."""

    def __init__(self) -> None:
        self._tried: MessageTemplate | None = None
        """The form whose texts have `_known` around them in their blocks, if anything."""
        self._known: Surroundings | None = None

    def may_follow(self, form: MessageTemplate) -> bool:
        """Is it worth while to look at another read of this form?"""
        return self._known is not None or form is not self._tried

    def after(self, form: MessageTemplate, data: bytes, parser: SniffingParser) -> Surroundings | None:
        """Return what the next read may have around its text; `data` was one text of this form."""
        if form is not self._tried:
            self._tried, frame = form, parser.whole_frame(data)
            is_text = frame is not None and form.text_of(frame) is not None
            self._known = Surroundings.of(form, frame, data) if frame is not None and is_text else None
        elif self._known is not None and not self._known.text_in(data) and parser.whole_frame(data):
            self._known = None  # an id counts
        return self._known if parser.is_between else None
