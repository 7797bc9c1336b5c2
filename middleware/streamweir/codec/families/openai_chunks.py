"""Reads OpenAI-shaped `chat.completion` objects, streamed and whole, from many servers.

Source: the Chat Completions API (openai-node 6.49 `src/core/streaming.ts`, openai-python 3.52) and the
variants of vLLM, LiteLLM, OpenRouter, DeepSeek, Azure and one-api. Intended leniency: reasoning under either
of its names, or only in `reasoning_details`; calls without ids or indices; content as a list of parts,
thinking among them (Mistral); arguments that are objects; a whole answer (`message`) in place of a `delta`;
an `error` in any shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.coerce import (
    and_extra,
    custom,
    leftover,
    message_meta,
    named_data,
    objects_in,
    text_of,
)
from streamweir.codec.counts import keep_counts
from streamweir.codec.families.content_parts import content_pieces
from streamweir.codec.families.groq_tools import ExecutedTools
from streamweir.codec.families.minimax_failures import BASE_RESP, error_in_base_resp
from streamweir.codec.families.openai_attachments import ATTACHMENTS, attachments_in, audio_in
from streamweir.codec.families.openai_calls import ClientCalls, bounded
from streamweir.codec.families.openai_failures import error_in
from streamweir.codec.families.openai_reasoning import REASONING, REASONING_DETAILS, Reasoning
from streamweir.codec.families.openai_sources import Sources, sources_in
from streamweir.codec.families.openai_usage import TOKENS, tokens_in
from streamweir.codec.families.plain_chunks import PlainChunk, plain_chunk
from streamweir.codec.finish import CUT_SHORT, finish_error
from streamweir.codec.message_template import Piece
from streamweir.events import Content, Data, Event, Meta, SessionEnd, SessionStart, Thinking, Whole
from streamweir.ids import short_id
from streamweir.options.limits import EVENT_BYTES

__all__ = ["ChunkReader", "is_completion"]

_TEXTS: Final = ("content", "refusal", *REASONING)
_BEHIND_REASONING: Final = ("content", "refusal", "tool_calls", "function_call", "audio", *ATTACHMENTS)
"""The fields of a delta that close the preceding reasoning, unless they are empty."""
_RAN: Final = "tool_call_results"
"""The finish reason with which Haystack's agents end the results of tools; the results are not sent."""

_DELTA: Final = frozenset(
    {
        "role",
        "index",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "audio",
        "end_turn",
        "executed_tools",
        REASONING_DETAILS,
        *REASONING,
        *ATTACHMENTS,
    }
)
"""The known fields of a delta.

The text of `reasoning_details` is read only if no field of `REASONING` has a text, which it would repeat. The
`role` is always the assistant, the `index` is that of the choice (Mistral).
"""


_REASONS: Final = frozenset({REASONING_DETAILS, *REASONING})

_CHUNK: Final = frozenset(
    {
        *("id", "object", "created", "model", "choices", "usage", "error"),
        *(
            *("system_fingerprint", "service_tier", "provider", "prompt_filter_results"),
            *("obfuscation", "p", "x_groq", "moderation", BASE_RESP),
        ),
    }
)
_FINISH: Final = ("finish_reason", "finishReason")
"""The names of a choice's finish reason. Serializers of Java or JavaScript write the second."""

_CHOICE: Final = frozenset(
    {
        *("index", "delta", "message", "text", *_FINISH),
        *("native_finish_reason", "stop_reason", "matched_stop", "content_filter_results", "usage", "error"),
    }
)
"""The known fields of a chunk and of a choice: ids, times, padding, and fields that are read elsewhere.

The usage is a field of the chunk, or is in `x_groq` (Groq) or in the last choice (Moonshot).
"""


