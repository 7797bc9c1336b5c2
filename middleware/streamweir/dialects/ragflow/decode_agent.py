"""Reads the events of an agent's run: frames with a top-level `event` (agents and canvas, from 0.20).

Source: infiniflow/ragflow `agent/canvas.py` and `api/apps/restful_apis/agent_api.py` (b1b8cd6 of 2026-08-22,
and the tags from v0.20.0 on), `internal/agent/canvas/runner.go` for the Go server.
Intended differences: `created_at` (for a node it is no time), `trace` and the answer inside
`workflow_finished` are left out as bookkeeping or repetition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import (
    arguments,
    custom,
    leftover,
    milliseconds,
    named_data,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.codec.families.openai_usage import TOKENS, tokens_in
from streamweir.codec.families.ragflow_failures import AnswerLine, failure, was_cancelled
from streamweir.codec.families.ragflow_forms import interaction
from streamweir.codec.families.think_tags import Passage, TaggedText
from streamweir.dialects.ragflow.decode_media import audio, files
from streamweir.dialects.ragflow.decode_run import Run
from streamweir.dialects.ragflow.shared_carrier import carried
from streamweir.dialects.ragflow.shared_vocabulary import TOOL
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.optional_json import json_or

__all__ = ["EVENTS", "AgentReader"]

EVENTS: Final = frozenset(
    {
        *("workflow_started", "node_started", "node_finished", "message", "message_end"),
        *("user_inputs", "waiting_for_user", "workflow_finished", "error"),
    }
)
_FRAME: Final = frozenset(
    {"event", "message_id", "created_at", "task_id", "session_id", "data", "code", "message"}
)
_NODE: Final = (
    *("inputs", "outputs", "component_id", "component_name", "component_type", "thoughts", "error"),
    *("elapsed_time", "created_at", "trace"),
)
_MESSAGE: Final = frozenset(
    {
        *("content", "start_to_think", "end_to_think", "thinking", "audio_binary", "attachment"),
        *("downloads", "reference"),
    }
)
_BOOKKEEPING: Final = ("_created_time", "_elapsed_time", "use_tools", "structured")
"""The outputs of a node that are times, or that are sent as separate events."""


class AgentReader:
    """Reads agent events; keeps whether text is thinking, and the status of the run.

    Attributes:
        used: whether an agent event has been read.
    """

    def __init__(self, run: Run) -> None:
        self.used = False
        self._run = run
        self._text = TaggedText("think")
        self._line = AnswerLine()
        self._message_ended = False
        self._shows_nodes = False
        self._failure: Error | None = None

    @property
    def failure(self) -> Error | None:
        """The failure of a node after which no output came. It ends the run if no other end arrives."""
        return self._failure

    @property
    def has_answered(self) -> bool:
        """Whether a message has ended and no other message is open."""
        return self._message_ended and not self._run.text_open

    def is_done(self) -> bool:
        """Return whether `[DONE]` may end the run here.

        `[DONE]` also follows failures. A run whose nodes are shown ends with `workflow_finished`, so `[DONE]`
        is enough only after a message, or if no event of the run was shown.
        """
        return self.has_answered or not (self._shows_nodes or self._run.text_open)

    def read(self, frame: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of one agent event."""
        self.used = True
        self._run.note_ids(
            session_id=frame.get("session_id"),
            message_id=frame.get("message_id"),
            task_id=frame.get("task_id"),
        )
        name, data = text_of(frame.get("event")), _unfolded(frame.get("data"))
        rest = leftover(frame, _FRAME)
        fields = data if isinstance(data, dict) else {}
        match name:
            case "workflow_started":
                yield self._workflow_started(fields, rest)
            case "node_started":
                yield self._node_started(fields, rest)
            case "node_finished":
                yield from self._node_finished(fields, rest)
            case "message":
                yield from self._message(fields or {"content": data}, rest)
            case "message_end":
                yield from self._message_end(fields, rest)
            case "user_inputs" | "waiting_for_user":
                yield from self.flush()
                yield interaction(fields, self._run.meta(extra=rest))
                yield SessionEnd("suspended", meta=self._run.meta())
            case "workflow_finished":
                yield from self._workflow_finished(fields, rest)
            case "error":
                yield from self.flush()
                yield failure(fields.get("message", data), fields.get("code"), self._run.meta())
            case _:
                yield custom(name, data, self._run.meta(extra=rest))

    def read_whole(self, answer: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a whole answer, which is the last agent event with the data of all events."""
        data = answer.get("data")
        fields = data if isinstance(data, dict) else {}
        ending = {
            key: value for key, value in fields.items() if key in ("reference", "attachment", "downloads")
        }
        ids = {**answer, "event": "message"}
        if fields.get("content"):
            yield from self.read({**ids, "data": {"content": fields["content"]}})
        yield from self.read({**ids, "event": "message_end", "data": ending})
        if structured := fields.get("structured"):
            yield named_data("structured", structured, self._run.meta())
        rest = leftover(fields, ("content", "structured", *ending))
        if answer.get("event") not in ("message", "message_end"):
            yield from self.read({**answer, "data": rest or {}})
        if self._failure:
            yield self._failure
        yield _finish(rest or {}, self._run.meta())

    def accepts_text(self, text: str) -> bool:
        """Note one more text; return False if it may hold a tag or a failure, and has to be decoded."""
        return self._text.accepts_text(text) and self._line.accepts_text(text)

    def flush(self) -> Iterator[Event]:
        """Yield the text that was held back because it may have been the beginning of a tag."""
        yield from self._passages(self._text.flush(), self._run.meta())

    # The workflow and its nodes

    def _workflow_started(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Event:
        self._shows_nodes = True
        if self._run.begun:
            return Status(
                "workflow", "started", detail=data.get("inputs") or None, meta=self._run.meta(extra=rest)
            )
        given = {**(leftover(data, ()) or {}), **(rest or {})}
        return SessionStart(self._run.session_id, meta=self._run.meta(extra=given))

    def _node_started(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Event:
        self._shows_nodes = True
        self._failure = None  # another batch of nodes: the failure was handled
        meta = self._node_meta(data, rest, inputs=data.get("inputs"))
        if data.get("component_type") == TOOL:
            return ToolCallStart(
                text_of(data.get("component_id")),
                text_of(data.get("component_name")) or "unknown",
                text_of(data.get("thoughts")) or None,
                arguments(data.get("inputs")),
                meta=self._run.meta(extra=rest),
            )
        thoughts = text_of(data.get("thoughts")) or None
        return Status("node", "started", text_of(data.get("component_name")) or None, thoughts, meta=meta)

    def _node_finished(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Iterator[Event]:
        outputs = data.get("outputs")
        found = outputs if isinstance(outputs, dict) else {}
        error = data.get("error") or found.get("_ERROR")
        match data.get("component_type"):
            case "Tool":
                yield self._tool_result(data, found, error, rest)
                return
            case "Event":
                yield carried(found, self._run.meta(extra={**(leftover(data, _NODE) or {}), **(rest or {})}))
                return
        name = text_of(data.get("component_name")) or None
        took = milliseconds(data.get("elapsed_time"), scale=1000)
        meta = self._node_meta(data, rest, duration_ms=took, inputs=data.get("inputs"))
        yield from self._tools_used(found.get("use_tools"), data)
        if found.get("structured"):
            yield named_data("structured", found["structured"], self._node_ids(data))
        if error:
            self._failure = upstream_error(error, meta=self._run.meta())
            yield Status("node", "failed", name, text_of(error), meta=meta)
            return
        detail = leftover(found, _BOOKKEEPING) if isinstance(outputs, dict) else outputs
        yield Status("node", "finished", name, detail, meta=meta)

    def _node_meta(
        self, data: Mapping[str, Any], rest: Mapping[str, Any] | None, *, inputs: Any = None, **fields: Any
    ) -> Meta | None:
        given = {"component_type": data.get("component_type"), "inputs": inputs}
        kept = {key: value for key, value in given.items() if value}
        return self._run.meta(
            node_id=data.get("component_id"),
            node_name=data.get("component_name"),
            extra={**kept, **(leftover(data, _NODE) or {}), **(rest or {})},
            **fields,
        )

    def _node_ids(self, data: Mapping[str, Any]) -> Meta | None:
        return self._run.meta(node_id=data.get("component_id"), node_name=data.get("component_name"))

    def _tools_used(self, calls: Any, node: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the calls of an agent; the server reports them when the agent has finished."""
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, dict):
                continue
            name, meta = text_of(call.get("name")) or "unknown", self._node_ids(node)
            yield ToolCallStart("", name, arguments=arguments(call.get("arguments")), meta=meta)
            yield ToolCallEnd("", result=call.get("results", call.get("result")), tool_name=name, meta=meta)

    def _tool_result(
        self, data: Mapping[str, Any], outputs: Mapping[str, Any], error: Any, rest: Mapping[str, Any] | None
    ) -> Event:
        calls = outputs.get("use_tools")
        call = calls[0] if isinstance(calls, list) and calls and isinstance(calls[0], dict) else {}
        return ToolCallEnd(
            text_of(data.get("component_id")),
            "failed" if error else "success",
            call.get("results"),
            tool_error(error, code=outputs.get("code")) if error else None,
            tool_name=text_of(data.get("component_name")) or None,
            meta=self._run.meta(
                duration_ms=milliseconds(data.get("elapsed_time"), scale=1000),
                extra={**(leftover(data, _NODE) or {}), **(rest or {})},
            ),
        )

    # Messages

    def _message(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Iterator[Event]:
        meta = self._run.meta(extra={**(leftover(data, _MESSAGE) or {}), **(rest or {})})
        if data.get("start_to_think"):
            yield from self.flush()
            self._text.inside = "think"
        if thinking := text_of(data.get("thinking")):
            yield Thinking(thinking, "reasoning", meta=meta)
        yield from self._piece(text_of(data.get("content")), meta)
        if data.get("end_to_think"):
            yield from self.flush()
            self._text.inside = None
        if meta and "extra" in meta and not data.get("content") and not thinking:
            yield custom("message", meta["extra"], self._run.meta())
        yield from audio(data.get("audio_binary"), self._run.meta())
        yield from self._attached(data)
        yield from self._run.reference(data.get("reference"))

    def _piece(self, text: str, meta: Meta | None) -> Iterator[Event]:
        found = self._line.failure_in(text, self._run.meta())
        yield from self._passages(self._text.feed(found.before if found else text), meta)
        if found:
            yield from self.flush()
            yield found.error

    def _passages(self, passages: list[Passage], meta: Meta | None) -> Iterator[Event]:
        for tag, text in passages:
            if tag:
                yield Thinking(text, "reasoning", meta=meta)
            else:
                self._run.has_text = self._run.text_open = True
                yield Content(text, meta=meta)

    def _message_end(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Iterator[Event]:
        """Yield the end of the current text. The nodes of a run share one message, which may continue."""
        yield from self.flush()
        self._text.inside = None
        self._line = AnswerLine()
        yield from self._run.reference(data.get("reference"))
        yield from self._attached(data)
        if extra := {**(leftover(data, _MESSAGE) or {}), **(rest or {})}:
            yield custom("message_end", extra, self._run.meta())
        self._run.text_open = False
        self._message_ended = True
        if not self._shows_nodes:
            self._failure = None  # the branch for failures has answered

    def _attached(self, data: Mapping[str, Any]) -> Iterator[Data]:
        yield from files(data.get("attachment"), self._run)
        yield from files(data.get("downloads"), self._run)

    # The end

    def _workflow_finished(self, data: Mapping[str, Any], rest: Mapping[str, Any] | None) -> Iterator[Event]:
        yield from self.flush()
        outputs = data.get("outputs")
        if was_cancelled(outputs):
            yield SessionEnd("cancelled", meta=self._run.meta(extra=rest))
            return
        found = outputs if isinstance(outputs, dict) else {"content": outputs}
        if not self._run.has_text:
            yield from self._piece(text_of(found.get("content")), self._run.meta())
            yield from self.flush()
        if found.get("_ERROR") and not self._run.has_text:
            yield self._failure or upstream_error(found["_ERROR"], meta=self._run.meta())
            return
        kept = leftover(found, ("content", "_ERROR", *_BOOKKEEPING))
        yield _finish({**data, "outputs": kept, **(rest or {})}, self._run.meta())


def _finish(data: Mapping[str, Any], meta: Meta | None) -> SessionEnd:
    """Return the end of a run with its usage; fields without a place are kept."""
    usage = data.get("usage")
    summary = tokens_in(usage)
    extra = {
        **(leftover(data, ("usage", "elapsed_time", "created_at", "trace")) or {}),
        **((leftover(usage, TOKENS) or {}) if isinstance(usage, dict) else {}),
    }
    kept = {key: value for key, value in extra.items() if value not in ({}, [], "")}
    fields: Meta = {**(meta or {})}
    if kept:
        fields["extra"] = kept
    took = milliseconds(data.get("elapsed_time"), scale=1000)
    if took is not None:
        fields["duration_ms"] = took
    return SessionEnd(summary=summary or None, meta=fields or None)


def _unfolded(data: Any) -> Any:
    """Return the data; the Go server may send it as JSON inside a string, which is parsed."""
    if not isinstance(data, str) or not data.lstrip().startswith("{"):
        return data
    return json_or(data, data)
