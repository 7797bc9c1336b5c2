"""Reads content that is a list of parts: its texts and thoughts in their order.

Source: the Chat Completions API; Mistral's `ThinkChunk`, whose `thinking` is again a list of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from streamweir.codec.coerce import text_of

__all__ = ["ContentPiece", "content_pieces"]

Kind = Literal["text", "thinking", "other"]

_THINKING: Final = ("thinking", "reasoning")
_TEXTS: Final = ("text", "refusal", "content")


class ContentPiece(NamedTuple):
    """A text, a thought, or a part of another kind.

    Attributes:
        kind: the kind of the piece.
        text: the text of a text or a thought; not empty.
        part: a part of another kind, as the server wrote it.
    """

    kind: Kind
    text: str
    part: Any = None


def content_pieces(value: Any, *, joined: bool = False) -> Iterator[ContentPiece]:
    """Yield the pieces of a content, which may also be one text.

    Args:
        value: a text, a list of parts, or one part.
        joined: whether to join all thoughts to one piece and all texts to one piece, for the content of a
            whole message.
    """
    pieces = _pieces(value)
    if not joined:
        yield from pieces
        return
    found = [*pieces]
    kinds: tuple[Kind, ...] = ("thinking", "text")
    for kind in kinds:
        if text := "".join(piece.text for piece in found if piece.kind == kind):
            yield ContentPiece(kind, text)
    yield from (piece for piece in found if piece.kind == "other")


def _pieces(value: Any) -> Iterator[ContentPiece]:
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            if text := text_of(part):
                yield ContentPiece("text", text)
        else:
            yield from _piece_of(part)


def _piece_of(part: dict[str, Any]) -> Iterator[ContentPiece]:
    kind = part.get("type")
    for name in _THINKING:
        if kind == name or (kind is None and name in part):
            if text := "".join(piece.text for piece in _pieces(part.get(name, part.get("text")))):
                yield ContentPiece("thinking", text)
            return
    found = next((part[name] for name in _TEXTS if name in part), None)
    if isinstance(found, str | int | float) or (found is None and len(part) <= 1):
        if text := text_of(found):
            yield ContentPiece("text", text)
        return
    yield ContentPiece("other", "", part)
