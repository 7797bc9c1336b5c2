"""Reads the lines of `/api/chat` and `/api/generate`, streamed and whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.base import Decoder
from streamweir.codec.coerce import (
    arguments,
    counts_in,
    custom,
    leftover,
    meta_of,
    milliseconds,
    text_of,
    upstream_error,
)
from streamweir.codec.finish import finish_error, finish_with_calls
from streamweir.codec.message_template import TextFields
from streamweir.codec.standard_shapes import file_event
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallStart,
)
from streamweir.framing import Frame
from streamweir.ids import made_call_id

__all__ = ["OllamaDecoder"]

_ORIGIN: Final = ("model", "remote_model", "remote_host")
_COUNTS: Final = {"prompt_eval_count": "prompt_tokens", "eval_count": "completion_tokens"}
_DURATIONS: Final = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
_FINISH: Final = {"load": "stop", "unload": "stop"}
"""The meanings of finish words for a request without a prompt, which loads or unloads the model."""

_NANOSECONDS: Final = 1e-6
_BOOKKEEPING: Final = ("created_at", "context", "logprobs")
_LINE: Final = frozenset({*_ORIGIN, *_COUNTS, *_DURATIONS, *_BOOKKEEPING, "done", "done_reason"})
_PARTS: Final = ("thinking", "response", "content", "images", "image", "tool_calls")
_MESSAGE: Final = frozenset({*_PARTS, "role", "tool_name"})
_ERROR: Final = ("error", "status", "StatusCode", "status_code")


class OllamaDecoder(Decoder):
    """Reads one answer. The line with `done` is the end, and has the counts."""

    framing: ClassVar = "ndjson"
    text_fields: ClassVar = TextFields(
        texts=(("message", "content"), ("message", "thinking"), ("response",), ("thinking",)),
        ignored=(("created_at",),),
    )

    def __init__(self) -> None:
        self._has_begun = False
        self._calls = 0

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for a line with a model, an answer and `done`."""
        del event
        match fields:
            case {"model": str(), "done": bool(), "message": dict()}:
                return 0.9
            case {"model": str(), "done": bool(), "response": str()}:
                return 0.9
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of a line."""
        if not frame.data.strip():
            return ()
        line = frame.json()
        match line:
            case {"error": error} if error:
                return self._failure(line)
            case {"done": _} | {"message": dict()} | {"response": str()}:
                return self._read(line)
        return (custom("line", line),)

    def _failure(self, line: Mapping[str, Any]) -> Iterator[Event]:
        status = next((line[name] for name in _ERROR[1:] if isinstance(line.get(name), int)), None)
        yield upstream_error(line["error"], status=status, details=leftover(line, (*_ERROR, *_LINE)))

    def _read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        if not self._has_begun:
            self._has_begun = True
            yield SessionStart(meta=meta_of(extra={name: line[name] for name in _ORIGIN if line.get(name)}))
        message = line.get("message")
        if isinstance(message, dict):
            yield from self._parts(message)
            rest = {**(leftover(message, _MESSAGE) or {}), **(leftover(line, {*_LINE, "message"}) or {})}
        else:
            yield from self._parts(line)
            rest = leftover(line, {*_LINE, *_PARTS}) or {}
        if rest:
            yield custom("line", rest)
        if line.get("done") is True:
            yield finish_error(line.get("done_reason")) or self._end(line)

    def _parts(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a message, or of a line that is a message itself (`/api/generate`)."""
        if text := text_of(message.get("thinking")):
            yield Thinking(text, "reasoning")
        for name in ("response", "content"):
            if text := text_of(message.get(name)):
                yield Content(text)
        images = message.get("images") or message.get("image")
        for image in images if isinstance(images, list) else [images] if images else ():
            yield file_event("image", {"base64": text_of(image), "media_type": "image/png"}, None)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield from self._call(call) if isinstance(call, dict) else (custom("tool_call", call),)

    def _call(self, call: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the start of a complete call, which the client is to run."""
        function = call.get("function")
        fields = function if isinstance(function, dict) else call
        self._calls += 1
        tool_id = text_of(call.get("id")) or made_call_id(self.request_id, self._calls)
        name = text_of(fields.get("name")) or "unknown"
        meta = _extra(fields, call)
        given = arguments(fields.get("arguments"))
        yield ToolCallStart(tool_id, name, arguments=given, for_client=True, meta=meta)
        yield Interaction(tool_id, "tool", title=name)

    def _end(self, line: Mapping[str, Any]) -> Event:
        reason = line.get("done_reason")
        finish = standard_finish(reason, _FINISH) if isinstance(reason, str) and reason else "stop"
        summary: dict[str, Any] = {"finish_reason": finish}
        summary |= counts_in(line, _COUNTS)
        if len(summary) > len(_COUNTS):
            summary["total_tokens"] = summary["prompt_tokens"] + summary["completion_tokens"]
        for name in _DURATIONS:
            if (duration := milliseconds(line.get(name), scale=_NANOSECONDS)) is not None:
                summary[f"{name}_ms"] = duration
        if reason not in (None, "", "stop", "length"):
            summary["done_reason"] = reason
        if self._calls:
            summary["finish_reason"] = finish_with_calls(finish)
            return SessionEnd("suspended", summary=summary)
        return SessionEnd(summary=summary)


def _extra(function: Mapping[str, Any], call: Mapping[str, Any]) -> Meta | None:
    rest = leftover(function, ("id", "type", "name", "arguments", "index", "function")) or {}
    if function is not call:
        rest |= leftover(call, ("id", "type", "index", "function")) or {}
    return meta_of(extra=rest)
