"""Bounds the cost of redaction for one stream by a number of different texts."""

from __future__ import annotations

from typing import Final

from streamweir.lazy_pattern import LazyPattern
from streamweir.redaction.redact import redact, redact_id, redact_value

__all__ = ["RedactionBudget"]

_MAX_TEXTS: Final = 100
_MAX_IDS: Final = 300
_TEXTS_OF_A_VALUE: Final = 5
_REMEMBERED_LENGTH: Final = 128
_PLAIN_ID: Final = LazyPattern(
    # texts in which no rule can match: a word, a number, a UUID
    r"[A-Za-z]{1,16}|\d{1,18}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


class RedactionBudget:
    """Redacts the texts of one stream, up to a number of different texts. A repeated text is not counted."""

    def __init__(self, *, texts: int = _MAX_TEXTS, ids: int = _MAX_IDS) -> None:
        self._texts = texts
        self._ids = ids
        self._known_texts: dict[str, str] = {}
        self._known_ids: dict[str, str] = {}

    def text(self, text: str) -> str | None:
        """Redact `text`; return None if the budget is used up."""
        known = self._known_texts.get(text)
        if known is not None:
            return known
        if self._texts <= 0:
            return None
        self._texts -= 1
        clean = redact(text)
        if len(text) <= _REMEMBERED_LENGTH:
            self._known_texts[text] = clean
        return clean

    def id(self, text: str) -> str | None:
        """Redact an id, a name or a code; return None if the budget is used up."""
        if _PLAIN_ID.fullmatch(text):
            return text
        known = self._known_ids.get(text)
        if known is not None:
            return known
        if self._ids <= 0:
            return None
        self._ids -= 1
        clean = redact_id(text)
        if len(text) <= _REMEMBERED_LENGTH:
            self._known_ids[text] = clean
        return clean

    def value(self, value: object, *, limit: int) -> object:
        """Return a copy of a JSON value with its texts redacted; None if the budget is used up."""
        if self._texts <= 0:
            return None
        self._texts -= _TEXTS_OF_A_VALUE
        return redact_value(value, limit=limit)
