"""Collects the tool calls of `chat.completion` objects from their pieces until they are complete.

Source: the Chat Completions API (openai-node 6.49 `src/core/streaming.ts`). Intended leniency: calls without
ids or indices; arguments that are objects; the older `function_call`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME
from streamweir.codec.coerce import arguments, text_of
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import Event, Interaction, Meta, Opaque, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import made_call_id, short_id, short_index
from streamweir.jsontext import write_json, write_json_text
from streamweir.optional_json import json_object
from streamweir.options.limits import EVENT_BYTES

__all__ = ["ClientCalls", "bounded"]

_CALL: Final = 2048
"""The bytes of an arriving call beside its arguments: its names, and the tables that hold the call."""

_HANDED: Final = 256
"""The bytes of the id and the name of a complete call."""

_LONGEST_NAME: Final = 1024
_MOST_PARSED: Final = 8
"""How often the arguments of an arriving call are parsed."""

_EXTRA: Final = "extra_content"
"""The field of a call that Google's compatible API expects back later: the signature of a thought."""

_END_MARK: Final = re.compile(r"<\|\w+\|>\s*$")


class ClientCalls:
    """The calls of one stream that the client is to run, grouped by choice.

    Args:
        room: the number of bytes, roughly, that incomplete calls may take together.
        opaque_name: the key of the opaque values of calls; None: calls have no opaque values.
        request_id: the request id of the stream.

    Attributes:
        room: the room for incomplete calls.
        may_be_run: whether the server may run calls itself. Later content shows whether it has done so.
    """

    def __init__(
        self, room: int = EVENT_BYTES, *, opaque_name: str | None = None, request_id: str = ""
    ) -> None:
        self._opaque_name = opaque_name
        self._request_id = request_id
        self.room = Room("the calls of an answer", room)
        self.may_be_run = False
        self._choices: dict[int, _Calls] = {}
        self._handed: dict[int, list[tuple[str, str]]] = {}
        self._ids = 0

    @property
    def has_asked(self) -> bool:
        """Whether a call for the client is complete, and no other content has followed the calls."""
        return bool(self._handed)

    @property
    def _for_client(self) -> bool | None:
        return None if self.may_be_run else True

    def take(self, delta: Mapping[str, Any], choice: int, meta: Meta | None) -> Iterator[ToolCallDelta]:
        """Yield the pieces of calls in `delta`, the fields of a choice.

        Raises:
            LimitExceeded: the calls are too large or too many.
        """
        given = delta.get("tool_calls")
        pieces = [given] if isinstance(given, dict) else bounded(given)  # TGI: one object
        function = delta.get("function_call")
        if isinstance(function, dict) and any(function.values()):  # Go writes empty fields, too
            pieces = [*pieces, {"index": "function_call", "function": function}]
        for piece in pieces:
            if isinstance(piece, dict):
                yield from self._take_call(piece, self._choices.setdefault(choice, _Calls()), meta)

    def start(self, choice: int | None = None, *, cut_short: bool = False) -> Iterator[Event]:
        """Yield the starts of the calls of a choice.

        Args:
            choice: the index of the choice; None: all choices.
            cut_short: whether a limit or a filter has ended the choice. A call whose arguments are then no
                JSON object is incomplete, and the client is not asked to run it.
        """
        for key in [choice] if choice is not None else list(self._choices):
            calls = self._choices.pop(key, None)
            for call in calls.all if calls else ():
                if not cut_short and (last := call.last_piece()):
                    yield self._piece(call, last, None)
                self.room.give_back(call.arguments.size + _CALL)
                name, whole = _named_within(call)
                if not cut_short or json_object(call.arguments.text) is not None:
                    self.room.take(_HANDED)
                    self._handed.setdefault(key, []).append((call.tool_id, name))
                yield ToolCallStart(
                    call.tool_id,
                    name or "unknown",
                    arguments=whole,
                    for_client=self._for_client,
                    opaque=self._opaque_of(call),
                )

    def hand_over(self) -> Iterator[Event]:
        """Yield the starts of remaining calls, and ask the client to run those that no content followed."""
        yield from self.start()
        for calls in self._handed.values():
            for tool_id, name in calls:
                yield Interaction(tool_id, "tool", title=name or None)

    def go_on(self, choice: int) -> Iterator[Event]:
        """Yield the ends of the calls of a choice that continues after its calls.

        The server has run these calls itself: an agent with this API sends all turns of its model, without
        the results of calls.
        """
        for tool_id, _ in self._handed.pop(choice, ()):
            self.room.give_back(_HANDED)
            yield ToolCallEnd(tool_id)

    def _take_call(
        self, piece: Mapping[str, Any], calls: _Calls, meta: Meta | None
    ) -> Iterator[ToolCallDelta]:
        call = self._call_of(piece, calls)
        function, custom = piece.get("function"), piece.get("custom")
        fields = function if isinstance(function, dict) else piece
        if (
            isinstance(custom, dict)
            and not text_of(fields.get("name"))
            and (custom.get("name") or call.is_custom)
        ):
            fields = {"name": custom.get("name"), "arguments": call.input_json(custom.get("input"))}
        name = text_of(fields.get("name"))
        if name != call.name and len(call.name) < _LONGEST_NAME:
            call.name = short_id(call.name + name)
        if isinstance(extra := piece.get(_EXTRA), dict) and self._opaque_name is not None:
            self.room.take(len(write_json(extra)))
            call.extra_content = {**call.extra_content, **extra}
        value = fields.get("arguments")
        text = value if isinstance(value, str) else "" if value is None else write_json_text(value)
        if text and not call.is_repeated(text):
            yield self._piece(call, text, meta)

    def _piece(self, call: _Call, text: str, meta: Meta | None) -> ToolCallDelta:
        """Return the event of a piece of the arguments of a call, which is kept."""
        self.room.take(call.arguments.append(text))
        return ToolCallDelta(
            call.tool_id,
            call.name or None,
            text,
            for_client=self._for_client,
            opaque=self._opaque_of(call),
            meta=meta,
        )

    def _opaque_of(self, call: _Call) -> Opaque | None:
        if self._opaque_name is None or not call.extra_content:
            return None
        return {self._opaque_name: {_EXTRA: call.extra_content}}

    def _call_of(self, piece: Mapping[str, Any], calls: _Calls) -> _Call:
        call = calls.find(piece)
        if call is None:
            self.room.take(_CALL)
            self._ids += 1
            upstream_id = _id_of(piece)
            tool_id = "" if calls.has_id(upstream_id) else upstream_id
            call = _Call(upstream_id, tool_id or made_call_id(self._request_id, self._ids), self._ids)
            calls.add(call, piece)
        return call