class ChunkReader:
    """Reads the chunks of one stream. The calls in it are for the client to run.

    Args:
        room: the number of bytes, roughly, that incomplete calls may take together.

    Attributes:
        known: the fields of a delta that a rule reads; a dialect with more of them adds its own.
        opaque_name: the key of the opaque values; None: the dialect has no opaque values.
        complete: whether a finish reason has arrived.
        summary: the finish reason and the usage, as far as they have arrived.
    """

    known: ClassVar[frozenset[str]] = _DELTA
    opaque_name: ClassVar[str | None] = None
    _calls: ClientCalls | None = None
    _reasoning: Reasoning | None = None
    _other_reasoning: Reasoning | None = None
    _sources: Sources | None = None
    _executed: ExecutedTools | None = None

    def __init__(self, *, room: int = EVENT_BYTES) -> None:
        self.complete = False
        self.summary: dict[str, Any] = {}
        self._begun = False
        self._id: Any = None
        self._id_meta: Meta | None = None
        self._request_id = ""
        self._room = room

    @property
    def calls(self) -> ClientCalls:
        """The calls that the client is to run; the object is made when it is first used."""
        if self._calls is None:
            self._calls = ClientCalls(self._room, opaque_name=self.opaque_name, request_id=self._request_id)
        return self._calls

    def _reasoning_of(self, choice: int) -> Reasoning:
        """Return the reader for the reasoning of a choice. Only the opaque values of the first choice belong
        to a message.
        """
        if choice:
            self._other_reasoning = self._other_reasoning or Reasoning(None)
            return self._other_reasoning
        self._reasoning = self._reasoning or Reasoning(self.opaque_name, room=self._room)
        return self._reasoning

    @property
    def _has_asked(self) -> bool:
        return self._calls is not None and self._calls.has_asked

    @property
    def _is_reasoning(self) -> bool:
        return self._reasoning is not None and self._reasoning.is_pending

    def name_stream(self, request_id: str, room: int) -> None:
        """Set the request id of the stream, and the number of bytes that are kept of calls and of details.

        To be called before the first message is read.
        """
        self._request_id = request_id
        self._room = room

    @property
    def plain_piece(self) -> Piece | None:
        """A text like those that `take_plain` would return now, aside from its content; None if it would
        return more than a text.
        """
        is_plain = self._begun and self._id and not self.complete and self._calls is None
        return Content("", meta=self._id_meta) if is_plain and self._reasoning is None else None

    def read_plain(self, message: Mapping[str, Any]) -> tuple[Event, ...] | None:
        """Return the events that `read` would yield for a plain chunk; else None, without change."""
        plain = plain_chunk(message)
        return None if plain is None else self.take_plain(message, plain)

    def take_plain(self, message: Mapping[str, Any], plain: PlainChunk) -> tuple[Event, ...] | None:
        """Return the events of a plain chunk; None, without change, if `read` has to read it.

        Args:
            message: the chunk. Only its id and the names in a first chunk are read.
            plain: the contents of the chunk.
        """
        if self.complete or self._calls is not None or self._reasoning is not None:
            return None
        if (plain.reason and finish_error(plain.reason)) or plain.reason == _RAN:
            return None
        begin = () if self._begun and self._id else self._begin(message, (plain,))
        if plain.reason:
            self.complete = True
            self.summary["finish_reason"] = standard_finish(plain.reason)
        return (*begin, Content(plain.text, meta=self._id_meta)) if plain.text else begin

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of one chunk, one whole answer or one error object."""
        if (error := error_in(message)) is not None:
            yield error
            return
        choices = message.get("choices")
        yield from self._begin(message, choices)
        meta = self._id_meta
        if message.get("usage") is not None:
            yield from self._count(message["usage"], meta)
        if isinstance(groq := message.get("x_groq"), dict):
            yield from self._count(groq.get("usage"), meta)
            if rest := leftover(groq, ("id", "usage", "error")):
                yield custom("x_groq", rest, meta)
        given: dict[str, Any] = {}
        if not message.keys() <= _CHUNK:
            given = sources_in(message)
            if rest := leftover(message, _CHUNK | given.keys()):
                yield custom("chunk", rest, meta)
        for choice in bounded(choices):
            if isinstance(choice, dict):
                yield from self.read_choice(choice, meta)
        if not self.complete and message.get("object") == "chat.completion":
            yield from self._end_whole(choices)
        if given:
            self._sources = self._sources or Sources()
            yield from self._sources.read(given, meta)

    def _end_whole(self, choices: Any) -> Iterator[Event]:
        """Note the end of a whole answer that has no finish reason, as servers in Go write it."""
        if any(
            "delta" not in choice and isinstance(choice.get("message"), dict)
            for choice in objects_in(choices)
        ):
            self.complete = True
            yield from self.calls.start()

    def _begin(self, message: Mapping[str, Any], choices: Any) -> tuple[Event, ...]:
        """Note the id of the answer; return the start of the stream at the first chunk."""
        if not self._id or (self.complete and choices):
            self._id = _message_id(message.get("id"))  # some servers give every chunk another id
            self._id_meta = message_meta(self._id)
        if self._begun or not (self._id or choices):  # Azure's first chunk says nothing but of filters
            return ()
        self._begun = True
        return (SessionStart(meta=and_extra(self._id_meta, _origin(message))),)

    def _count(self, usage: Any, meta: Meta | None) -> Iterator[Event]:
        """Note the counts of a server; yield the counts that are too large to be kept to the end."""
        if not isinstance(usage, dict):
            return
        counted = {**(leftover(usage, TOKENS) or {}), **tokens_in(usage)}
        if rest := keep_counts(self.summary, counted, TOKENS):
            yield custom("usage", rest, meta)

    def close(self) -> Iterator[Event]:
        """Yield the remaining events, and the end; the end is suspended if the client is to run tools."""
        if self._reasoning is not None:
            yield from self._reasoning.close(message_meta(self._id))
        if self._calls is not None:
            yield from self._calls.hand_over()
        yield SessionEnd("suspended" if self._has_asked else "completed", summary=self.summary or None)

    # One choice

    def read_choice(self, choice: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the events of one choice: text, reasoning, calls, and data for this dialect's fields."""
        index = choice.get("index")
        index = index if isinstance(index, int) and index > 0 else 0
        whole = choice.get("message")
        delta = choice.get("delta")
        if isinstance(delta, dict) and "message" in choice:
            self.calls.may_be_run = True  # hayhooks writes both, before pipelines and agents with tools
        fields = delta if isinstance(delta, dict) else {}
        if isinstance(whole, dict) and not any(fields.get(name) for name in fields.keys() - {"role"}):
            fields = whole  # Perplexity's whole answers have an empty delta, too
        if not fields and isinstance(choice.get("text"), str):
            fields = {"content": choice["text"]}
        if not fields.keys() <= self.known and (rest := leftover(fields, self.known)):
            yield custom("delta", rest, meta)
        if not choice.keys() <= _CHOICE and (rest := leftover(choice, _CHOICE)):
            is_known = rest.keys() == {"logprobs"}
            yield (named_data if is_known else custom)("choice", rest, meta)
        if choice.get("usage") is not None:
            yield from self._count(choice["usage"], meta)
        if self._has_asked and any(fields.get(name) for name in _TEXTS):
            yield from self.calls.go_on(index)
        yield from self.read_delta(fields, index, meta, "snapshot" if fields is whole else None)
        if (error := error_in(choice)) is not None:  # OpenRouter
            yield error
        elif isinstance(reason := choice.get("finish_reason") or choice.get("finishReason"), str) and reason:
            yield from self.finish(reason, index, meta)

    def read_delta(
        self, delta: Mapping[str, Any], index: int, meta: Meta | None, whole: Whole | None
    ) -> Iterator[Event]:
        """Yield the events for the fields of a delta, or of a whole message."""
        if not _REASONS.isdisjoint(delta):
            yield from self._reasoning_of(index).read(delta, whole, meta)
        if self._is_reasoning and not index and any(delta.get(name) for name in _BEHIND_REASONING):
            yield from self._reasoning_of(index).close(meta)
        if executed := delta.get("executed_tools"):
            self._executed = self._executed or ExecutedTools(self._request_id, self._room)
            yield from self._executed.read(executed, meta)
        for name in ("content", "refusal"):
            value = delta.get(name)
            if isinstance(value, str):
                if value:
                    yield from self.read_text(value, index, meta, whole)
            elif value is not None:
                yield from self._read_parts(value, index, meta, whole)
        if not ATTACHMENTS.isdisjoint(delta):
            yield from attachments_in(delta, meta)
        if "audio" in delta:
            yield from self._read_sound(delta["audio"], index, meta, whole)
        if "tool_calls" in delta or "function_call" in delta:
            yield from self.calls.take(delta, index, meta)

    def _read_sound(self, sound: Any, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield the transcript and the bytes of a piece of sound."""
        if not isinstance(sound, dict):
            return
        if transcript := text_of(sound.get("transcript")):
            yield from self.read_text(transcript, index, meta, whole)
        if audio := audio_in(sound):
            yield Data("audio", audio, meta=meta)

    def _read_parts(self, parts: Any, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield the texts and thoughts of a list of parts in their order, then the parts of other kinds."""
        for piece in content_pieces(parts, joined=whole is not None):
            if piece.kind == "thinking":
                yield Thinking(piece.text, "reasoning", whole, meta=meta)
            elif piece.kind == "text":
                yield from self.read_text(piece.text, index, meta, whole)
            else:
                yield custom("part", piece.part, meta)

    def read_text(self, text: str, index: int, meta: Meta | None, whole: Whole | None) -> Iterator[Event]:
        """Yield a piece of the answer. Choices after the first have channels of their own."""
        yield Content(text, channel=f"choice-{index}" if index else None, whole=whole, meta=meta)

    def finish(self, reason: str, index: int, meta: Meta | None) -> Iterator[Event]:
        """Note that a choice has ended."""
        if (error := finish_error(reason, meta)) is not None:
            yield error
            return
        if index == 0 and self._reasoning is not None:
            yield from self._reasoning.close(meta)
            self._reasoning.end_message()
        if reason == _RAN:
            yield from self.calls.go_on(index)
            return
        self.complete = True
        finish = self.summary["finish_reason"] = standard_finish(reason)
        if self._calls is not None:
            yield from self._calls.start(index, cut_short=finish in CUT_SHORT)


def is_completion(message: Mapping[str, Any]) -> bool:
    """Return whether `message` has the shape of a chunk, a whole answer or an error of this API."""
    return (
        isinstance(message.get("choices"), list)
        or (
            isinstance(message.get("error"), dict | str) and bool(message["error"]) and "event" not in message
        )
        or (_may_lack_choices(message) and isinstance(message.get("usage"), dict))
        or error_in_base_resp(message) is not None
    )


def _may_lack_choices(message: Mapping[str, Any]) -> bool:
    """Return whether `message` is a chunk without choices, in which some servers send the usage."""
    if message.get("choices") is not None:
        return False
    return "choices" in message or message.get("object") == "chat.completion.chunk"


def is_chunk(message: Mapping[str, Any]) -> bool:
    """Return whether `message` is a piece of a streamed answer."""
    match message:
        case {"choices": [{"delta": dict()}, *_]}:
            return True
    return False


def _message_id(value: Any) -> Any:
    return short_id(value) if isinstance(value, str) else value if isinstance(value, int | float) else None


def _origin(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the ids and names of a first chunk, as metadata of the stream."""
    return {
        name: message[name] for name in ("model", "system_fingerprint", "provider") if message.get(name)
    } or None
