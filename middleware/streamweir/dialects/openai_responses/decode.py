"""Reads the Responses API: its events, and a whole response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.base import NO_EXTRA, Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.finish import finish_error
from streamweir.codec.message_template import TextFields
from streamweir.codec.suspension import SUSPENSION, asked_in, is_suspended
from streamweir.codec.text_form import TextForm
from streamweir.dialects.openai_responses.decode_audio import Audio
from streamweir.dialects.openai_responses.decode_items import Items
from streamweir.dialects.openai_responses.decode_notes import compacting, listing_failed, queued
from streamweir.dialects.openai_responses.shared_words import (
    EVENTS,
    REPETITIONS,
    RESPONSE_ENDS,
    TEXT_DELTAS,
    THINKING_DELTAS,
    with_plain_type,
)
from streamweir.events import Content, Event, Meta, SessionEnd, SessionStart, Thinking
from streamweir.framing import Frame
from streamweir.ids import short_value

__all__ = ["ResponsesDecoder"]

_SETTINGS: Final = (
    *("id", "object", "created_at", "completed_at", "model", "status", "output", "output_text", "usage"),
    *("error", "incomplete_details", "instructions", "metadata", "parallel_tool_calls", "temperature"),
    *("tool_choice", "tools", "top_p", "background", "conversation", "max_output_tokens", "max_tool_calls"),
    *("previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning"),
    *("safety_identifier", "service_tier", "store", "text", "top_logprobs", "truncation", "user"),
    *("billing", "frequency_penalty", "presence_penalty", "access_programs", "image", "moderation"),
    *("prompt_cache_options", "prompt_cache_diagnostics", "input_transformations", "tool_usage", SUSPENSION),
)
"""The known fields of a response: its own fields, and fields that repeat the request."""

_INCOMPLETE: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
_TOKENS: Final = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}


_DELTAS: Final = TEXT_DELTAS | THINKING_DELTAS
_ARGUMENT_DELTAS: Final = frozenset(
    {
        *("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"),
        *("response.shell_call_command.delta", "response.apply_patch_call_operation_diff.delta"),
    }
)


class ResponsesDecoder(Decoder):
    """Reads one stream. `response.completed`, `incomplete`, `failed` and `error` end it."""

    text_fields: ClassVar = TextFields(
        texts=(("delta",),),
        ignored=(("sequence_number",), ("obfuscation",)),
        form=TextForm(
            '{"type":"response.output_text.delta"',
            ',"sequence_number":<ignored>?',
            ',"item_id":<string>,"output_index":<number>?',
            ',"output_index":<number>,"item_id":<string>?',
            ',"content_index":<number>',
            ',"delta":<text>',
            ',"logprobs":[]?',
            ',"item_id":<string>,"output_index":<number>?',
            ',"sequence_number":<ignored>?',
            ',"obfuscation":<ignored>?',
            "}",
        ),
    )

    def __init__(self) -> None:
        self._items = Items()
        self._audio = Audio(self._items.room)
        self._meta: Meta | None = None
        self._tokens: Mapping[str, Any] = NO_EXTRA

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The token counts of a response that failed, whose end has no summary."""
        return self._tokens

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for the events of the API, and for a whole response."""
        kind = fields.get("type")
        if isinstance(kind, str) and kind.startswith("response.") and kind in EVENTS:
            return 0.98 if event in (None, kind) else 0.0
        match fields:
            case {"object": "response", "output": list(), "status": str()}:
                return 0.98
            case {"type": "error", "message": str(), "sequence_number": int()}:
                return 0.9
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        text = frame.data.strip()
        if not text or text == b"[DONE]":
            return ()
        message = frame.json()
        if not isinstance(message, dict):
            return (custom("message", message),)
        self._items.room.size = self.room
        return self._read(message)

    def _read(self, message: Mapping[str, Any]) -> Iterable[Event]:
        match message:
            case {"type": str(kind), "delta": str(text)} if kind in _DELTAS:
                return self._delta(message, text)
            case {"type": str(kind)} if kind in REPETITIONS:
                return ()
            case {"type": "response.created", "response": dict(response)}:
                return self._start(response)
            case {"type": str(kind), "response": dict(response)} if kind in RESPONSE_ENDS:
                return self._end(response)
            case {"type": "response.output_item.added", "item": dict(item)}:
                return self._items.begin(message.get("output_index"), item)
            case {"type": "response.output_item.done", "item": dict(item)}:
                return self._items.finish(message.get("output_index"), item)
            case {"type": str(kind), "delta": str(text)} if kind in _ARGUMENT_DELTAS:
                return self._items.piece(message, text)
            case {"type": "response.output_text.annotation.added", "annotation": dict(annotation)}:
                return self._annotation(message, annotation)
            case {"object": "response", "output": list()}:
                return self._whole(message)
            case {"type": "error"} | {"error": dict()}:
                return (_failure(message.get("error", message)),)
        return self._read_rarely(message, text_of(message.get("type")))

    def _read_rarely(self, message: Mapping[str, Any], kind: str) -> Iterable[Event]:
        match kind:
            case "response.audio.delta":
                return self._audio.add(text_of(message.get("delta")), self._meta)
            case "response.audio.done":
                return self._audio.take(self._meta)
            case "response.audio.transcript.delta":
                return self._transcript(message)
            case "response.audio.transcript.done":
                return (Content("", is_complete=True, channel="transcript", meta=self._meta),)
            case "response.shell_call_output_content.delta":
                return self._items.output_piece(message)
            case "response.image_generation_call.partial_image":
                return self._items.partial_image(message)
            case "response.compaction.compacting":
                return (compacting(),)
            case "response.queued":
                return (queued(),)
            case "response.mcp_list_tools.failed":
                return (listing_failed(),)
        if (plain := with_plain_type(message, EVENTS)) is not message:
            return self._read(plain)
        return (custom(kind or "message", leftover(message, ("type",)), self._meta),)

    def _transcript(self, message: Mapping[str, Any]) -> Iterator[Event]:
        if text := text_of(message.get("delta")):
            yield Content(text, channel="transcript", meta=self._meta)
        yield from self._rest(message)

    def _delta(self, message: Mapping[str, Any], text: str) -> Iterator[Event]:
        self._items.note_text(message)
        meta = meta_of(message_id=message.get("item_id"))
        if text and message["type"] in TEXT_DELTAS:
            yield Content(text, meta=meta)
        elif text:
            yield Thinking(text, "reasoning", meta=meta)
        yield from self._rest(message)

    def _annotation(self, message: Mapping[str, Any], annotation: dict[str, Any]) -> Iterator[Event]:
        yield from self._items.annotations([annotation], meta_of(message_id=message.get("item_id")))
        yield from self._rest(message)

    def _rest(self, message: Mapping[str, Any]) -> Iterator[Event]:
        known = (
            *("type", "delta", "item_id", "output_index", "content_index", "summary_index"),
            *("sequence_number", "logprobs", "obfuscation", "annotation", "annotation_index"),
        )
        if rest := leftover(message, known):
            yield custom("delta", rest, self._meta)

    def _start(self, response: Mapping[str, Any]) -> Iterator[Event]:
        self._meta = meta_of(run_id=short_value(response.get("id")))
        self._items.calls.declare(response.get("tools"))
        model = response.get("model")
        extra = {**({"model": model} if model else {}), **(leftover(response, _SETTINGS) or {})}
        yield SessionStart(meta=meta_of(run_id=response.get("id"), extra=extra))

    def _whole(self, response: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a response in place of a stream; streamed parts are not read twice."""
        yield from self._start(response)
        yield from self._end({name: value for name, value in response.items() if name in _SETTINGS})

    def _end(self, response: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the output that was not streamed, then the end."""
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                yield from self._items.finish(index, item)
        yield from self._audio.take(self._meta)
        yield from asked_in(response)
        if rest := leftover(response, _SETTINGS):
            yield custom("response", rest, self._meta)
        self._tokens = summary = _usage(response.get("usage"))
        if response.get("status") in (None, "completed"):
            yield from self._items.finish_rest()
        match response:
            case {"status": "failed"} | {"error": dict()}:
                yield _failure(response.get("error"))
                return
            case {"status": "cancelled"}:
                yield SessionEnd("cancelled", summary=summary or None)
                return
            case {"incomplete_details": {"reason": str(reason)}}:
                if (error := finish_error(reason, self._meta)) is not None:
                    yield error
                    return
                summary["finish_reason"] = standard_finish(reason, _INCOMPLETE)
            case _:
                summary["finish_reason"] = "tool_calls" if self._items.calls.called else "stop"
        yield from self._items.calls.ask()
        waits = self._items.calls.waits or is_suspended(response)
        yield SessionEnd("suspended" if waits else "completed", summary=summary, meta=self._meta)


def _failure(error: Any) -> Event:
    fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
    return upstream_error(
        fields.get("message"),
        code=fields.get("code"),
        details=leftover(fields, ("type", "code", "message", "param", "sequence_number")),
    )


def _usage(usage: Any) -> dict[str, Any]:
    """Return the counts of a response; a count of something other than tokens keeps its name."""
    found: dict[str, Any] = {}
    for name, count in usage.items() if isinstance(usage, dict) else ():
        known = _TOKENS.get(name)
        if known is None:
            if count is not None:
                found[name] = count
        elif type(count) is int and 0 <= count < 1 << 53:
            found[known] = count
    return found
