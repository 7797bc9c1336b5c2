"""Writes Data Formulator's streams in the form that its own pages read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from streamweir.codec.base import Encoder
from streamweir.codec.coerce import text_of
from streamweir.codec.frame_growth import GROWTH
from streamweir.codec.frame_template import Number
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.dialects.data_formulator.encode_answer import Answer
from streamweir.dialects.data_formulator.encode_questions import clarification, delegation
from streamweir.dialects.data_formulator.shared_failures import text_failure
from streamweir.dialects.data_formulator.shared_vocabulary import (
    ACTIONS,
    DETACHED_ARGUMENTS,
    ENDINGS,
    ENVELOPE,
    OWN_CODE,
    OWN_CUSTOM,
    PAUSES,
    STATES,
)
from streamweir.errors import CODES
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import json_digest, write_json, write_json_text

__all__ = ["DataFormulatorEncoder"]

_Message = dict[str, Any]


class DataFormulatorEncoder(Encoder):
    """Writes NDJSON.

    Options:
        profile: the page that reads the stream. `loading`: the chat, which ends with `done`; `analyst`: an
            agent
            run, which ends with `completion`.
    """

    framings = ("ndjson",)
    replaces = True
    is_old: ClassVar[bool] = True
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {"profile": ("loading", "analyst")}

    def __init__(self) -> None:
        super().__init__()
        self._may_continue = False
        self._result_is_due = False
        self._has_ended = False
        self._written_chart = b""

    @cached_property
    def _answer(self) -> Answer:
        return Answer(self.room // 2)

    @cached_property
    def _names(self) -> RecentIds[str]:
        """The names of tools, by the ids of open calls."""
        return RecentIds(self.room // 8)

    @cached_property
    def _own_actions(self) -> RecentIds[None]:
        return RecentIds(self.room // 16)

    @cached_property
    def _pending(self) -> OpenInteractions:
        return OpenInteractions(self.room // 2)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames for `event`; questions are written at the end, because they end the run."""
        del stamp
        messages = (*self._words_to_continue(event), self._message(event))
        return [Frame(write_json(piece)) for message in messages if message for piece in _in_pieces(message)]

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return an empty mapping; None for a text that looks like a failure, which is split."""
        del event, stamp
        return None if any(map(text_failure, texts)) else {}

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Add written texts to the kept answer."""
        if isinstance(event, Content):
            self._answer.add(event.with_text("".join(texts)))

    def _message(self, event: Event) -> _Message | None:
        match event:
            case Content():
                return self._text(event)
            case Thinking(content=text):
                return {"type": "thinking_text", **self._own(event, "iteration"), "content": text}
            case ToolCallStart() | ToolCallProgress() | ToolCallEnd():
                return self._call(event)
            case Data() | Status():
                return self._data(event) if isinstance(event, Data) else self._status(event)
            case Warning():
                return _warning(event.message, event.message_code, event.detail)
            case Error(terminal=False):
                return _warning(event.message, event.code, event.details)
            case Error():
                return _error(event.code, event.message, event.recoverable, event.details)
            case Interaction():
                return self._ask(event)
            case SessionEnd():
                return self._end(event)
            case Reference():
                self._lose("reference")
            case SessionStart() | ToolCallDelta():
                pass
        return None

    def _lose(self, kind: str) -> None:
        self.lost[kind] += 1

    def _text(self, event: Content) -> _Message | None:
        if not self._answer.add(event):
            self._lose("replaced text")
        if event.op == "replace" or not event.content:
            return None  # the end says it
        if event.channel is None and self._answer.begins_further_message:
            event = msgspec.structs.replace(event, content=f"\n\n{event.content}")
        channel = {"channel": event.channel} if event.channel else {}
        return {"type": "text_delta", **channel, "content": event.content, **self._own(event, "iteration")}

    def _call(self, event: ToolCallStart | ToolCallProgress | ToolCallEnd) -> _Message | None:
        if isinstance(event, ToolCallProgress):
            return self._progress(event)
        if isinstance(event, ToolCallStart):
            self._names.add(event.tool_id, event.tool_name)
            own = self._own(event, "iteration", "action")
            if own.get("action") == event.tool_name:
                self._own_actions.add(event.tool_id, None)
                return {"type": "action", **_without_type(event.arguments), **own}
            return {**_tool_start(event, all_arguments=self.option("profile") == "loading"), **own}
        result = _tool_result(event, self._names.get(event.tool_id) or "unknown")
        self._names.discard(event.tool_id)
        if event.tool_id in self._own_actions:
            self._own_actions.discard(event.tool_id)
            if event.status == "success":
                self._result_is_due = event.result is not None
                return None  # the result that follows says it, or a report has none
            del result["tool_id"]  # the action has none
        return {**result, **self._own(event, "iteration")}

    def _progress(self, event: ToolCallProgress) -> _Message | None:
        """Return the message of the action that a call became; None if the protocol has no place for it."""
        own = self._own(event)
        if "action" not in own:
            self._lose("tool call progress")
            return None
        self._own_actions.add(event.tool_id, None)
        return {"type": "action", **own}

    def _data(self, event: Data) -> _Message | None:
        match event:
            case Data(data_type="dataframe", data={"rows": list(rows), **others}):
                if len(rows) * _named_characters(others.get("columns")) > GROWTH * self.room:
                    self._lose("dataframe")
                    return None
                extra = self.extra_of(event)
                own = self._result_is_due or "refined_goal" in extra
                self._result_is_due = False
                if not own and self.option("profile") == "loading":
                    return _preview(event)
                self._written_chart = json_digest(_chart_of(extra)) if own else b""
                return {**_result(event, extra if own else {}), **self._own(event, "iteration")}
            case Data(data_type="chart", data=chart) if self._written_chart == json_digest(chart):
                return None
            case Data(data_type="custom", data={"name": str(name), "value": dict(value)}):
                if name in OWN_CUSTOM:
                    self._has_ended = name in ENDINGS
                    return {"type": name, **_without_type(value)}
                if name in ACTIONS and value.get("type") == name:
                    return {"type": "actions", "actions": [value]}
        self._lose(event.data_type)
        return None

    def _status(self, event: Status) -> _Message | None:
        detail = event.detail if isinstance(event.detail, dict) else {}
        match event:
            case Status(scope="phase", name="context", state="finished") if "rules_injected" in detail:
                return {"type": "context_info", **_without_type(detail)}
            case Status(scope="skill", state="finished", name=str(name)):
                return {"type": "skill_loaded", "skill": name, "unlocks": detail.get("unlocks", [])}
            case Status(scope="phase", state="running", name=str(name)):
                return {"type": "progress", **_without_type(detail), "phase": name}
        self._lose("status")
        return None

    def _ask(self, event: Interaction) -> _Message | None:
        if event.state != "requested":
            self._pending.discard(event.interaction_id)
            return None
        if event.kind == "continue":
            self._may_continue = True
            return {"type": "continue_prompt"}
        if event.kind == "tool":
            self._lose("call of the client's own tool")
        self._pending.add(event)
        return None

    def _words_to_continue(self, event: Event) -> Iterable[_Message | None]:
        """Return the question whether to continue, in the fixed words that the page knows."""
        if isinstance(event, Interaction) and event.kind == "continue" and event.state == "requested":
            text = "\n".join(text for text in (event.title, event.description) if text)
            return (self._text(Content(f"\n\n{text}")),) if text else ()
        return ()

    def _end(self, event: SessionEnd) -> _Message | None:
        match event.status:
            case "error":
                return None
            case "completed" if self._has_ended:
                return None
            case "cancelled":
                row = CODES["CANCELLED"]
                return _error("CANCELLED", row.message, row.recoverable, None)
            case "suspended" if self._pending or not self._may_continue:
                return self._suspended()
        if self.option("profile") == "loading":
            return {"type": "done", "full_text": self._full_text(), **self._replaced()}
        own = self._own(event, "total_steps", "summary_code")
        return {
            "type": "completion",
            **self._own(event, "iteration"),
            **self._replaced(),
            "status": self._own(event, "status").get("status", "success"),
            "content": {"total_steps": 0, **own, "summary": self._answer.text},
        }

    def _full_text(self) -> str:
        """Return the text that the chat shows in place of all earlier text."""
        keeps = self._answer.has_channels and not self._answer.replaced
        return "" if keeps else self._answer.text

    def _replaced(self) -> _Message:
        return {"op": "replace"} if self._answer.replaced and not self._answer.too_long else {}

    def _suspended(self) -> _Message:
        asked = [item for item in self._pending if item.kind != "handoff"]
        handed_over = [item for item in self._pending if item.kind == "handoff"]
        if handed_over and not asked:
            return {**delegation(handed_over[-1]), **self._own(handed_over[-1], "iteration")}
        own_pause = bool(asked) and asked[-1].interaction_id in PAUSES
        return {**clarification(asked), **(self._own(asked[-1]) if own_pause else {})}

    def _own(self, event: Event, *names: str) -> _Message:
        """Return the fields of this dialect that arrived with the event."""
        if not event.meta:
            return {}
        extra = self.extra_of(event)
        return {name: extra[name] for name in names or extra if name in extra}


