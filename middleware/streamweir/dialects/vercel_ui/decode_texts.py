"""Reads text and reasoning: parts that are begun, continued and ended by an id.

chunk                     parts that have begun   parts of the step
───────────────────────   ─────────────────────   ────────────────────────────────────────────
text-start, a piece       one more                one more, if it has text
text-end                  one less                as they are
start-step, finish-step   none                    none; a text without an end is complete
reset-step                none                    none; texts are withdrawn, reasoning is closed
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from streamweir.codec.coerce import and_extra, custom, leftover, meta_of, text_of
from streamweir.dialects.vercel_ui.shared_metadata import own_words
from streamweir.events import Content, Event, Thinking
from streamweir.ids import short_id
from streamweir.jsontext import write_json

__all__ = ["Texts"]

_PART: Final = 2048
"""The bytes that an open part takes."""
_LARGEST_EXTRA: Final = 512
"""The most bytes of other fields in the start of a part; more fields become a separate event."""

_KNOWN: Final = frozenset({"type", "id", "delta", "providerMetadata"})
_FORMATS: Final = ("markdown", "text", "html")
_STAGES: Final = ("reasoning", "planning", "analyzing")


class _Part(msgspec.Struct):
    """A part that has begun, kept as a piece with an empty text."""

    piece: Content | Thinking
    has_text: bool = False


class Texts:
    """The parts of one stream; the table at the top of this file lists their states. Servers may use an id
    again for another part.

    Attributes:
        room: the number of bytes, roughly, of open parts that may be kept; the oldest parts are forgotten.
    """

    def __init__(self) -> None:
        self.room = 2 << 20
        self._begun: OrderedDict[str, _Part] = OrderedDict()
        self._of_step: OrderedDict[str, Content | Thinking] = OrderedDict()
        """The parts of the current step that have text: for each part a piece with an empty text."""
        self._resets = 0
        self._closed: set[str] = set()
        """The ids of the current step's reasoning that a reset has closed; later they mean other parts."""

    def next_step(self) -> list[Event]:
        """Return the ends of the open texts, because a later step does not continue them."""
        parts = [part.piece for part in self._begun.values() if part.has_text]
        self._forget_step()
        self._closed.clear()
        return [msgspec.structs.replace(piece, is_complete=True) for piece in parts if _is_text(piece)]

    def withdraw_step(self) -> list[Event]:
        """Return the replacements that withdraw the texts of the current step; close its reasoning."""
        self._resets += 1
        texts = [piece for piece in self._of_step.values() if _is_text(piece)]
        self._closed.update(key for key, piece in self._of_step.items() if not _is_text(piece))
        self._forget_step()
        return [msgspec.structs.replace(piece, op="replace") for piece in texts]

    def _forget_step(self) -> None:
        self._begun.clear()
        self._of_step.clear()

    def read(self, message: Mapping[str, Any]) -> Iterable[Event]:
        """Return the events of a chunk about a part."""
        kind, _, word = str(message["type"]).partition("-")
        key = short_id(f"{kind}/{text_of(message.get('id'))}")
        match word:
            case "start":
                return self._beside(self._begin(message, kind, key), message)
            case "delta":
                return self._piece(message, kind, key)
            case "end":
                return self._end(key)
        return (custom(str(message["type"]), leftover(message, ("type",)) or {}),)

    def _begin(self, message: Mapping[str, Any], kind: str, key: str) -> _Part:
        message_id = short_id(text_of(message.get("id")))
        if key in self._closed:
            message_id = f"{message_id}_{self._resets + 1}"
        part = self._begun[key] = _Part(_piece_of(message, kind, message_id))
        self._bound(self._begun)
        return part

    def _bound(self, parts: OrderedDict[str, Any]) -> None:
        if len(parts) > max(1, self.room // _PART // 2):
            parts.popitem(last=False)

    def _beside(self, part: _Part, message: Mapping[str, Any]) -> Iterable[Event]:
        """Yield an event for the fields of a part's start that are too large to be kept for its pieces."""
        own = leftover(message, _KNOWN)
        if own is None or _is_small(own) or isinstance(part.piece, Thinking):
            return ()
        return (custom(str(message["type"]), own, part.piece.meta),)

    def _piece(self, message: Mapping[str, Any], kind: str, key: str) -> Iterable[Event]:
        text = text_of(message.get("delta"))
        part = self._begun.get(key) or self._begin(message, kind, key)
        own, piece = leftover(message, _KNOWN), part.piece.with_text(text)
        if not text and own is None:
            return ()
        if text and not part.has_text:
            part.has_text = True
            self._of_step[key] = part.piece
            self._bound(self._of_step)
        if own is None:
            return (piece,)
        return (msgspec.structs.replace(piece, meta=and_extra(piece.meta, own)),)

    def _end(self, key: str) -> Iterable[Event]:
        part = self._begun.pop(key, None)
        if part is None or not part.has_text or not isinstance(part.piece, Content):
            return ()
        return (msgspec.structs.replace(part.piece, is_complete=True),)


def _is_text(piece: Content | Thinking) -> bool:
    return isinstance(piece, Content)


def _piece_of(message: Mapping[str, Any], kind: str, message_id: str) -> Content | Thinking:
    """Return an empty piece of text; the id of its part is its message id."""
    own = own_words(message)
    if kind == "reasoning":
        stage: Any = own.get("stage")
        return Thinking("", stage if stage in _STAGES else None, meta=meta_of(message_id=message_id))
    form, extra = own.get("format"), leftover(message, _KNOWN)
    return Content(
        "",
        cast("Any", form) if form in _FORMATS else None,
        channel=short_id(text_of(own.get("channel"))) or None,
        meta=meta_of(message_id=message_id, extra=extra if _is_small(extra) else None),
    )


def _is_small(extra: Mapping[str, Any] | None) -> bool:
    return extra is not None and len(write_json(extra)) <= _LARGEST_EXTRA
