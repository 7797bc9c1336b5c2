"""Reads LangChain messages, in pieces and whole, from servers of LangGraph and LangChain.

Source: langchain-core 1.7 and 0.3 (`messages/*.py`). A message may arrive as chunks, as a growing state,
whole, and again in the state of the graph. By its id, its text and its calls are passed on once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec

from streamweir.classification.finish_words import is_broken_off, standard_finish
from streamweir.codec.coerce import (
    and_extra,
    arguments,
    counts_in,
    custom,
    leftover,
    object_in,
    objects_in,
    text_of,
    tool_error,
)
from streamweir.codec.families.langchain_forms import ROLES, plain_message, texts_of
from streamweir.codec.families.langchain_other_blocks import OtherBlocks
from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import Content, Event, Meta, ToolCallDelta, ToolCallEnd, ToolCallStart, Whole
from streamweir.ids import RecentIds, room_for, short_id
from streamweir.jsontext import write_json
from streamweir.options.limits import EVENT_BYTES

__all__ = ["UNMARKED", "ChainMessages"]

_CHUNK: Final = "Chunk"
UNMARKED: Final = "unmarked"
"""The `chunk_position` of pieces from a server that does not mark the ends of messages."""
_KNOWN: Final = (
    *("type", "role", "content", "id", "name", "example", "tool_calls", "invalid_tool_calls"),
    *("tool_call_chunks", "usage_metadata", "response_metadata", "additional_kwargs", "chunk_position"),
    *("tool_call_id", "status", "artifact"),
)
_FINISH: Final = (
    *("finish_reason", "stop_reason", "done_reason"),
    *("finishReason", "stopReason", "doneReason"),
)
"""The fields of `response_metadata` that hold the reason why a model stopped; Bedrock writes `stopReason`."""

_TOKENS: Final = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}
_LARGEST_COUNT: Final = 1 << 53
_MOST_WAITING: Final = 1000
_CALL: Final = 1024
"""The bytes of an arriving call in addition to its names and arguments."""


class _Call(msgspec.Struct):
    """A call whose arguments arrive in chunks."""

    tool_id: str
    name: str
    pieces: TextPieces = msgspec.field(default_factory=TextPieces)


_Calls = dict[Any, _Call]

Form = Literal["any", "growing", "whole"]


class _Waiting(NamedTuple):
    """A call that has no result yet."""

    name: str
    arguments: bytes
    is_taken: bool = False
    """Whether the run that carries out the call is known."""


class ChainMessages:
    """Reads the messages of one run.

    Args:
        room: the number of bytes, roughly, of kept incomplete arguments; half as many are for ids.

    Attributes:
        summary: the tokens of all messages, and the finish reason of the last message.
        found: whether a part of the answer has been read.
    """

    def __init__(self, room: int = EVENT_BYTES) -> None:
        self.summary: dict[str, Any] = {}
        self.found = False
        self._left = room
        self._blocks = OtherBlocks(room)
        self._pieces: dict[str, _Calls] = {}
        self._open: set[str] = set()
        self._started: RecentIds[None] = RecentIds(room // 8)
        self._ended: RecentIds[None] = RecentIds(room // 8)
        self._counted: RecentIds[dict[str, int]] = RecentIds(room // 8)
        self._history: RecentIds[None] = RecentIds(room // 8)
        self._waiting: dict[str, _Waiting] = {}
        self._nameless: RecentIds[str] = RecentIds(room // 8)
        """The calls of results that name no call, by the id of the result."""
        self._is_broken_off = False
        """Whether the last message was broken off, so that its calls are not passed on."""
        self._asks_in = ""
        self._has_answered = False
        """Whether the model has sent text in a message after the last message with calls."""
        self._grown: tuple[Iterable[Mapping[str, Any]], str, Meta | None] = ((), "", None)
        """The calls of the last growing message, with the id and the metadata of that message."""

    @property
    def is_open(self) -> bool:
        """Whether a message has not ended, or a call has no result."""
        return bool(self._open or self._waiting or self._pieces)

    def note_history(self, values: Iterable[Any]) -> None:
        """Note messages that are older than the run, and so no part of the answer."""
        for message in map(plain_message, values):
            if message is not None:
                self._history.add(short_id(text_of(message.get("id"))), None)

    def read(self, value: Any, meta: Meta | None = None, *, form: Form = "any") -> Iterator[Event]:
        """Yield the events of a message.

        Args:
            value: the message; any other value is kept unchanged.
            meta: the metadata of the step that the message comes from.
            form: `any` (a piece if its type says so), `growing` (all that has arrived) or `whole`.
        """
        message = plain_message(value)
        if message is None:
            yield custom("message", value, meta)
            return
        message_id = short_id(text_of(message.get("id")))
        if message_id and message_id in self._history:
            return
        kind = text_of(message.get("type", message.get("role")))
        if ROLES[kind] == "tool":
            yield from self._result(message, meta)
        elif ROLES[kind] == "ai":
            self.found = True
            if form == "any" and kind.endswith(_CHUNK):
                yield from self._piece(message, message_id, meta)
            else:
                yield from self._state(message, message_id, meta, form)

    def start_call(self, tool_id: str, name: str, given: Any, meta: Meta | None = None) -> Iterator[Event]:
        """Yield the start of a call that no message contains; nothing if the call has started."""
        yield from self._start(tool_id, name, arguments(given), meta)
        if (call := self._waiting.get(short_id(tool_id))) is not None:
            self._waiting[short_id(tool_id)] = call._replace(is_taken=True)

    def end_call(self, end: ToolCallEnd) -> Iterator[Event]:
        """Yield the end of a call that no message reports; nothing if the call has ended."""
        if end.tool_id not in self._ended:
            yield from self.start_calls()
            self._ends(end.tool_id)
            yield end

    def end_calls_left_behind(self) -> Iterator[Event]:
        """Yield failures for calls without a result if the model has answered since.

        A model waits for all results, but some servers send nothing about a tool that failed.
        """
        if not self._waiting or self._open or self._pieces or not self._has_answered:
            return
        for tool_id, call in [*self._waiting.items()]:
            yield from self.end_call(
                ToolCallEnd(tool_id, "failed", error=tool_error(), tool_name=call.name or None)
            )

    def note_result(self, tool_id: str) -> None:
        """Note that the result of this call has arrived in another way, or arrives under another id."""
        self._ends(short_id(tool_id))

    def take_call(self, name: str, given: Any) -> str | None:
        """Return the id of the call of `name` that a new run carries out; equal arguments have priority.

        None if no call waits for a run. Without a name only the arguments decide.
        """
        free = {tool_id: call for tool_id, call in self._waiting.items() if not call.is_taken}
        named = [tool_id for tool_id, call in free.items() if not name or call.name == name]
        if not named:
            return None
        digest = _digest(arguments(given))
        tool_id = next((found for found in named if free[found].arguments == digest), named[0])
        self._waiting[tool_id] = self._waiting[tool_id]._replace(is_taken=True)
        return tool_id

    def give_back_call(self, tool_id: str) -> None:
        """Release a call that a run took, because the run carries out another call."""
        if tool_id in self._waiting:
            self._waiting[tool_id] = self._waiting[tool_id]._replace(is_taken=False)

    def start_calls(self) -> Iterator[Event]:
        """Yield the starts of calls that still wait for arguments: no more arguments will arrive."""
        grown, self._grown = self._grown, ((), "", None)
        yield from self._start_all(*grown)
        for message_id in [*self._pieces]:
            yield from self._start_pieces(message_id)

    # Answers

    def _piece(self, message: Mapping[str, Any], message_id: str, step: Meta | None) -> Iterator[Event]:
        meta = _with_id(step, message_id)
        self._note_turn(message, message_id)
        self._count(message.get("usage_metadata"), message_id, is_chunk=True)
        ends = self._note_end(message)
        yield from self._blocks.read_piece(message["content"], message_id, meta, ends=ends)
        yield from texts_of(message, meta)
        if beside := leftover(message, _KNOWN):
            yield Content("", meta=and_extra(meta, beside))
        yield from self._call_pieces(message, message_id, meta)
        self._note_open(message_id, is_open=not ends and message.get("chunk_position") != UNMARKED)
        if self._is_broken_off:
            self._drop_pieces(message_id)
        elif ends:
            yield from self._start_pieces(message_id, meta)

    def _state(
        self, message: Mapping[str, Any], message_id: str, step: Meta | None, form: Form
    ) -> Iterator[Event]:
        """Read a whole or growing message. Calls of a growing message may be incomplete."""
        meta = _with_id(step, message_id)
        self._note_turn(message, message_id)
        whole: Whole | None = "repeat" if form == "whole" else None
        if message_id:
            whole = "snapshot" if form == "growing" else "copy"
        self._count(message.get("usage_metadata"), message_id, is_chunk=False)
        is_growing = not self._note_end(message) and form == "growing"
        if not is_growing:
            yield from self._blocks.read_whole(message["content"], message_id, meta)
        for event in texts_of(message, meta):
            yield msgspec.structs.replace(event, whole=whole)
        if beside := leftover(message, _KNOWN):
            yield Content("", meta=and_extra(meta, beside))
        self._note_open(message_id, is_open=False)
        calls = objects_in(message.get("tool_calls"))
        if is_growing:
            self._grown = calls, message_id, meta
            return
        self._grown = (), "", None
        self._drop_pieces(message_id)
        if not self._is_broken_off:
            yield from self._start_all(calls, message_id, meta)

    def _note_turn(self, message: Mapping[str, Any], message_id: str) -> None:
        if message.get("tool_calls") or message.get("tool_call_chunks"):
            self._asks_in, self._has_answered = message_id, False
        elif message.get("content") and message_id != self._asks_in:
            self._has_answered = True

    def _note_open(self, message_id: str, *, is_open: bool) -> None:
        if not is_open:
            self._open.discard(message_id)
        elif len(self._open) < _MOST_WAITING:
            self._open.add(message_id)

    def _note_end(self, message: Mapping[str, Any]) -> bool:
        """Return whether the model has ended this message."""
        described = object_in(message, "response_metadata")
        reason = next((found for name in _FINISH if (found := described.get(name))), None)
        self._is_broken_off = is_broken_off(reason)
        if reason:
            finish = standard_finish(text_of(reason))
            self.summary["finish_reason"] = "stop" if finish == "tool_calls" else finish
        return bool(reason) or message.get("chunk_position") == "last"

    # Calls

    def _call_pieces(self, message: Mapping[str, Any], message_id: str, meta: Meta | None) -> Iterator[Event]:
        for piece in objects_in(message.get("tool_call_chunks")):
            if piece.get("args") or piece.get("id") or piece.get("name"):
                yield from self._call_piece(piece, message_id, meta)

    def _call_piece(self, piece: Mapping[str, Any], message_id: str, meta: Meta | None) -> Iterator[Event]:
        calls = self._pieces.setdefault(message_id, {})
        tool_id, index = short_id(text_of(piece.get("id"))), piece.get("index")
        key = index if isinstance(index, int | str) else (tool_id or next(reversed(calls), 0))
        call = calls.get(key)
        if call is None or (tool_id and call.tool_id and tool_id != call.tool_id):
            if tool_id and tool_id in self._started:
                return
            if call is not None:
                key = tool_id
            name = short_id(text_of(piece.get("name")))
            call = calls[key] = _Call(tool_id, name)
            self._left -= _CALL + room_for(tool_id, name)
        call.tool_id = call.tool_id or tool_id
        call.name = call.name or short_id(text_of(piece.get("name")))
        text = text_of(piece.get("args"))
        self._left -= call.pieces.append(text)
        if self._left < 0:
            raise LimitExceeded("more text of arguments waits than is allowed")
        if text:
            yield ToolCallDelta(call.tool_id, call.name or None, text, meta=meta)

    def _start_all(
        self, calls: Iterable[Mapping[str, Any]], message_id: str, meta: Meta | None
    ) -> Iterator[Event]:
        for at, call in enumerate(calls):
            tool_id, given = text_of(call.get("id")), call.get("args", call.get("arguments"))
            name = text_of(call.get("name"))
            yield from self._start(tool_id or _made_id(message_id, at), name, arguments(given), meta)

    def _start_pieces(self, message_id: str, meta: Meta | None = None) -> Iterator[Event]:
        for at, call in enumerate(self._drop_pieces(message_id)):
            tool_id = call.tool_id or _made_id(message_id, at)
            yield from self._start(tool_id, call.name, arguments(call.pieces.text), meta)

    def _drop_pieces(self, message_id: str) -> Iterable[_Call]:
        calls = self._pieces.pop(message_id, {}).values()
        self._left += sum(call.pieces.size + _CALL + room_for(call.tool_id, call.name) for call in calls)
        return calls

    def _start(self, tool_id: str, name: str, given: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        tool_id = short_id(tool_id)
        if tool_id:
            if tool_id in self._started or tool_id in self._ended:
                return  # a call that a person refused is in the state once more, after its result
            self._started.add(tool_id, None)
            if len(self._waiting) < _MOST_WAITING:
                self._waiting[tool_id] = _Waiting(short_id(name), _digest(given))
        yield ToolCallStart(tool_id, name or "unknown", arguments=given, meta=meta)

    def _result(self, message: Mapping[str, Any], step: Meta | None) -> Iterator[Event]:
        self.found = True
        tool_id = short_id(text_of(message.get("tool_call_id"))) or self._call_of(message)
        beside = leftover(message, _KNOWN)
        if tool_id in self._ended:
            if beside:
                yield custom("message", beside, step)
            return
        yield from self.start_calls()
        self._ends(tool_id)
        name = text_of(message.get("name")) or None
        content = message.get("content")
        meta = and_extra(step, beside)
        if message.get("status") == "error":
            yield ToolCallEnd(tool_id, "failed", error=tool_error(content), tool_name=name, meta=step)
            return
        artifact = message.get("artifact")
        result = content if artifact is None else {"content": content, "artifact": artifact}
        yield ToolCallEnd(tool_id, result=result, tool_name=name, meta=meta)

    def _call_of(self, result: Mapping[str, Any]) -> str:
        """Return the call of a result without an id, found by the name of the tool."""
        result_id, name = (short_id(text_of(result.get(key))) for key in ("id", "name"))
        if known := self._nameless.get(result_id):
            return known
        tool_id = next((found for found, call in self._waiting.items() if call.name == name), "")
        if result_id and tool_id:
            self._nameless.add(result_id, tool_id)
        return tool_id

    def _ends(self, tool_id: str) -> bool:
        """Note a result; return False if the call had a result already."""
        if not tool_id:
            return True
        if tool_id in self._ended:
            return False
        self._ended.add(tool_id, None)
        self._waiting.pop(tool_id, None)
        return True

    # Tokens

    def _count(self, usage: Any, message_id: str, *, is_chunk: bool) -> None:
        """Add the tokens of a message: the tokens of chunks add up, a whole message is counted once."""
        if not isinstance(usage, dict):
            return
        before = self._counted.get(message_id) or {}
        for known, count in counts_in(usage, _TOKENS).items():
            new = count if is_chunk else max(count - before.get(known, 0), 0)
            before = {**before, known: before.get(known, 0) + new}
            self.summary[known] = min(self.summary.get(known, 0) + new, _LARGEST_COUNT)
        self._counted.add(message_id, before)


def _made_id(message_id: str, at: int) -> str:
    """Return an id for a call without an id. It is equal each time that the message of the call arrives."""
    return f"{message_id}:{at}" if message_id else ""


def _digest(given: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(write_json(given), digest_size=16).digest()


def _with_id(step: Meta | None, message_id: str) -> Meta | None:
    return {**(step or {}), "message_id": message_id} if message_id else step