class _Call(msgspec.Struct):
    """A tool call whose arguments are arriving.

    `is_custom`: the call is of a tool without a schema, whose input is a text: its argument is `input`.
    """

    upstream_id: str
    tool_id: str
    order: int
    name: str = ""
    extra_content: dict[str, Any] = {}
    arguments: TextPieces = msgspec.field(default_factory=TextPieces)
    is_custom: bool = False
    parsed: int = 0

    def is_behind(self, piece: Mapping[str, Any], at_index: _Call | None) -> bool:
        """Return whether a piece with a name comes behind this call, whose arguments are whole.

        Args:
            piece: the piece, which has the id or the index of this call.
            at_index: the call with the index of the piece.
        """
        fields = piece.get("function")
        given = fields.get("arguments") if isinstance(fields, dict) else None
        text = given if isinstance(given, str) else write_json_text(given)
        if not text.startswith("{") or (whole := self._whole()) is None:
            return False
        return at_index is not self or json_object(text) != whole

    def is_repeated(self, text: str) -> bool:
        """Return whether `text` is the whole arguments again, which some servers send behind the pieces."""
        if not text.startswith("{") or not text.endswith("}"):
            return False
        whole = self._whole()
        return whole is not None and json_object(text) == whole

    def _whole(self) -> dict[str, Any] | None:
        """Return the arguments if they are a JSON object. They are parsed a few times only."""
        if not self.arguments.size or self.parsed == _MOST_PARSED:
            return None
        self.parsed += 1
        return json_object(self.arguments.text)

    def input_json(self, piece: Any) -> str:
        """Return a piece of the input of a custom tool as a piece of the JSON of its arguments."""
        begin = "" if self.is_custom else '{"input":"'
        self.is_custom = True
        return begin + write_json_text(text_of(piece))[1:-1]

    def last_piece(self) -> str:
        """Return the end of the JSON of the arguments of a custom tool; empty for other tools."""
        return '"}' if self.is_custom else ""


