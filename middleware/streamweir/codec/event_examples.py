"""Examples of all events of the standard protocol: one for each kind of event and its main forms."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from streamweir.events import (
    Content,
    Data,
    DataType,
    Error,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
)

__all__ = ["EVENT_EXAMPLES", "EventExample"]


class EventExample(NamedTuple):
    """One example: its name, its events, and the events that have to come before them."""

    name: str
    events: tuple[Event, ...]
    before: tuple[Event, ...]

    @property
    def ends(self) -> bool:
        """Whether the stream ends with this example."""
        return isinstance(self.events[-1], SessionEnd)

    @property
    def end(self) -> SessionEnd:
        """The end of a stream that contains the example."""
        if isinstance(self.events[-1], Interaction):
            return SessionEnd("suspended", "interaction")
        return SessionEnd("completed", "done")

    @property
    def replaces(self) -> bool:
        """Whether the example replaces text that was sent."""
        return any(isinstance(event, Content) and event.op == "replace" for event in self.events)


_META: Final = Meta(message_id="msg_1", run_id="run_1")
_START: Final = SessionStart(session_id="sess_1", request_id="req_1")
_CALL: Final = ToolCallStart(tool_id="call_1", tool_name="search", arguments={"query": "tea"}, meta=_META)
_TEXT: Final = Content("Hello", meta=_META)
_USAGE: Final = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "duration_ms": 900}
_TABLE: Final = {"name": "sales", "columns": ["product", "sold"], "rows": [["tea", 3]]}
_FORM: Final = {"type": "object", "properties": {"city": {"type": "string"}}}


def _example(name: str, *events: Event, after: tuple[Event, ...] = ()) -> EventExample:
    return EventExample(name, events, (_START, *after))


def _data(kind: DataType, data: Any) -> EventExample:
    return _example(f"data {kind}", Data(kind, data))


def _error(*, terminal: bool) -> Error:
    return Error(
        error_type="execution",
        code="UPSTREAM_ERROR",
        message="The service reported an error. Please try again.",
        recoverable=True,
        terminal=terminal,
        reason="upstream_error",
    )


EVENT_EXAMPLES: Final[tuple[EventExample, ...]] = (
    EventExample("session_start", (_START,), ()),
    _example("thinking", Thinking("Let me see.", "reasoning", meta=_META)),
    _example("tool_call_start", _CALL),
    _example(
        "tool_call_progress",
        ToolCallProgress(tool_id="call_1", progress=0.5, message="half", meta=_META),
        after=(_CALL,),
    ),
    _example(
        "tool_call_end success",
        ToolCallEnd(tool_id="call_1", result={"hits": 3}, meta=_META),
        after=(_CALL,),
    ),
    _example(
        "tool_call_end failed",
        ToolCallEnd(
            tool_id="call_1",
            status="failed",
            error={"code": "TOOL_FAILED", "message": "The tool failed."},
            meta=_META,
        ),
        after=(_CALL,),
    ),
    _example("content", _TEXT),
    _example("content, the last piece", Content("", is_complete=True, meta=_META), after=(_TEXT,)),
    _example(
        "content, replacing",
        Content("Goodbye", op="replace", is_complete=True, meta=_META),
        after=(_TEXT,),
    ),
    _example("content, another channel", Content("# Report", channel="report", meta=_META)),
    _data("dataframe", _TABLE),
    _data("chart", {"mark": "bar"}),
    _data("image", {"url": "https://example.com/a.png", "media_type": "image/png"}),
    _data("audio", {"url": "https://example.com/a.mp3", "media_type": "audio/mpeg"}),
    _data("file", {"url": "https://example.com/a.pdf", "media_type": "application/pdf"}),
    _data("state", {"step": 1}),
    _data("state_delta", [{"op": "replace", "path": "/step", "value": 2}]),
    _data("custom", {"name": "note", "value": {"a": 1}}),
    _example("reference", Reference([{"id": "d1", "title": "Handbook", "snippet": "five days"}])),
    _example("status", Status("node", "started", "search")),
    _example("warning", Warning("An old table was skipped.", "TABLE_SKIPPED")),
    _example(
        "interaction form",
        Interaction(interaction_id="form_1", kind="form", title="Where?", schema=_FORM),
    ),
    _example(
        "interaction questions",
        Interaction(
            interaction_id="ask_1",
            kind="questions",
            questions=[{"text": "Which one?", "response_type": "free_text"}],
        ),
    ),
    _example("interaction approval", Interaction(interaction_id="call_1", kind="approval"), after=(_CALL,)),
    _example("error", _error(terminal=True), SessionEnd("error", "upstream_error")),
    _example("error, the run goes on", _error(terminal=False)),
    _example("session_end completed", SessionEnd("completed", "done", _USAGE), after=(_TEXT,)),
    _example("session_end cancelled", SessionEnd("cancelled", "cancelled"), after=(_TEXT,)),
    _example("session_end suspended", SessionEnd("suspended", "interaction"), after=(_TEXT,)),
)
