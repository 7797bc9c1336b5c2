"""OpenAI-shaped `chat.completion` objects, streamed and whole, as many servers write them.

Source: the Chat Completions API (openai-node 6.49 `src/core/streaming.ts`, openai-python 3.52) and what vLLM,
LiteLLM, OpenRouter, DeepSeek, Azure and one-api make of it. Intended leniency: reasoning under either of its
names; calls without ids or indices; content as a list of parts; arguments that are objects; a whole
answer (`message`) in place of a `delta`; an `error` in any shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

import msgspec

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME
from streamweir.codec.coerce import arguments, custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallDelta,
    ToolCallStart,
    Whole,
)
from streamweir.ids import short_id, short_index
from streamweir.jsontext import write_json, write_json_text

__all__ = ["TOKENS", "ChunkReader", "chunk", "is_completion", "tokens_in", "usage_of"]

FINISH_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
"""What servers say, in the words of the standard; any other word is a plain stop."""

TOKENS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_DELTA: Final = frozenset(
    {
        "role",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "annotations",
        "audio",
        "reasoning_details",
        *_REASONING,
    }
)
"""Of these `reasoning_details` repeats `reasoning`; `role` is always the assistant."""


_CHUNK: Final = (
    *("id", "object", "created", "model", "choices", "usage", "error"),
    *("system_fingerprint", "service_tier", "provider", "prompt_filter_results"),
)
_CHOICE: Final = (
    *("index", "delta", "message", "text", "finish_reason"),
    *("native_finish_reason", "stop_reason", "matched_stop", "content_filter_results"),
)
"""What a chunk and a choice consist of: ids, times, and words of the server that its end repeats."""


MAX_CALL_BYTES: Final = 8 << 20
"""So many bytes the calls of a stream may take together before they are whole, if nothing else is said."""

_CALL: Final = 2048
"""Bytes that a call takes beside its arguments: its names, and the tables in which it is looked up."""

_LONGEST_NAME: Final = 1024
_MOST_COUNTS: Final = 100
_LARGEST_COUNT: Final = 1024


class _Call(msgspec.Struct):
    """A tool call while its arguments arrive."""

    upstream_id: str
    tool_id: str
    order: int
    name: str = ""
    arguments: TextPieces = msgspec.field(default_factory=TextPieces)


class _Calls:
    """The calls of one choice, to be found by id and by index."""

    def __init__(self) -> None:
        self.all: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[Any, _Call] = {}
        self._without_id: dict[Any, _Call] = {}
        """By index, the last call that has not been given an id."""

    def find(self, piece: Mapping[str, Any]) -> _Call | None:
        """The call that `piece` belongs to: by index; an id of its own at a taken index is another call."""
        upstream_id, index = _id_of(piece), short_index(piece.get("index"))
        if not upstream_id:
            if index is not None:
                return self._by_index.get(index)
            return self.all[-1] if self.all and not _names_a_call(piece) else None
        known = self._by_id.get(upstream_id)
        nameless = self._without_id.get(index) if index is not None else None
        if nameless is None or (known is not None and known.order > nameless.order):
            return known
        nameless.upstream_id = upstream_id
        self._by_id[upstream_id] = nameless
        del self._without_id[index]
        return nameless

    def add(self, call: _Call, piece: Mapping[str, Any]) -> None:
        """Remember `call`, which begins with `piece`."""
        index = short_index(piece.get("index"))
        self.all.append(call)
        self._by_index[index] = call
        if call.upstream_id:
            self._by_id[call.upstream_id] = call
        else:
            self._without_id[index] = call


def _id_of(piece: Mapping[str, Any]) -> str:
    return short_id(text_of(piece.get("id")))


class ChunkReader:
    """Reads the chunks of one stream. The calls in it are for the client to run.

    Args:
        room: how many bytes the calls may take together before they are whole, about.

    Attributes:
        known: the fields of a delta that a rule reads; a dialect with more of them adds its own.
        complete: a finish reason has come.
        summary: finish reason and usage so far.
    """

    known: ClassVar[frozenset[str]] = _DELTA

    def __init__(self, *, room: int = MAX_CALL_BYTES) -> None:
        self.room = room
        self.complete = False
        self.summary: dict[str, Any] = {}
        self._begun = False
        self._id: Any = None
        self._calls: dict[int, _Calls] = {}
        self._ids = 0
        self._used_room = 0
        self._asked = False

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield what one chunk, one whole answer or one error object says."""
        if (error := _error_in(message)) is not None:
            yield error
            return
        choices = message.get("choices")
        if self._id is None or (self.complete and choices):
            self._id = _message_id(message.get("id"))  # some servers give every chunk another id
        meta = meta_of(message_id=self._id)
        if not self._begun:
            self._begun = True
            yield SessionStart(meta=meta_of(message_id=self._id, extra=_origin(message)))
        yield from self._count(message.get("usage"), meta)
        if rest := leftover(message, _CHUNK):
            yield custom("chunk", rest, meta)
        for choice in _bounded(choices):
            if isinstance(choice, dict):
                yield from self.read_choice(choice, meta)

    def _count(self, usage: Any, meta: Meta | None) -> Iterator[Event]:
        """Note the tokens and what else a server counts; yield what is too much to be kept to the end."""
        if not isinstance(usage, dict):
            return
        counted = {**(leftover(usage, TOKENS) or {}), **tokens_in(usage)}
        rest: dict[str, Any] = {}
        for name, value in counted.items():
            is_known = name in TOKENS or name in self.summary or len(self.summary) < _MOST_COUNTS
            fits = is_known and len(name) + len(write_json(value)) <= _LARGEST_COUNT
            (self.summary if fits else rest)[name] = value
        if rest:
            yield custom("usage", rest, meta)

    def close(self) -> Iterator[Event]:
        """Yield what is left at the end, and the end: suspended if the client is to run tools."""
        yield from self._hand_over(None)
        yield SessionEnd("suspended" if self._asked else "completed", summary=self.summary or None)

    # One choice

    def read_choice(self, choice: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield what one choice adds: text, reasoning, calls and what only this dialect knows."""
        index = choice.get("index")
        index = index if isinstance(index, int) and index > 0 else 0
        whole = choice.get("message")
        delta = choice.get("delta")
        fields = delta if isinstance(delta, dict) else whole if isinstance(whole, dict) else {}
        if not fields and isinstance(choice.get("text"), str):
            fields = {"content": choice["text"]}
        if rest := leftover(fields, self.known):
            yield custom("delta", rest, meta)
        if rest := leftover(choice, _CHOICE):
            yield custom("choice", rest, meta)
        yield from self.read_delta(fields, index, meta, "snapshot" if fields is whole else None)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            yield from self.finish(reason, index, meta)

    def read_delta(
        self, delta: Mapping[str, Any], index: int, meta: Meta | None, whole: Whole | None
    ) -> Iterator[Event]:
        """Yield what the fields of a delta, or of a whole message, say."""
        for name in _REASONING:
            if text := _text_of_parts(delta.get(name)):
                yield Thinking(text, "reasoning", whole, meta=meta)
                break
        for name in ("content", "refusal"):
            if text := _text_of_parts(delta.get(name)):
                yield from self.read_text(text, index, meta, whole)
        if citations := _citations(delta.get("annotations")):
            yield Reference(citations, meta=meta)
        if audio := _audio(delta.get("audio")):
            yield Data("audio", audio, meta=meta)
        yield from self._take_calls(delta, index, meta)

    def read_text(self, text: str, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield a piece of the answer; further choices go into channels of their own."""
        yield Content(text, channel=f"choice-{index}" if index else None, whole=whole, meta=meta)

    def finish(self, reason: str, index: int, meta: Meta | None) -> Iterator[Event]:
        """A choice has ended."""
        if reason == "error":
            yield upstream_error(meta=meta)
            return
        self.complete = True
        self.summary["finish_reason"] = FINISH_REASONS.get(reason, "stop")
        yield from self._hand_over(index)

    # Calls

    def _take_calls(self, delta: Mapping[str, Any], index: int, meta: Meta | None) -> Iterator[Event]:
        pieces = _bounded(delta.get("tool_calls"))
        if isinstance(function := delta.get("function_call"), dict):
            pieces = [*pieces, {"index": "function_call", "function": function}]
        for piece in pieces:
            if isinstance(piece, dict):
                yield from self._take_call(piece, self._calls.setdefault(index, _Calls()), meta)

    def _take_call(self, piece: Mapping[str, Any], calls: _Calls, meta: Meta | None) -> Iterator[Event]:
        call = self._call_of(piece, calls)
        function = piece.get("function")
        fields = function if isinstance(function, dict) else piece
        name = text_of(fields.get("name"))
        if name != call.name and len(call.name) < _LONGEST_NAME:
            call.name = short_id(call.name + name)
        value = fields.get("arguments")
        text = value if isinstance(value, str) else "" if value is None else write_json_text(value)
        if text:
            self._make_room(call.arguments.append(text))
            yield ToolCallDelta(call.tool_id, call.name or None, text, for_client=True, meta=meta)

    def _call_of(self, piece: Mapping[str, Any], calls: _Calls) -> _Call:
        call = calls.find(piece)
        if call is None:
            self._make_room(_CALL)
            self._ids += 1
            upstream_id = _id_of(piece)
            call = _Call(upstream_id, upstream_id or f"call_{self._ids}", self._ids)
            calls.add(call, piece)
        return call

    def _make_room(self, size: int) -> None:
        self._used_room += size
        if self._used_room > self.room:
            raise LimitExceeded("the calls of an answer are larger than allowed")

    def _hand_over(self, index: int | None) -> Iterator[Event]:
        """The calls of a choice (None: of all) are whole: the client is to run them."""
        for key in [index] if index is not None else list(self._calls):
            calls = self._calls.pop(key, None)
            for call in calls.all if calls else ():
                self._asked = True
                self._used_room -= call.arguments.size + _CALL
                whole = arguments(call.arguments.text)
                yield ToolCallStart(call.tool_id, call.name or "unknown", arguments=whole)
                yield Interaction(call.tool_id, "tool", title=call.name or None)


def is_completion(message: Mapping[str, Any]) -> bool:
    """Has `message` the shape of a chunk, of a whole answer or of an error of this API?"""
    return isinstance(message.get("choices"), list) or (
        isinstance(message.get("error"), dict | str) and bool(message["error"]) and "event" not in message
    )


def is_chunk(message: Mapping[str, Any]) -> bool:
    """Is `message` a piece of a streamed answer?"""
    match message:
        case {"choices": [{"delta": dict()}, *_]}:
            return True
    return False


def chunk(
    delta: Mapping[str, Any],
    *,
    id: str,  # noqa: A002 - the name on the wire
    created: int,
    model: str,
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One `chat.completion.chunk` with one choice."""
    return {
        "id": id,
        "object": "chat.completion.chunk",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish_reason, "logprobs": None}],
        "usage": usage,
    }


def _bounded(items: Any) -> list[Any]:
    """The items of a list, if it is one; a chunk has a few, and each is looked at in many ways."""
    if isinstance(items, list) and len(items) > MAX_EVENTS_OF_A_FRAME:
        raise LimitExceeded("one chunk holds more than allowed")
    return items if isinstance(items, list) else []


def _message_id(value: Any) -> Any:
    return short_id(value) if isinstance(value, str) else value if isinstance(value, int | float) else None


def _origin(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a first chunk says about where it comes from."""
    return {
        name: message[name] for name in ("model", "system_fingerprint", "provider") if message.get(name)
    } or None


def _error_in(message: Mapping[str, Any]) -> Event | None:
    """The failure that a frame reports: an `error` (object or text), or an object that is one itself."""
    error = message if message.get("object") == "error" else message.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return upstream_error(error)
    code = error.get("code")
    status = code if isinstance(code, int) else error.get("status")
    return upstream_error(
        error.get("message"),
        code=code if isinstance(code, str) and code else error.get("type"),
        status=status if isinstance(status, int) else None,
        details=leftover(error, ("message", "code", "type", "object")),
    )


def _names_a_call(piece: Mapping[str, Any]) -> bool:
    """Does a piece without an index begin a call? Later pieces have arguments only."""
    function = piece.get("function")
    return bool(piece.get("id")) or (isinstance(function, dict) and bool(function.get("name")))


def _text_of_parts(value: Any) -> str:
    """Text, or the texts of a list of parts."""
    if not isinstance(value, list):
        return text_of(value)
    return "".join(
        text_of(part.get("text", part.get("refusal"))) if isinstance(part, dict) else text_of(part)
        for part in value
    )


def _citations(annotations: Any) -> list[dict[str, Any]]:
    citations = []
    for annotation in annotations if isinstance(annotations, list) else ():
        found = annotation.get("url_citation") if isinstance(annotation, dict) else None
        if isinstance(found, dict):
            texts = {
                "title": found.get("title"),
                "url": found.get("url"),
                "snippet": found.get("content"),
            }
            citations.append({name: text for name, text in texts.items() if isinstance(text, str) and text})
    return citations


def _audio(audio: Any) -> dict[str, Any] | None:
    if not isinstance(audio, dict) or not isinstance(audio.get("data"), str):
        return None
    return {"base64": audio["data"], "media_type": f"audio/{text_of(audio.get('format')) or 'pcm'}"}


def tokens_in(usage: Any) -> dict[str, Any]:
    """The counts of a `usage` object that a summary has, as far as they are counts."""
    found = ((name, usage.get(name)) for name in TOKENS) if isinstance(usage, dict) else ()
    return {name: count for name, count in found if type(count) is int and 0 <= count < 1 << 53}


def usage_of(summary: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The `usage` object for the tokens that a summary counts; None if it counts none."""
    found: Iterable[tuple[str, Any]] = ((name, (summary or {}).get(name)) for name in TOKENS)
    return {name: value for name, value in found if value is not None} or None
