"""The parts of a `MessageState`: its texts, calls, steps and data, in the order in which they began.

Source: the contract of the TypeScript client, section 6 (`parts`); the standard protocol 1.1, section 3
rule 5 (the events of a message, and when it is complete). Parts in other languages are held to
`tests/vectors/messages.json`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Content, Data, Interaction, Meta, Reference, Status, Thinking
from streamweir.translation.tool_call import ToolCall

__all__ = [
    "DataPart",
    "InteractionPart",
    "MessagePart",
    "PartList",
    "ReferencePart",
    "StatusPart",
    "TextPart",
    "ThinkingPart",
    "ToolPart",
]


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of every part: the ids of the event that began it, and times in Unix milliseconds.

    `end_time` of a text is the time of its last piece, set once no further piece can join it; for a call, a
    step or a question it is the time of the event that ended it. None until then, or if the event has no
    time.
    """

    type: ClassVar[str]

    message_id: str | None = None
    run_id: str | None = None
    node_id: str | None = None
    node_name: str | None = None
    start_time: int | None = None
    end_time: int | None = None


class TextPart(_Part, frozen=True, kw_only=True):
    """Text of one channel; `channel` is None for the answer. `is_complete`: its message is complete."""

    type = "text"

    text: str
    channel: str | None = None
    format: Literal["markdown", "text", "html"] | None = None
    is_complete: bool = False


class ThinkingPart(_Part, frozen=True, kw_only=True):
    """Reasoning; `stage` is that of its first piece."""

    type = "thinking"

    text: str
    stage: Literal["reasoning", "planning", "analyzing"] | None = None


class ToolPart(_Part, frozen=True, kw_only=True):
    """A tool call: an object of `tool_calls`."""

    type = "tool"

    call: ToolCall


class StatusPart(_Part, frozen=True, kw_only=True):
    """A step of the run, with the state of its last event."""

    type = "status"

    status: Status


class InteractionPart(_Part, frozen=True, kw_only=True):
    """A question to a person or to the client, with the fields of its last event."""

    type = "interaction"

    interaction: Interaction


class DataPart(_Part, frozen=True, kw_only=True):
    """A block of data: an object of `data_blocks`."""

    type = "data"

    block: Data


class ReferencePart(_Part, frozen=True, kw_only=True):
    """Citations, with the fields of their event."""

    type = "reference"

    reference: Reference


MessagePart = TextPart | ThinkingPart | ToolPart | StatusPart | InteractionPart | DataPart | ReferencePart

_Ids = tuple[str | None, str | None, str | None]
"""`message_id`, `run_id`, `node_name`: a piece of text joins a part that has these three ids."""

_Key = tuple[str, str | None, _Ids]
"""The kind, the channel and the ids of an open part."""

_NO_META: Meta = {}
_OVER = ("finished", "failed")


class _Place:
    """The place of one part in the list. `part` is replaced when the part changes.

    The pieces of a text are kept apart and joined when the part is read, as `TextPieces` does; `is_stale` is
    set while `part` lacks some of them. `key` is set while the part is open; `is_gone` once it is removed.
    """

    __slots__ = ("is_gone", "is_stale", "key", "part", "pieces", "touched")

    def __init__(self, part: Any, pieces: TextPieces | None = None) -> None:
        self.part = part
        self.pieces = pieces
        self.is_stale = self.is_gone = False
        self.key: _Key | None = None
        self.touched: int | None = part.start_time

    def change(self, **fields: Any) -> None:
        """Replace the part by a copy with other `fields`."""
        self.part = msgspec.structs.replace(self.part, **fields)

    def current(self) -> Any:
        """Return the part with all pieces that have arrived."""
        if self.is_stale and self.pieces is not None:
            self.change(text=self.pieces.text)
            self.is_stale = False
        call = self.part.call if isinstance(self.part, ToolPart) else None
        if call is not None and call.end_time != self.part.end_time:
            self.change(end_time=call.end_time)
        return self.part


class _Message(msgspec.Struct, eq=False):
    """The text parts of one message in one channel."""

    places: list[_Place] = msgspec.field(default_factory=list)
    is_complete: bool = False
    completed: int = 0
    """The number of the first places that are complete."""


