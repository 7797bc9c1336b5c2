"""Reads Dify's events, whose names are inside their JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import (
    and_extra,
    custom,
    leftover,
    meta_of,
    milliseconds,
    named_data,
    object_in,
    objects_in,
    text_of,
    upstream_error,
)
from streamweir.codec.message_template import TextFields
from streamweir.dialects.dify.decode_agent import Thoughts, is_repeated
from streamweir.dialects.dify.decode_agent_log import AgentLog
from streamweir.dialects.dify.decode_forms import form, form_state
from streamweir.dialects.dify.decode_media import message_file, references, speech
from streamweir.dialects.dify.decode_steps import STEPS, step
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    Whole,
)
from streamweir.framing import Frame

__all__ = ["DifyDecoder"]

_COMMON: Final = (
    *("event", "task_id", "id", "message_id", "conversation_id", "workflow_run_id"),
    *("created_at", "mode", "from_variable_selector"),
)
_TOKENS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
_RUN: Final = (
    *("id", "workflow_id", "status", "outputs", "error", "elapsed_time", "total_tokens", "total_steps"),
    *("created_by", "created_at", "finished_at", "exceptions_count", "files", "inputs", "reason"),
)
_ANSWERS: Final = ("message", "agent_message", "message_end", "message_replace", "agent_thought")
_NAMES: Final = frozenset(
    {
        *_ANSWERS,
        *STEPS,
        *("message_file", "reasoning_chunk", "text_chunk", "text_replace", "tts_message", "tts_message_end"),
        *("workflow_started", "workflow_finished", "workflow_paused", "human_input_required"),
        *("human_input_form_filled", "human_input_form_timeout", "error"),
    }
)
_MAY_FAIL: Final = ("error", "workflow_finished")
"""The events that, like steps, do not start a session, because the stream may be only a failure."""

_OWN_FIELDS: Final = ("conversation_id", "workflow_run_id", "answer")


class DifyDecoder(Decoder):
    """Reads one run. The end of the message or of the workflow completes the run; more events may follow.

    `complete` is set by `message_end`, by the end of a workflow and by a pause, and never cleared: the body
    may end then. `_is_paused` makes that end a suspension; a form sets it, and so does a
    paused workflow, which asks to continue unless a form was `_asked`. `_has_begun` is set by the first event
    that is neither a step nor a possible failure, and starts the session. `_is_agent` is set by the first
    piece of an agent: its last message repeats all pieces.
    """

    text_fields: ClassVar = TextFields(texts=(("answer",), ("data", "text")), ignored=(("created_at",),))

    def __init__(self) -> None:
        self._has_begun = False
        self._is_agent = False
        self._is_paused = False
        self._asked = False
        self._thoughts = Thoughts()
        self._log = AgentLog()
        self._summary: dict[str, Any] = {}

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an event with one of Dify's ids, and for an error with its three fields."""
        del event
        if "session_id" in fields:
            return 0.0
        match fields:
            case {"event": "error", "status": int(), "code": _, "message": _}:
                return 0.96
            case {"event": str(name)} if name in _NAMES and any(own in fields for own in _OWN_FIELDS):
                return 0.96
            case {"workflow_run_id": str(), "data": {"workflow_id": _, "outputs": _}}:
                return 0.9
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; a bare `event: ping` has no events."""
        if not frame.data.strip():
            return ()
        fields = frame.json()
        match fields:
            case {"event": "ping"}:
                return ()
            case {"event": str(name)} if name in _READERS or name in _STATELESS or name in STEPS:
                return self._read(name, fields)
            case {"workflow_run_id": _, "data": {"workflow_id": _, "outputs": _}} if "event" not in fields:
                return self._read("workflow_finished", fields)
            case {"event": str(name)}:
                return (custom(name, leftover(fields, ("event",)) or {}),)
        return (custom("message", fields),)

    def accepts_text(self, text: str) -> bool:
        """Note a text of the answer, which an agent's thoughts repeat."""
        self._thoughts.note(text)
        return True

    def accepts_texts(self, texts: Sequence[str]) -> int:
        """Note texts of the answer, which an agent's thoughts repeat."""
        self._thoughts.note("".join(texts))
        return len(texts)

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._summary

    def close(self) -> Iterable[Event]:
        """Return the end, if it has been announced; the end is suspended if a person was asked."""
        if not self.complete:
            return ()
        return (SessionEnd("suspended" if self._is_paused else "completed", summary=self._summary or None),)

    def _read(self, name: str, fields: dict[str, Any]) -> Iterator[Event]:
        conversation = fields.get("conversation_id")
        meta = meta_of(
            thread_id=conversation,
            message_id=fields.get("message_id"),
            run_id=fields.get("workflow_run_id") or fields.get("task_id"),
        )
        if not self._has_begun and name not in STEPS and name not in _MAY_FAIL:
            self._has_begun = True
            yield SessionStart(session_id=text_of(conversation) or None, meta=meta)
        if name in STEPS:
            yield from step(name, fields, meta)
            if name == "agent_log":
                yield from self._log.calls_in(fields, meta)
        elif name in _STATELESS:
            yield from _STATELESS[name](fields, meta)
        else:
            yield from _READERS[name](self, fields, meta)

    # The answer

    def _thought(self, fields: dict[str, Any], meta: Meta | None) -> Iterable[Event]:
        return self._thoughts.read(fields, meta)

    def _message(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield a piece of text, the whole one after an agent's pieces, or (with `mode`) the whole answer."""
        is_whole = "mode" in fields
        known = (*_COMMON, "answer", "metadata", "audio") if is_whole else (*_COMMON, "answer")
        text, rest = text_of(fields.get("answer")), leftover(fields, known)
        if text or (rest and not is_whole):
            whole: Whole | None = "repeat" if text and self._is_agent else None
            self._thoughts.note(text)
            yield Content(text, whole=whole, meta=and_extra(meta, rest))
        if is_whole:
            yield from self._message_end({**fields, "answer": None}, meta)

    def _agent_message(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        self._is_agent = True
        text, rest = text_of(fields.get("answer")), leftover(fields, (*_COMMON, "answer"))
        if text or rest:
            self._thoughts.note(text)
            yield Content(text, meta=and_extra(meta, rest))

    def _replaced(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        rest = leftover(fields, (*_COMMON, "answer"))
        yield Content(text_of(fields.get("answer")), op="replace", meta=and_extra(meta, rest))

    def _text_chunk(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        data, rest = _data_of(fields, "text")
        text = text_of(data.get("text"))
        if text or rest:
            self._thoughts.note(text)
            yield Content(text, meta=and_extra(meta, rest))

    def _text_replace(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        data, rest = _data_of(fields, "text")
        yield Content(text_of(data.get("text")), op="replace", meta=and_extra(meta, rest))

    def _message_end(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        self.complete = True
        metadata = object_in(fields, "metadata")
        self._count(metadata.get("usage"))
        if found := references(metadata.get("retriever_resources")):
            yield Reference(found, meta=meta)
        for file in objects_in(fields.get("files")):
            yield from message_file(file, meta)
        rest = {
            **(leftover(metadata, ("usage", "retriever_resources")) or {}),
            **(leftover(fields, (*_COMMON, "answer", "metadata", "files", "audio")) or {}),
        }
        if rest:
            yield custom("message_end", rest, meta)

    def _count(self, usage: Any) -> None:
        for name, value in usage.items() if isinstance(usage, dict) else ():
            if name in _TOKENS or (name in ("latency", "total_price", "currency") and value is not None):
                self._summary[name] = value

    # The workflow

    def _workflow_finished(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        data, rest = _data_of(fields, *_RUN)
        status = text_of(data.get("status"))
        timed = and_extra(_timed(meta, data), rest)
        if status == "failed":
            yield Status("workflow", "failed", detail=text_of(data.get("error")) or None, meta=timed)
            yield upstream_error(data.get("error"), meta=meta)
            return
        yield Status("workflow", "finished", detail=status or None, meta=timed)
        if status == "stopped":
            yield SessionEnd("cancelled")
            return
        yield from self._outputs(data.get("outputs"), meta)
        self.complete = True
        if "total_tokens" not in self._summary and type(data.get("total_tokens")) is int:
            self._summary["total_tokens"] = data["total_tokens"]

    def _outputs(self, outputs: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the outputs of a workflow that were not streamed; a single text is the answer."""
        if not isinstance(outputs, dict):
            return
        found = {
            name: value
            for name, value in outputs.items()
            if value not in (None, "", [])
            and not (isinstance(value, str) and is_repeated(self._thoughts, value))
        }
        match [*found.values()]:
            case [str(text)] if self._thoughts.is_silent:
                yield Content(text, meta=meta)
            case [_, *_]:
                yield named_data("outputs", found, meta)

    def _workflow_paused(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        data, rest = _data_of(fields, *_RUN, "reasons", "paused_nodes")
        yield Status(
            "workflow", "suspended", detail=data.get("reasons"), meta=and_extra(_timed(meta, data), rest)
        )
        self._is_paused = self.complete = True
        if not self._asked:
            run = text_of(fields.get("workflow_run_id")) or "workflow"
            yield Interaction(run, "continue", resume={"workflow_run_id": run}, meta=meta)

    def _form(self, fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        self._asked = self._is_paused = self.complete = self.pauses = True
        yield form(fields, meta)


def _reasoning(fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
    data, rest = _data_of(fields, "reasoning", "is_final", "message_id", "node_id")
    text = text_of(data.get("reasoning"))
    if text or rest:
        yield Thinking(text, "reasoning", meta=and_extra(meta, rest))


def _workflow_started(fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
    _, rest = _data_of(fields, *_RUN)
    yield Status("workflow", "started", meta=and_extra(meta, rest))


def _error(fields: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
    status = fields.get("status")
    yield upstream_error(
        fields.get("message"),
        code=fields.get("code"),
        status=status if isinstance(status, int) else None,
        details=leftover(fields, (*_COMMON, "status", "code", "message")),
        meta=meta,
    )


def _data_of(fields: Mapping[str, Any], *known: str) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Return an event's data, and the fields that no rule reads."""
    data = object_in(fields, "data")
    beside = leftover(fields, (*_COMMON, "data") if isinstance(fields.get("data"), dict) else _COMMON) or {}
    return data, {**(leftover(data, (*known, "from_variable_selector")) or {}), **beside} or None


def _timed(meta: Meta | None, data: Mapping[str, Any]) -> Meta | None:
    duration = milliseconds(data.get("elapsed_time"), scale=1000)
    return meta if duration is None else {**(meta or {}), "duration_ms": duration}


_READERS: Final[Mapping[str, Callable[[DifyDecoder, dict[str, Any], Meta | None], Iterable[Event]]]] = {
    "message": DifyDecoder._message,
    "agent_message": DifyDecoder._agent_message,
    "message_replace": DifyDecoder._replaced,
    "message_end": DifyDecoder._message_end,
    "agent_thought": DifyDecoder._thought,
    "text_chunk": DifyDecoder._text_chunk,
    "text_replace": DifyDecoder._text_replace,
    "workflow_finished": DifyDecoder._workflow_finished,
    "workflow_paused": DifyDecoder._workflow_paused,
    "human_input_required": DifyDecoder._form,
}
_STATELESS: Final[Mapping[str, Callable[[dict[str, Any], Meta | None], Iterable[Event]]]] = {
    "message_file": message_file,
    "reasoning_chunk": _reasoning,
    "tts_message": speech,
    "tts_message_end": speech,
    "workflow_started": _workflow_started,
    "human_input_form_filled": form_state,
    "human_input_form_timeout": form_state,
    "error": _error,
}
