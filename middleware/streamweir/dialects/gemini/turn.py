"""Builds the content of one generation, part by part.

Consecutive texts are one part, unless one of them has a signature: a signature stays in the part in which it
arrived. Source: the Gemini API (v1beta), thought signatures; the conversation contract, section 4.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from streamweir.codec.text_pieces import TextPieces
from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.jsontext import write_json
from streamweir.raw_json import raw_array, raw_items, raw_object, write_array

__all__ = ["GeminiTurn"]

_PLAIN: Final = frozenset({"text", "thought"})
"""The fields of a part that is only a piece of text."""

_SIGNATURES: Final = ("thoughtSignature", "thought_signature")
_CALLS: Final = ("functionCall", "function_call")
_FINISHES: Final = ("finishReason", "finish_reason")
_UNFINISHED: Final = ("partialArgs", "partial_args", "willContinue", "will_continue")


class _Text:
    """A text that arrives in pieces."""

    def __init__(self, *, is_thought: bool) -> None:
        self.is_thought = is_thought
        self.pieces = TextPieces()

    def written(self) -> bytes:
        """Return the part as JSON."""
        mark = b',"thought":true' if self.is_thought else b""
        return b'{"text":' + write_json(self.pieces.text) + mark + b"}"

    @property
    def shown_text(self) -> str:
        """The text as clients get it."""
        return "" if self.is_thought else self.pieces.text


class _Whole(NamedTuple):
    """A part that arrived whole: its JSON, and the text of it that clients get."""

    data: bytes
    shown_text: str

    def written(self) -> bytes:
        """Return the part as JSON."""
        return self.data


class GeminiTurn(TurnCollector):
    """Collects the parts of the first candidate."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._parts: list[_Text | _Whole] = []
        self._call_ids: list[str] = []
        self._has_call = False
        self._has_opaque = False

    def _take(self, message: Any, data: bytes) -> None:
        if isinstance(message, list):
            for response, raw in zip(message, raw_items(data), strict=True):
                self._response(response, raw)
        else:
            self._response(message, data)

    def _response(self, response: Any, data: bytes) -> None:
        candidates = response.get("candidates") if isinstance(response, dict) else None
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if candidate.get("index") in (None, 0):
                self._candidate(candidate, data, place)
                return

    def _candidate(self, candidate: dict[str, Any], data: bytes, place: int) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        parts = parts if isinstance(parts, list) else []
        if all(part.keys() <= _PLAIN for part in parts):
            for part in parts:
                self._plain(part)
        else:
            fields = raw_object(raw_array(raw_object(data), "candidates")[place])
            for part, raw in zip(parts, raw_array(raw_object(fields["content"]), "parts"), strict=True):
                self._part(part, raw)
        if any(candidate.get(name) for name in _FINISHES):
            self.is_complete = True

    def _part(self, part: dict[str, Any], raw: bytes) -> None:
        if part.keys() <= _PLAIN:
            self._plain(part)
            return
        text = part.get("text") if part.get("thought") is not True else None
        self._parts.append(_Whole(raw, text if isinstance(text, str) else ""))
        self._count(len(raw))
        self._content = self._thinking = None
        self._has_opaque = self._has_opaque or any(part.get(name) for name in _SIGNATURES)
        call = next((part[name] for name in _CALLS if isinstance(part.get(name), dict)), None)
        if call is not None:
            self._has_call = True
            if isinstance(call_id := call.get("id"), str) and call_id:
                self._call_ids.append(call_id)
            if any(call.get(name) for name in _UNFINISHED):
                self._give_up()

    def _plain(self, part: dict[str, Any]) -> None:
        """Add a piece of text to the text before it, or begin a text."""
        text, is_thought = part.get("text"), part.get("thought") is True
        if not isinstance(text, str) or not text:
            return
        last = self._parts[-1] if self._parts else None
        if not isinstance(last, _Text) or last.is_thought != is_thought:
            last = _Text(is_thought=is_thought)
            self._parts.append(last)
        self._count(last.pieces.append(text))
        self._content = None if is_thought else last.pieces
        self._thinking = last.pieces if is_thought else None

    def _turn(self) -> CollectedTurn | None:
        if not self._parts:
            return None
        return CollectedTurn(
            b'{"role":"model","parts":' + write_array(part.written() for part in self._parts) + b"}",
            tuple(text for part in self._parts if (text := part.shown_text)),
            tuple(self._call_ids),
            self._has_call,
            self._has_opaque,
        )

    def _drop(self) -> None:
        self._parts = []