class _Calls:
    """The calls of one choice, found by id and by index."""

    def __init__(self) -> None:
        self.all: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[Any, _Call] = {}
        self._without_id: dict[Any, _Call] = {}
        """For each index, the last call that has no id yet."""

    def find(self, piece: Mapping[str, Any]) -> _Call | None:
        """Return the call that `piece` belongs to; None if it begins another call.

        A new id begins another call, unless the piece has no name: vLLM gives each piece an id. A name behind
        whole arguments begins one, too: some servers have one index or one id for all calls.
        """
        upstream_id, index = _id_of(piece), short_index(piece.get("index"))
        has_name = _names_a_call(piece)
        there = self._by_index.get(index) if index is not None else None
        if not upstream_id and not has_name:
            return there or (self.all[-1] if self.all else None)
        known = self._by_id.get(upstream_id) if upstream_id else there
        if known is not None and has_name and known.is_behind(piece, there):
            return None
        nameless = self._without_id.get(index) if upstream_id and index is not None else None
        if nameless is None or (known is not None and known.order > nameless.order):
            return known or (None if has_name else there)
        nameless.upstream_id = upstream_id
        self._by_id[upstream_id] = nameless
        del self._without_id[index]
        return nameless

    def has_id(self, upstream_id: str) -> bool:
        """Return whether a call has this id, so that another one cannot have it."""
        return upstream_id in self._by_id

    def add(self, call: _Call, piece: Mapping[str, Any]) -> None:
        """Remember `call`, which begins with `piece`."""
        index = short_index(piece.get("index"))
        self.all.append(call)
        self._by_index[index] = call
        if call.upstream_id:
            self._by_id[call.upstream_id] = call
        else:
            self._without_id[index] = call


def _named_within(call: _Call) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a complete call.

    TGI writes the function within the arguments, `{"function": {"_name": ..., ...}}`, followed by the end
    mark of the model, and sends no name.
    """
    text = call.arguments.text
    if not call.name and (mark := _END_MARK.search(text)):
        text = text[: mark.start()]
    whole = arguments(text)
    within: Any = whole.get("function") if len(whole) == 1 and not call.name else None
    if isinstance(within, dict) and isinstance(name := within.get("_name"), str):
        return short_id(name), {key: value for key, value in within.items() if key != "_name"}
    return call.name, whole


def _id_of(piece: Mapping[str, Any]) -> str:
    return short_id(text_of(piece.get("id")))


def _names_a_call(piece: Mapping[str, Any]) -> bool:
    """Return whether a piece has a name, as the first one of a call; later pieces have only arguments."""
    held = (piece, piece.get("function"), piece.get("custom"))
    return any(isinstance(fields, dict) and fields.get("name") for fields in held)


def bounded(items: Any) -> list[Any]:
    """Return the items of a list; an empty list for any other value.

    The number of items is limited, because each item is read several times.

    Raises:
        LimitExceeded: there are too many items.
    """
    if isinstance(items, list) and len(items) > MAX_EVENTS_OF_A_FRAME:
        raise LimitExceeded("one chunk holds more than allowed")
    return items if isinstance(items, list) else []