def _in_pieces(message: _Message) -> tuple[_Message, ...]:
    """Return the messages of a text. A text that looks like a failure report of a server is split in two."""
    if message["type"] != "text_delta" or not text_failure(message["content"]):
        return (message,)
    text = message["content"]
    cut = len(text) - len(text.lstrip()) + 1
    return {**message, "content": text[:cut]}, {**message, "content": text[cut:]}


def _without_type(fields: Mapping[str, Any]) -> _Message:
    return {name: value for name, value in fields.items() if name != "type"}


def _tool_start(event: ToolCallStart, *, all_arguments: bool) -> _Message:
    given = event.arguments
    start = {"type": "tool_start", "tool": event.tool_name, "tool_id": event.tool_id}
    if all_arguments:
        return {**start, "code": given.get("code"), "args": given}
    detached = {name: given.get(name) for name in DETACHED_ARGUMENTS}
    others = {} if given.keys() <= detached.keys() else {"args": given}
    return {**start, **detached, **others}


def _tool_result(event: ToolCallEnd, name: str) -> _Message:
    failed = event.status == "failed"
    return {
        "type": "tool_result",
        "tool": name,
        "tool_id": event.tool_id,
        "status": "error" if failed else "ok",
        **_spread(event.result),
        **({"error": event.error["message"] if event.error else ""} if failed else {}),
    }


