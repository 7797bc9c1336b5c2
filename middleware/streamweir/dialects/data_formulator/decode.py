"""Reads Data Formulator's streams: finds the family of each event, and the end of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from streamweir.codec.base import NO_OPTIONS, Decoder, Options
from streamweir.codec.coerce import custom, leftover, named_data, text_of, tool_error
from streamweir.codec.message_template import TextFields
from streamweir.dialects.data_formulator import decode_agent_runs as agent_runs
from streamweir.dialects.data_formulator import decode_evidence as evidence
from streamweir.dialects.data_formulator import decode_questions as questions
from streamweir.dialects.data_formulator.decode_first_releases import ERROR_LINE, modern_form
from streamweir.dialects.data_formulator.decode_plain_events import PLAIN_EVENTS, extra_of
from streamweir.dialects.data_formulator.decode_tool_calls import Actions, OpenCalls, tool_result, tool_start
from streamweir.dialects.data_formulator.shared_failures import error_event, operation_failure, text_failure
from streamweir.dialects.data_formulator.shared_vocabulary import ENDINGS, ENDPOINT_OF_PATH, ENDPOINT_OF_TYPE
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Error, Event, Interaction, Meta, SessionEnd, Thinking, ToolCallEnd
from streamweir.framing import Frame
from streamweir.jsontext import parse_json
from streamweir.own_warnings import own_warning

__all__ = ["DataFormulatorDecoder"]

_ONLY_PROBLEMS = ("warning", "error")

_CALLED_AS = {"completion": "summary"}
"""The name of the call that a model may make in place of an end of the run (0.7), if the name differs."""

_ANY_ACTION = "action"
"""The name of a call that may be for any of the actions."""


class DataFormulatorDecoder(Decoder):
    """Reads all families of events in one decoder; no two families use one event in different ways.

    attribute       set by                                       cleared by            decides
    ─────────────   ──────────────────────────────────────────   ───────────────────   ──────────────────────
    `_seen`         the first event that only one endpoint has   —                     how the body may end
    `_answered`     a text other than blanks, or a question      —                     an end without event;
                                                                                       text of `done` is text
    `_waits`        a pause or a delegation                      —                     the end is a suspension
    `_half`         a frame without its line end                 the end of reading    the body was cut
    `_is_text`      a piece of text                              any other event       texts by template
    `_action`       the begin of an action                       its result; a call,   the call that a result
                                                                 action, error, end    belongs to
    `_flat_error`   an error that may not be the last event      any event but         it is terminal at the
                                                                 warnings and errors   end of the body

    Options:
        endpoint: which endpoint is read. It matters only if a stream ends without an end event: reports and
            questions end with the body, loading chats and agent runs do not.
    """

    framing = "ndjson"
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "endpoint": ("auto", "agent", "analyst", "loading", "report", "questions")
    }
    text_fields: ClassVar = TextFields(
        texts=(("content",),), usual={"type": "text_delta", "content": "Hello"}
    )

    def __init__(self) -> None:
        self._seen: str | None = None
        self._answered = False
        self._action: str | None = None
        self._calls = OpenCalls()
        self._actions = Actions()
        self._flat_error: Error | None = None
        self._waits = False
        self._half = False
        self._is_text = False
        self._thoughts = 0

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a score for the type of an event and the fields that only this dialect has with it."""
        return evidence.score(fields, event)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the option `endpoint`, by the last part of the path."""
        endpoint = ENDPOINT_OF_PATH.get(path.partition("?")[0].rstrip("/").rpartition("/")[2])
        return {"endpoint": endpoint} if endpoint else NO_OPTIONS

    def decode(self, frame: Frame) -> Iterator[Event]:
        """Yield the events of `frame`."""
        if not frame.data:
            return
        self._half = frame.unterminated
        for value in _values(frame):
            if isinstance(value, dict):
                message = {"type": frame.event, **value} if frame.event else value
                yield from self._read(message)
            else:
                yield custom("message", value)
        self._half = False

    def accepts_text(self, text: str) -> bool:
        """Return whether the text only continues the answer; failures and thoughts have to be decoded."""
        if not self._is_text or text_failure(text):
            return False
        self._answered = self._answered or bool(text.strip())
        return True

    @property
    def shown_form(self) -> Options:
        """The encoder's options for the page that reads the events of this stream."""
        return {"profile": "analyst" if self._seen in ("agent", "analyst") else "loading"}

    def close(self) -> Iterator[Event]:
        """Yield the events that depend on the end of the body."""
        if self.complete:
            yield SessionEnd("suspended" if self._waits else "completed")
        elif self._flat_error is not None:
            yield msgspec.structs.replace(self._flat_error, terminal=True)
        elif self._answered and not self._half:
            yield from self._end_at_eof()

    def _apart(self, event: Event) -> Event:
        """Return the event; a thought gets a message id of its own, because it is a whole paragraph."""
        if isinstance(event, Thinking) and event.content:
            self._thoughts += 1
            meta: Meta = {**(event.meta or {}), "message_id": f"thought_{self._thoughts}"}
            return msgspec.structs.replace(event, meta=meta)
        return event

    def _end_at_eof(self) -> Iterator[Event]:
        chosen = self.option("endpoint")
        endpoint = self._seen if chosen == "auto" else chosen
        if endpoint not in (None, "report", "questions"):
            return
        if endpoint is None:
            yield own_warning("END_UNCONFIRMED")
        yield SessionEnd()

    def _read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        kind = message.get("type")
        if not isinstance(kind, str) or not kind:
            yield from self._read_untyped(message)
            return
        if "token" in message:  # of the request, echoed by the first releases
            message = {name: value for name, value in message.items() if name != "token"}
        self._is_text = kind == "text_delta"
        if kind not in _ONLY_PROBLEMS:
            self._flat_error = None
        self._seen = self._seen or ENDPOINT_OF_TYPE.get(kind)
        plain = PLAIN_EVENTS.get(kind)
        if plain is None:
            yield from self._read_stateful(kind, message)
        else:
            self._answered = self._answered or kind == "question"
            yield self._apart(plain(message))

    def _read_stateful(self, kind: str, message: Mapping[str, Any]) -> Iterator[Event]:
        match kind:
            case "text_delta":
                yield from self._text(message)
            case "tool_start" | "tool_call":
                yield from self._close_action()
                yield self._tool_start(message)
            case "tool_result":
                yield from self._tool_result(message)
            case "action":
                yield from map(self._apart, self._open_action(message))
            case "result":
                yield from self._result(message)
            case "actions":
                yield from self._actions.events(message)
            case "continue_prompt":
                self.complete = self._waits = True
                yield Interaction("continue", "continue", meta=extra_of(message, ()))
            case "error":
                yield from self._error(message)
            case _:
                yield from map(self._apart, self._read_ending(kind, message))

    def _read_ending(self, kind: str, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a message that ends the run, or of an unknown one."""
        if kind not in ENDINGS:
            yield from self._unknown(kind, message)
            return
        yield from self._close_action()
        yield from self._close_calls(kind)
        match kind:
            case "completion":
                yield from agent_runs.completion(message, waits=self._waits, has_text=self._answered)
            case "done":
                yield from self._done(message)
            case "data_operation_result":
                yield from self._data_operation(message)
            case "delegate":
                yield from agent_runs.thought(message)
                self.complete = self._waits = True
                yield questions.handing_over(message)
            case _:
                yield from questions.pause(message)

    def _done(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the end of a chat. Its text is a failure only if no other text has arrived."""
        text = text_of(message.get("full_text"))
        failure = None if self._answered else text_failure(text)
        if failure:
            yield failure
            return
        yield from agent_runs.final_text(message, text)
        meta = extra_of(message, ("full_text", "op"))
        yield SessionEnd("suspended" if self._waits else "completed", meta=meta)

    def _data_operation(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the outcome of the loading that the user chose, which is the only event of its stream."""
        operation = message.get("operation")
        if isinstance(operation, dict) and operation.get("status") == "failed":
            yield operation_failure(operation)
            return
        loaded = named_data("data_operation_result", leftover(message, ("type",)) or {})
        loaded.is_answer = True
        yield loaded
        yield SessionEnd()

    def _unknown(self, kind: str, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield a custom event, or the result of a tool whose own `type` has replaced the event's type."""
        if self._calls.has(message.get("tool")):
            yield from self._tool_result(message)
        else:
            yield custom(kind, leftover(message, ("type",)) or {})

    def _read_untyped(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a message without a type: an envelope, a whole answer, or an event of the first
        releases.
        """
        modern = modern_form(message)
        if modern is not None and modern["type"] == "error" and "step" not in modern:
            yield error_event(modern, terminal=True)
        elif modern is not None:
            yield from self._read(modern)
        elif message.get("status") in ("success", "ok"):
            held = "data" if "data" in message else "result"
            meta = extra_of(message, ("status", "token", held))
            yield named_data("response", message.get(held), meta)
            self.complete = True
        else:
            yield custom("message", message)

    def _text(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield a piece of text, or a failure; a run may continue after a failed report."""
        channel = message.get("channel")
        named = channel if isinstance(channel, str) and channel not in ("", "main") else None
        text = text_of(message.get("content"))
        failure = text_failure(text)
        if failure and named is None:
            yield failure
            return
        if failure:
            yield from self._flat(msgspec.structs.replace(failure, terminal=False))
            return
        if named is not None:
            self._seen = self._seen or "agent"
        self._answered = self._answered or bool(text.strip())
        is_plain = len(message) == 2 and "content" in message
        meta = None if is_plain else extra_of(message, ("content", "channel"))
        yield Content(text, channel=named, meta=meta)

    def _tool_start(self, message: Mapping[str, Any]) -> Event:
        start = tool_start(message)
        self._calls.begin(start)
        return start

    def _tool_result(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield a result; if it names no tool, it belongs to the last open call."""
        self._actions.note(message)
        name, tool_id = text_of(message.get("tool")), text_of(message.get("tool_id"))
        if not name and not tool_id:
            name = self._action or self._calls.last()
        if not self._calls.end(name, tool_id) and name == self._action:
            self._action = None
        yield tool_result({**message, "tool": name})

    def _close_calls(self, kind: str) -> Iterator[Event]:
        """Yield ends of calls of unknown tools, without results, so that the client does not run them."""
        for name in self._calls.end_all():
            if name in (_ANY_ACTION, _CALLED_AS.get(kind, kind)):
                yield ToolCallEnd("", tool_name=name)
            else:
                yield _failed(name, "TOOL_INCOMPLETE")

    def _open_action(self, message: Mapping[str, Any]) -> Iterator[Event]:
        yield from self._close_action()
        yield from agent_runs.thought(message)
        name = text_of(message.get("action")) or _ANY_ACTION
        called = next((known for known in (name, _ANY_ACTION) if self._calls.end(known)), None)
        self._action = called or name
        if called:
            yield agent_runs.action_called(message, called)
        else:
            yield agent_runs.action_start(message, name)

    def _result(self, message: Mapping[str, Any]) -> Iterator[Event]:
        name, self._action = self._action, None
        failed = agent_runs.result_failed(message)
        if not failed:
            if name is not None:
                yield ToolCallEnd("", result=agent_runs.result_outcome(message), tool_name=name)
            yield from agent_runs.result_data(message)
        elif name is not None:
            yield _failed(name, "TOOL_FAILED")
        else:
            yield named_data("result", {**(leftover(message, ("type",)) or {}), "status": "error"})

    def _close_action(self, failure: Error | None = None) -> Iterator[Event]:
        """Yield the end of the open action if the run goes on: a report is complete, else it has failed."""
        name, self._action = self._action, None
        if name is None:
            return
        if failure is not None:
            yield _failed(name, "TOOL_FAILED", failure.message)
        elif name == "visualize":
            yield _failed(name, "TOOL_INCOMPLETE")
        else:
            yield ToolCallEnd(tool_id="", tool_name=name)

    def _error(self, message: Mapping[str, Any]) -> Iterator[Event]:
        error = error_event(message)
        if isinstance(error, Error) and not error.terminal:
            yield from self._flat(error)
        else:
            yield error

    def _flat(self, error: Error) -> Iterator[Event]:
        """Yield an error of an agent; it is the terminal error only if no other event follows."""
        self._flat_error = error
        yield from self._close_action(error)
        yield error


def _failed(name: str, code: str, message: str | None = None) -> Event:
    return ToolCallEnd("", "failed", error=tool_error(message, code=code), tool_name=name)


def _values(frame: Frame) -> Iterator[Any]:
    """Yield the JSON values of a frame: one value, an array of events, or one value on each `data:` line."""
    try:
        value = frame.json()
    except MalformedEvent:
        lines = frame.data.split(b"\n")
        if frame.data.startswith(ERROR_LINE):
            yield {"status": "error", "error": parse_json(frame.data.removeprefix(ERROR_LINE))[0]}
            return
        if len(lines) == 1:
            raise
        for line in filter(None, map(bytes.strip, lines)):
            yield parse_json(line)[0]
        return
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield from value
    else:
        yield value
