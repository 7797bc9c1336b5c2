"""Builds the output of one response: the items, in the form in which the next input sends them back.

Items that arrive whole (`response.output_item.done`) are kept; the pieces before them are not needed. A null
field of an item, of its action or its content is no valid input, and is left out. If the response is not
stored, the upstream knows neither reasoning items without encrypted content nor the ids of items: both are
left out.

Source: the Responses API (reasoning items, `store`); the conversation contract, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.events import Content, Thinking
from streamweir.raw_json import NULL, raw_array, raw_items, raw_object, raw_text, write_array, write_object

__all__ = ["ResponsesTurn"]

_ENDS: Final = ("response.completed", "response.incomplete")
_CALL: Final = "_call"
_APPROVAL: Final = "mcp_approval_request"
"""The type of a call that is named by the id of its item."""

_FORMED: Final = ("action", "actions", "annotations", "content", "logprobs", "summary")
"""The fields whose objects have a form defined by the API, in which a null means that a field is absent."""


class ResponsesTurn(TurnCollector):
    """Collects the items of one response, in the order of the output."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._items: dict[int, dict[str, bytes]] = {}
        self._is_stored = True

    def take_texts(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Ignore pieces of text, because the end of the item has the whole text."""

    def _take(self, message: Any, data: bytes) -> None:
        match message:
            case {"type": "response.output_item.done", "output_index": int(index), "item": dict()}:
                self._add(index, raw_object(data)["item"])
            case {"type": str(kind), "response": dict(response)}:
                self._response(response, raw_object(data)["response"], is_end=kind in _ENDS)
            case {"object": "response", "output": list()}:
                self._response(message, data, is_end=message.get("status") in ("completed", "incomplete"))

    def _response(self, response: dict[str, Any], data: bytes, *, is_end: bool) -> None:
        if response.get("store") is False:
            self._is_stored = False
        if not is_end:
            return
        output = raw_array(raw_object(data), "output")
        if len(output) >= len(self._items):
            self._items.clear()
            self.taken = 0
            for index, item in enumerate(output):
                self._add(index, item)
        self.is_complete = True

    def _add(self, index: int, data: bytes) -> None:
        self._items[index] = {name: _without_nulls(name, value) for name, value in raw_object(data).items()}
        self._count(len(data))

    def _turn(self) -> CollectedTurn | None:
        items = [self._items[index] for index in sorted(self._items)]
        if not items:
            return None
        kinds = [_text_of(item, "type") for item in items]
        names = [_name_of_call(item, kind) for item, kind in zip(items, kinds, strict=True)]
        has_calls = any(kind.endswith(_CALL) or kind == _APPROVAL for kind in kinds)
        reasoning = [item for item, kind in zip(items, kinds, strict=True) if kind == "reasoning"]
        texts = tuple(text for item in items for text in _texts(item))
        if not self._is_stored and any(item.get("encrypted_content", NULL) == NULL for item in reasoning):
            items = [_without_id(item) for item in items]
            items = [item for item in items if _text_of(item, "type") != "reasoning"]
        return CollectedTurn(
            write_array(map(write_object, items)),
            texts,
            tuple(filter(None, names)),
            has_calls,
            bool(reasoning) or "compaction" in kinds,
        )

    def _drop(self) -> None:
        self._items.clear()


def _without_nulls(name: str, value: bytes) -> bytes:
    """Return the value of a field without null fields inside, unless it is data of another program."""
    if name not in _FORMED or NULL not in value:
        return value
    if value.startswith(b"{"):
        return write_object({own: _without_nulls(own, item) for own, item in raw_object(value).items()})
    if value.startswith(b"["):
        return write_array(_without_nulls(name, item) for item in raw_items(value))
    return value


def _texts(item: dict[str, bytes]) -> Iterator[str]:
    """Yield the texts of a message that clients get."""
    if _text_of(item, "type") != "message":
        return
    for part in map(raw_object, raw_array(item, "content")):
        if text := _text_of(part, "text") or _text_of(part, "refusal"):
            yield text


def _name_of_call(item: dict[str, bytes], kind: str) -> str:
    """Return the id of a call; empty for any other item."""
    return _text_of(item, "id" if kind == _APPROVAL else "call_id" if kind.endswith(_CALL) else "")


def _without_id(item: dict[str, bytes]) -> dict[str, bytes]:
    if _text_of(item, "type") == _APPROVAL:
        return item
    return {name: item[name] for name in item if name != "id"}


def _text_of(fields: dict[str, bytes], name: str) -> str:
    value = fields.get(name, NULL)
    return raw_text(value) if value.startswith(b'"') else ""