def _spread(result: Any) -> _Message:
    """Return a result as keys next to the tool's name; text and ambiguous keys become the tool's output."""
    if result is None:
        return {}
    if not isinstance(result, dict):
        return _as_output(result)
    status = result.get("status")
    clashes = result.keys() & ENVELOPE or (isinstance(status, str) and status in STATES)
    if clashes or not isinstance(result.get("actions", []), list):
        return _as_output(result)
    return result


def _as_output(result: Any) -> _Message:
    if isinstance(result, str):
        return {"stdout": result, "stdout_holds": "text"}
    return {"stdout": write_json_text(result), "stdout_holds": "json"}


def _result(event: Data, own: Mapping[str, Any]) -> _Message:
    """Return a table as the result of an agent's action; the page needs a goal, which may be empty."""
    assert isinstance(event.data, dict)
    about, rows, table = event.metadata or {}, _records(event.data), own.get("content")
    virtual = {
        "table_name": event.data.get("name") or "",
        "row_count": about.get("row_count", len(rows)),
    }
    result = {
        "status": "ok",
        **({"chart_id": about["chart_id"]} if "chart_id" in about else {}),
        "refined_goal": {},
        **{key: value for key, value in own.items() if key not in ("iteration", "content")},
        "content": {**(table if isinstance(table, dict) else {}), "rows": rows, "virtual": virtual},
    }
    content = {"question": text_of(about.get("description")), "result": result}
    return {"type": "result", "status": "success", "content": content}


def _chart_of(own: Mapping[str, Any]) -> Any:
    goal = own.get("refined_goal")
    return goal.get("chart") if isinstance(goal, dict) else None


def _preview(event: Data) -> _Message:
    assert isinstance(event.data, dict)
    rows = _records(event.data)
    preview = {
        "type": "preview_table",
        "name": event.data.get("name") or "",
        "columns": event.data.get("columns") or [],
        "sample_rows": rows,
        "total_rows": (event.metadata or {}).get("row_count", len(rows)),
    }
    return {"type": "actions", "actions": [preview]}


def _columns(named: Any) -> list[str]:
    return [text_of(column) for column in named] if isinstance(named, list) else []


def _named_characters(columns: Any) -> int:
    """Return the number of characters of the column names, which each written row repeats."""
    return sum(map(len, _columns(columns)))


def _records(table: Mapping[str, Any]) -> list[Any]:
    columns = _columns(table.get("columns"))
    return [dict(zip(columns, row, strict=False)) if isinstance(row, list) else row for row in table["rows"]]


def _warning(message: str, code: str | None, detail: Any) -> _Message:
    warning = {"message": message, "detail": text_of(detail), "message_code": code}
    return {"type": "warning", "warning": {key: value for key, value in warning.items() if value}}


def _error(code: str, message: str, retry: bool, details: Any) -> _Message:
    error = {"code": OWN_CODE.get(code, code), "message": message, "retry": retry}
    if details is not None:
        error["detail"] = text_of(details)
    return {"type": "error", "error": error}
