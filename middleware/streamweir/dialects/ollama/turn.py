"""Builds the message of one answer of `/api/chat`.

Source: ollama/ollama `docs/api.md` (tool calling, thinking); the conversation contract, section 4.
"""

from __future__ import annotations

from typing import Any

from streamweir.codec.text_pieces import TextPieces
from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.jsontext import write_json
from streamweir.raw_json import raw_array, raw_object, write_array, write_object

__all__ = ["OllamaTurn"]


class OllamaTurn(TurnCollector):
    """Collects the text, the thinking and the calls of one message."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._text, self._thought = TextPieces(), TextPieces()
        self._calls: list[bytes] = []
        self._call_ids: list[str] = []

    def _take(self, message: Any, data: bytes) -> None:
        fields = message.get("message")
        if isinstance(fields, dict):
            self._add_texts(fields)
            if fields.get("tool_calls"):
                self._add_calls(
                    fields["tool_calls"], raw_array(raw_object(raw_object(data)["message"]), "tool_calls")
                )
        if message.get("done") is True:
            self.is_complete = True

    def _add_texts(self, fields: dict[str, Any]) -> None:
        if isinstance(text := fields.get("content"), str) and text:
            self._content = self._text
            self._count(self._text.append(text))
        if isinstance(text := fields.get("thinking"), str) and text:
            self._thinking = self._thought
            self._count(self._thought.append(text))

    def _add_calls(self, calls: list[Any], raw: list[bytes]) -> None:
        self._calls += raw
        self._call_ids += [call["id"] for call in calls if isinstance(call.get("id"), str)]
        self._count(sum(map(len, raw)))

    def _turn(self) -> CollectedTurn | None:
        text, thought = self._text.text, self._thought.text
        if not (text or self._calls):
            return None
        fields = {"role": b'"assistant"', "content": write_json(text)}
        if thought:
            fields["thinking"] = write_json(thought)
        if self._calls:
            fields["tool_calls"] = write_array(self._calls)
        texts = (text,) if text else ()
        return CollectedTurn(write_object(fields), texts, tuple(self._call_ids), bool(self._calls), False)

    def _drop(self) -> None:
        self._text, self._thought, self._calls = TextPieces(), TextPieces(), []
