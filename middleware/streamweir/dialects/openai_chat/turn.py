"""Builds the message of one chat completion, as many servers stream it.

Reasoning keeps the name of its field (`reasoning_content`, `reasoning`), even if it is empty; the entries of
`reasoning_details` are merged. A call keeps `extra_content`.

Source: the Chat Completions API; DeepSeek (thinking mode), OpenRouter (reasoning tokens), Google (thought
signatures with the OpenAI library); the conversation contract, sections 1 and 4.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.families.reasoning_details import ReasoningDetails
from streamweir.codec.text_pieces import TextPieces
from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.ids import short_index
from streamweir.jsontext import write_json
from streamweir.raw_json import NULL, raw_array, raw_object, write_array, write_object
from streamweir.requests.merged_details import MergedDetails

__all__ = ["OpenAIChatTurn"]

_REASONING: Final = ("reasoning_content", "reasoning")
_TEXTS: Final = ("content", "refusal", *_REASONING)
_KEPT: Final = frozenset({*_TEXTS, "role", "reasoning_details", "tool_calls", "name"})
"""The fields of a whole message that a request may have, too."""

_UNKEPT: Final = ("function_call", "audio")
"""The parts of a message that have no place in a turn."""


class OpenAIChatTurn(TurnCollector):
    """Collects the first choice of one answer."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._texts: dict[str, TextPieces] = {}
        """The texts of the message by their field, in the order in which the fields arrive."""
        self._details = MergedDetails()
        self._detail_texts = ReasoningDetails()
        self._calls: list[_Call] = []
        self._by_index: dict[str | int | float | None, _Call] = {}
        """The last call with each index."""
        self._whole: dict[str, bytes] | None = None
        """The fields of a message that arrived whole."""

    def _take(self, message: Any, data: bytes) -> None:
        choices = message.get("choices")
        for place, choice in enumerate(choices if isinstance(choices, list) else ()):
            if isinstance(choice, dict) and choice.get("index") in (None, 0):
                self._choice(choice, data, place)
                return

    def _choice(self, choice: dict[str, Any], data: bytes, place: int) -> None:
        delta, whole = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, data, place)
        elif isinstance(whole, dict):
            fields = raw_object(raw_object(raw_array(raw_object(data), "choices")[place])["message"])
            self._take_whole(whole, fields)
        if choice.get("finish_reason") or choice.get("finishReason"):
            self.is_complete = True

    def _delta(self, delta: dict[str, Any], data: bytes, place: int) -> None:
        for name in _TEXTS:
            piece = delta.get(name)
            if isinstance(piece, str):
                self._piece(name, piece)
            elif piece is not None:
                self._give_up()  # a list of parts
                return
        if delta.get("reasoning_details"):
            self._add_details(delta)
        if delta.get("tool_calls"):
            fields = raw_object(raw_object(raw_array(raw_object(data), "choices")[place])["delta"])
            for call, raw in zip(delta["tool_calls"], raw_array(fields, "tool_calls"), strict=True):
                self._call_piece(call, raw)
        if any(delta.get(name) for name in _UNKEPT):
            self._give_up()

    def _piece(self, name: str, piece: str) -> None:
        pieces = self._texts.get(name)
        if pieces is None:
            pieces = self._texts[name] = TextPieces()
        if not piece:
            return
        self._count(pieces.append(piece))
        if name in _REASONING:
            self._thinking = pieces
        else:
            self._content = pieces

    def _add_details(self, delta: dict[str, Any]) -> None:
        details, size = delta["reasoning_details"], self._details.size
        if not any(delta.get(name) for name in _REASONING):
            self._detail_texts.note(details)
        self._details.add(details, is_cumulative=self._detail_texts.are_cumulative(details))
        self._count(self._details.size - size)

    def _call_piece(self, piece: dict[str, Any], raw: bytes) -> None:
        if self._is_irregular(piece):
            self._give_up()
            return
        call = self._call_of(piece)
        call.take(piece, raw_object(raw))
        self._count(len(raw))

    def _is_irregular(self, piece: dict[str, Any]) -> bool:
        """Return whether ids and indices do not suffice to find the call of a piece.

        The decoder then finds it by names and arguments; such a turn is not kept.
        """
        function, index = piece.get("function"), short_index(piece.get("index"))
        if not isinstance(function, dict):
            return bool(piece.get("custom"))
        at_index = self._by_index.get(index) if index is not None else None
        if function.get("name"):
            given = function.get("arguments")
            return at_index is not None and at_index.has_arguments and bool(given) and str(given)[0] == "{"
        if not self._calls:
            return False
        call_id = piece.get("id") or None
        other_id = at_index is not None and call_id is not None and at_index.call_id not in (None, call_id)
        return other_id or (index is not None and at_index is None)

    def _call_of(self, piece: dict[str, Any]) -> _Call:
        """Return the call that a piece belongs to: the call with its index; without one, the last call."""
        index, call_id = short_index(piece.get("index")), piece.get("id") or None
        call = self._by_index.get(index) if index is not None else self._calls[-1] if self._calls else None
        if call is None or (call_id is not None and call.call_id not in (None, call_id)):
            self._by_index[index] = call = _Call()
            self._calls.append(call)
        return call

    def _take_whole(self, message: dict[str, Any], fields: dict[str, bytes]) -> None:
        if any(message.get(name) for name in _UNKEPT):
            self._give_up()
            return
        self._whole = {name: value for name, value in fields.items() if name in _KEPT}
        self._calls, self._by_index = [], {}
        for call, raw in zip(message.get("tool_calls") or (), raw_array(fields, "tool_calls"), strict=True):
            self._call_piece(call, raw)
        self._texts = {name: TextPieces() for name in _TEXTS if isinstance(message.get(name), str)}
        for name, pieces in self._texts.items():
            self._count(pieces.append(message[name]))

    def _turn(self) -> CollectedTurn | None:
        shown = tuple(text for name in ("content", "refusal") if (text := self._text(name)))
        if not (shown or self._calls or self._texts):
            return None
        has_details = bool(self._details) or (self._whole or {}).get("reasoning_details", NULL) != NULL
        return CollectedTurn(
            self._written_whole() if self._whole is not None else self._written(),
            shown,
            tuple(call.call_id for call in self._calls if call.call_id),
            bool(self._calls),
            has_details
            or any(name in self._texts for name in _REASONING)
            or any("extra_content" in call.others for call in self._calls),
        )

    def _text(self, name: str) -> str:
        return self._texts[name].text if name in self._texts else ""

    def _written_whole(self) -> bytes:
        assert self._whole is not None
        content = self._whole.get("content", NULL)
        rest = {name: value for name, value in self._whole.items() if name not in ("role", "content")}
        return _message(content, rest)

    def _written(self) -> bytes:
        rest = {name: write_json(pieces.text) for name, pieces in self._texts.items() if name != "content"}
        if not self._text("refusal"):
            rest.pop("refusal", None)
        if self._details:
            rest["reasoning_details"] = write_json(self._details.entries())
        if self._calls:
            rest["tool_calls"] = write_array(call.written() for call in self._calls)
        content = write_json(self._text("content")) if "content" in self._texts else NULL
        return _message(content, rest)

    def _drop(self) -> None:
        self._texts, self._details, self._whole = {}, MergedDetails(), None
        self._calls, self._by_index = [], {}