class PartList:
    """Keeps the parts of a message while its events come.

    A text or thinking part is *open* while a piece may join it; `_open` has it under its kind, channel and
    ids. An open part is closed by a part of another kind (a thinking part also by a text part with the same
    ids, and the reverse), by `is_complete` of its message, by the end of a stream and by the start of the
    next stream. Closing sets `end_time`, so that a reader sees that the part does not grow any more.
    """

    def __init__(self) -> None:
        self._places: list[_Place] = []
        self._open: dict[tuple[str, str | None], dict[_Ids, dict[str | None, _Place]]] = {}
        """The open parts by kind and message id, then by ids, then by channel."""
        self._messages: dict[tuple[str | None, str | None], _Message] = {}
        self._statuses: dict[tuple[Any, ...], _Place] = {}
        self._interactions: dict[str, _Place] = {}
        self._blocks: list[_Place] = []

    def as_list(self) -> list[MessagePart]:
        """Return the current parts in a new list."""
        return [place.current() for place in self._places if not place.is_gone]

    def add_text(self, event: Content, at: int | None) -> None:
        """Add a piece of text: it joins its part, begins a new part, or replaces the text of its message."""
        meta = event.meta or _NO_META
        ids = _ids(meta)
        message = self._message(event, ids[0])
        if event.op == "replace":
            self._replace(message, event, meta, at)
        elif event.content:
            self._append_text(message, event, meta, at)
        if event.is_complete:
            self._complete(message, event.channel, ids[0])

    def add_thinking(self, event: Thinking, at: int | None) -> None:
        """Add a piece of reasoning: it joins its part, or begins a new part."""
        if not event.content:
            return
        meta = event.meta or _NO_META
        ids = _ids(meta)
        place = self._opened("thinking", None, ids)
        if place is None:
            self._close_texts("text", ids)
            place = self._begin(ThinkingPart(text="", stage=event.stage, **_origin(meta, at)), TextPieces())
            self._open_part(place, ("thinking", None, ids))
        _append(place, event.content, at)

    def begin_call(self, call: ToolCall, meta: Meta | None, at: int | None) -> None:
        """Add a call of a tool."""
        self._begin_other(ToolPart(call=call, **_origin(meta or _NO_META, at)))

    def add_status(self, event: Status, at: int | None) -> None:
        """Add or change a step; the states `finished` and `failed` end it."""
        meta = event.meta or _NO_META
        key = (event.scope, event.name, meta.get("node_id"), meta.get("run_id"))
        place = self._statuses.get(key)
        if place is None:
            place = self._statuses[key] = self._begin_other(StatusPart(status=event, **_origin(meta, at)))
        else:
            place.change(status=event)
        if event.state in _OVER:
            place.change(end_time=at)
            del self._statuses[key]

    def add_interaction(self, event: Interaction, at: int | None) -> None:
        """Add or change a question; the states `cancelled` and `resolved` end it."""
        place = self._interactions.get(event.interaction_id)
        if place is None:
            part = InteractionPart(interaction=event, **_origin(event.meta or _NO_META, at))
            place = self._interactions[event.interaction_id] = self._begin_other(part)
        place.change(interaction=event, end_time=None if event.state == "requested" else at)

    def add_reference(self, event: Reference, at: int | None) -> None:
        """Add citations."""
        part = ReferencePart(reference=event, **_origin(event.meta or _NO_META, at))
        self._begin_other(part).change(end_time=at)

    def add_block(self, block: Data, meta: Meta | None, at: int | None) -> None:
        """Add a block of data, the newest one of `data_blocks`."""
        place = self._begin_other(DataPart(block=block, **_origin(meta or _NO_META, at)))
        place.change(end_time=at)
        self._blocks.append(place)

    def change_block(self, index: int, block: Data, at: int | None) -> None:
        """Change the block at `index` of `data_blocks`."""
        self._blocks[index].change(block=block, end_time=at)

    def begin_stream(self) -> None:
        """Begin a stream: its pieces never join a part of an earlier stream."""
        self.end_stream()
        for (_, message_id), message in self._messages.items():
            message.is_complete |= message_id is None

    def end_stream(self) -> None:
        """Close all texts, because a stream has ended or the next one begins."""
        by_message, self._open = self._open, {}
        for by_ids in by_message.values():
            _close_all(by_ids)

    def _message(self, event: Content, message_id: str | None) -> _Message:
        """Return the message of a piece; after a complete message, a piece without an id begins a new one."""
        key = (event.channel, message_id)
        message = self._messages.get(key)
        over = message is not None and message.is_complete and message_id is None
        if message is None or (over and event.content and event.op != "replace"):
            message = self._messages[key] = _Message()
        return message

    def _append_text(self, message: _Message, event: Content, meta: Meta, at: int | None) -> None:
        ids = _ids(meta)
        place = self._opened("text", event.channel, ids)
        if place is None:
            self._close_texts("thinking", ids)
            part = TextPart(text="", channel=event.channel, format=event.format, **_origin(meta, at))
            place = self._begin(part, TextPieces())
            self._open_part(place, ("text", event.channel, ids))
            message.places.append(place)
        elif event.format is not None and place.part.format is None:
            place.change(format=event.format)
        _append(place, event.content, at)

    def _replace(self, message: _Message, event: Content, meta: Meta, at: int | None) -> None:
        """Replace the text of the first part of a message, and remove its other parts."""
        if not message.places:
            if event.content:
                self._append_text(message, event, meta, at)
            return
        first, *others = message.places
        message.places, message.completed = [first], min(message.completed, 1)
        for place in others:
            self._forget(place)
            place.is_gone, place.pieces = True, None
        first.pieces = TextPieces()
        first.is_stale = True
        if event.format is not None:
            first.change(format=event.format)
        _append(first, event.content, at)
        if first.key is None:
            first.change(end_time=first.touched)

    def _complete(self, message: _Message, channel: str | None, message_id: str | None) -> None:
        """Complete a message; completing the answer also completes the reasoning before it."""
        message.is_complete = True
        for place in message.places[message.completed :]:
            self._forget(place)
            place.change(is_complete=True, end_time=place.touched)
        message.completed = len(message.places)
        if channel is None:
            _close_all(self._open.pop(("thinking", message_id), {}))

    def _begin(self, part: MessagePart, pieces: TextPieces | None = None) -> _Place:
        place = _Place(part, pieces)
        self._places.append(place)
        return place

    def _begin_other(self, part: MessagePart) -> _Place:
        """Begin a part that is not text, and close the open text part."""
        self.end_stream()
        return self._begin(part)

    def _opened(self, kind: str, channel: str | None, ids: _Ids) -> _Place | None:
        return self._open.get((kind, ids[0]), {}).get(ids, {}).get(channel)

    def _open_part(self, place: _Place, key: _Key) -> None:
        kind, channel, ids = place.key = key
        self._open.setdefault((kind, ids[0]), {}).setdefault(ids, {})[channel] = place

    def _forget(self, place: _Place) -> None:
        """Let no further piece join a part."""
        if place.key is not None:
            kind, channel, ids = place.key
            place.key = None
            del self._open[kind, ids[0]][ids][channel]

    def _close_texts(self, kind: str, ids: _Ids) -> None:
        by_ids = self._open.get((kind, ids[0]))
        if by_ids and ids in by_ids:
            _close_all({ids: by_ids.pop(ids)})


def _close_all(by_ids: dict[_Ids, dict[str | None, _Place]]) -> None:
    for by_channel in by_ids.values():
        for place in by_channel.values():
            place.key = None
            place.change(end_time=place.touched)


def _append(place: _Place, piece: str, at: int | None) -> None:
    if place.pieces is not None:
        place.pieces.append(piece)
    place.is_stale = True
    place.touched = at if at is not None else place.touched


def _ids(meta: Meta) -> _Ids:
    return meta.get("message_id"), meta.get("run_id"), meta.get("node_name")


def _origin(meta: Meta, at: int | None) -> dict[str, Any]:
    """Return the fields of a part that are taken from its first event."""
    names = ("message_id", "run_id", "node_id", "node_name")
    return {**{name: meta.get(name) for name in names}, "start_time": at}
