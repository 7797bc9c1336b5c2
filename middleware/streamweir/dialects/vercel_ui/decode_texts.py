"""Text and reasoning: parts that are begun, continued and ended by an id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import custom, leftover, meta_of, text_of
from streamweir.dialects.vercel_ui.shared_metadata import own_words
from streamweir.events import Content, Event, Thinking

__all__ = ["Texts"]

MAX_KEPT: Final = 1000
"""So many parts are known by what their start said of them."""

_KNOWN: Final = frozenset({"type", "id", "delta", "providerMetadata"})
_FORMATS: Final = ("markdown", "text", "html")
_STAGES: Final = ("reasoning", "planning", "analyzing")


class _Part(msgspec.Struct):
    """A part that has begun: a piece of it without its text."""

    piece: Content | Thinking
    has_text: bool = False


class Texts:
    """The parts of one stream. Servers use an id again for another part."""

    def __init__(self) -> None:
        self._begun: OrderedDict[str, _Part] = OrderedDict()

    def next_step(self) -> None:
        """Parts of earlier steps are not gone on with."""
        self._begun.clear()

    def read(self, message: Mapping[str, Any]) -> Iterable[Event]:
        """Return what a chunk of a part means."""
        kind, _, word = str(message["type"]).partition("-")
        key = f"{kind}/{text_of(message.get('id'))}"
        match word:
            case "start":
                self._begin(message, kind, key)
                return ()
            case "delta":
                return self._piece(message, kind, key)
            case "end":
                return self._end(key)
        return (custom(str(message["type"]), leftover(message, ("type",)) or {}),)

    def _begin(self, message: Mapping[str, Any], kind: str, key: str) -> _Part:
        part = self._begun[key] = _Part(_piece_of(message, kind))
        if len(self._begun) > MAX_KEPT:
            self._begun.popitem(last=False)
        return part

    def _piece(self, message: Mapping[str, Any], kind: str, key: str) -> Iterable[Event]:
        text = text_of(message.get("delta"))
        part = self._begun.get(key) or self._begin(message, kind, key)
        if not text:
            return ()
        part.has_text = True
        own, piece = leftover(message, _KNOWN), part.piece.with_text(text)
        if own is None:
            return (piece,)
        return (msgspec.structs.replace(piece, meta={**(piece.meta or {}), "extra": own}),)

    def _end(self, key: str) -> Iterable[Event]:
        part = self._begun.pop(key, None)
        if part is None or not part.has_text or not isinstance(part.piece, Content):
            return ()
        return (msgspec.structs.replace(part.piece, is_complete=True),)


def _piece_of(message: Mapping[str, Any], kind: str) -> Content | Thinking:
    """A piece without its text; the id of a part is that of a message."""
    message_id, own = text_of(message.get("id")), own_words(message)
    if kind == "reasoning":
        stage: Any = own.get("stage")
        return Thinking("", stage if stage in _STAGES else None, meta=meta_of(message_id=message_id))
    form: Any = own.get("format")
    return Content(
        "",
        form if form in _FORMATS else None,
        channel=text_of(own.get("channel")) or None,
        meta=meta_of(message_id=message_id, extra=leftover(message, _KNOWN)),
    )