class _Call:
    """One call: the fields that arrive once, and the pieces of its arguments."""

    def __init__(self) -> None:
        self.call_id: str | None = None
        self.name = ""
        self.others: dict[str, bytes] = {}
        """Further fields of the call, such as `extra_content`."""
        self._arguments = TextPieces()
        self._object: bytes | None = None
        """The arguments, if they arrived as an object instead of a text."""

    @property
    def has_arguments(self) -> bool:
        """Whether arguments have arrived."""
        return bool(self._arguments.size or self._object)

    def take(self, piece: dict[str, Any], fields: dict[str, bytes]) -> None:
        """Take a piece of the call."""
        self.call_id = self.call_id or piece.get("id") or None
        for name, value in fields.items():
            if name not in ("index", "id", "type", "function") and value != NULL:
                self.others[name] = value
        function = piece.get("function")
        if not isinstance(function, dict):
            return
        named, given = function.get("name"), function.get("arguments")
        if isinstance(named, str) and named != self.name:
            self.name += named
        if isinstance(given, str):
            self._arguments.append(given)
        elif given is not None:
            self._object = raw_object(fields["function"])["arguments"]

    def written(self) -> bytes:
        """Return the call as JSON."""
        arguments = self._object or write_json(self._arguments.text)
        function = {"name": write_json(self.name), "arguments": arguments}
        fields = {"id": NULL if self.call_id is None else write_json(self.call_id), "type": b'"function"'}
        return write_object({**fields, "function": write_object(function), **self.others})


def _message(content: bytes, rest: dict[str, bytes]) -> bytes:
    """Return a message as JSON; it always has a `content`, which may be null."""
    written = write_object({"role": b'"assistant"', **rest})
    return written[:-1] + b',"content":' + content + b"}"
