"""Reads Flowise's events, `{event, data}`. The line `message:` before each event is not an SSE field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import counts_in, custom, leftover, meta_of, named_data, text_of, upstream_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.flowise.decode_steps import AgentReasoning, flow, next_agent, next_node
from streamweir.dialects.flowise.decode_tools import UsedTools
from streamweir.dialects.flowise.decode_values import approval, files, references, speech
from streamweir.events import Content, Event, Interaction, Reference, SessionEnd, Thinking
from streamweir.framing import Frame

__all__ = ["FlowiseDecoder"]

_OWN_NAMES: Final = frozenset(
    {
        *("sourceDocuments", "artifacts", "fileAnnotations", "usedTools", "calledTools"),
        *("agentReasoning", "nextAgent", "agentFlowEvent", "nextAgentFlow", "agentFlowExecutedData"),
        *("usageMetadata", "token"),
    }
)
_COMMON_NAMES: Final = frozenset({"start", "thinking", "tool", "action", "metadata", "error", "abort", "end"})
_TOKENS: Final = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}
_IDS: Final = ("chatId", "chatMessageId", "sessionId", "question", "memoryType", "isStreamValid")
_WHOLE: Final = (
    *_IDS,
    *("text", "sourceDocuments", "usedTools", "calledTools", "agentReasoning", "agentFlowExecutedData"),
    *("fileAnnotations", "action", "artifacts"),
)
_NOTHING: Final = frozenset({"start", "agentFlowExecutedData", "tts_start", "tts_end"})
"""The events that are left out: the first token again, the trajectory with prompts, marks of speech."""


class FlowiseDecoder(Decoder):
    """Reads one prediction. `end` or `abort` ends it."""

    text_fields: ClassVar = TextFields(texts=(("data",),))

    def __init__(self) -> None:
        self._tools = UsedTools()
        self._reasoning = AgentReasoning(self._tools)
        self._summary: dict[str, Any] = {}
        self._asked = False

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an event name next to `data`, and for an answer with a message id."""
        if fields.keys() <= {"event", "data"} and event in (None, "message"):
            name = fields.get("event")
            return 0.7 if name in _OWN_NAMES else 0.4 if name in _COMMON_NAMES else 0.0
        return 0.8 if {"text", "chatId", "chatMessageId"} <= fields.keys() else 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        if not frame.data.strip():
            return ()
        self._tools.request_id = self.request_id
        match frame.json():
            case {"event": "token", "data": str(text), **rest}:
                return (Content(text, meta=meta_of(extra=rest)),) if text or rest else ()
            case {"event": "thinking", "data": str(text), **rest} if text:
                return (Thinking(text, "reasoning", meta=meta_of(extra=rest)),)
            case {"event": str(name)} as message if (
                name in _READERS or name in _STATELESS or name in _NOTHING
            ):
                return self._read(name, message)
            case {"text": _, "chatId": _} as whole:
                return self._whole(whole)
            case {"statusCode": int(status), "message": message}:
                return (upstream_error(message, status=status),)
            case {"event": str(name), **rest}:
                return (custom(name, rest.get("data") if rest.keys() <= {"data"} else rest),)
            case value:
                return (custom("message", value),)

    def _read(self, name: str, message: Mapping[str, Any]) -> Iterator[Event]:
        if rest := leftover(message, ("event", "data")):
            yield custom(name, rest)
        if name not in _NOTHING:
            yield from self._meant(name, message.get("data"))

    def _meant(self, name: str, value: Any) -> Iterable[Event]:
        read = _READERS.get(name)
        return _STATELESS[name](value) if read is None else read(self, value)

    def _whole(self, answer: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of the JSON body for a request without a stream."""
        yield from _metadata({name: answer.get(name) for name in _IDS})
        for name in ("usedTools", "agentReasoning", "sourceDocuments", "fileAnnotations", "artifacts"):
            if answer.get(name):
                yield from self._meant(name, answer[name])
        if text := text_of(answer.get("text")):
            yield Content(text)
        if rest := leftover(answer, _WHOLE):
            yield custom("answer", rest)
        if answer.get("action"):
            yield from self._action(answer["action"])
        yield self._end()

    def _action(self, value: Any) -> Iterator[Event]:
        if event := approval(value):
            self.complete = self._asked = self._asked or isinstance(event, Interaction)
            self.pauses = self._asked
            yield event

    def _usage(self, usage: Any) -> Iterator[Event]:
        if not isinstance(usage, dict):
            return
        self._summary |= counts_in(usage, _TOKENS)
        if rest := leftover(usage, _TOKENS):
            yield named_data("usageMetadata", rest)

    def _end(self) -> Event:
        return SessionEnd("suspended" if self._asked else "completed", summary=self._summary or None)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    def close(self) -> Iterable[Event]:
        """Yield the end if a person was asked, because such a run sends no end event."""
        return (self._end(),) if self._asked else ()


def _sources(value: Any) -> Iterator[Event]:
    if found := references(value):
        yield Reference(found)


def _metadata(value: Any) -> Iterator[Event]:
    """Yield the events of the ids, which arrive near the end, and of other fields of the answer."""
    if not isinstance(value, dict):
        return
    meta = meta_of(thread_id=value.get("chatId"), message_id=value.get("chatMessageId"))
    known = {name: value[name] for name in ("chatId", "chatMessageId", "sessionId") if value.get(name)}
    yield named_data("metadata", {**known, **(leftover(value, _IDS) or {})}, meta)


def _failure(value: Any) -> Event:
    if isinstance(value, dict):
        return upstream_error(value.get("message") or value.get("error"), code=value.get("code"))
    return upstream_error(value)


_READERS: Final[Mapping[str, Callable[[FlowiseDecoder, Any], Iterable[Event]]]] = {
    "tool": lambda decoder, value: decoder._tools.read(value),
    "usedTools": lambda decoder, value: decoder._tools.read(value),
    "calledTools": lambda decoder, value: decoder._tools.read_asked(value),
    "agentReasoning": lambda decoder, value: decoder._reasoning.read(value),
    "action": FlowiseDecoder._action,
    "usageMetadata": FlowiseDecoder._usage,
    "end": lambda decoder, _: (decoder._end(),),
}
_STATELESS: Final[Mapping[str, Callable[[Any], Iterable[Event]]]] = {
    "sourceDocuments": _sources,
    "artifacts": lambda value: (named_data("artifacts", value),) if value else (),
    "fileAnnotations": files,
    "nextAgent": next_agent,
    "agentFlowEvent": flow,
    "nextAgentFlow": next_node,
    "metadata": _metadata,
    "tts_data": speech,
    "error": lambda value: (_failure(value),),
    "abort": lambda _: (SessionEnd("cancelled"),),
}
