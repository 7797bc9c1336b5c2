"""Messages of old vocabularies, and the standard events that each means: `tests/vectors/normalize.json`."""

from typing import Any

from streamweir import normalize_stream_event

__all__ = ["normalize_vectors"]

_TIME = 1_790_000_000_123


def _envelope(kind: str, data: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "thread_id": "th-1",
        "run_id": "r-1",
        "node_name": "agent",
        "timestamp": _TIME,
        "data": data,
        **fields,
    }


def _standard(kind: str, data: Any, **metadata: Any) -> dict[str, Any]:
    stamp = {"request_id": "req_1", "timestamp": _TIME, "sequence": 3}
    return {"type": kind, "data": data, "metadata": {**stamp, **metadata}}


_ERROR = {"error_type": "execution", "code": "RATE_LIMITED", "message": "Wait.", "recoverable": True}
_PAUSE = {"trajectory": [{"role": "user"}], "completed_step_count": 2}

STANDARD = (
    _standard("content", {"content": "Hi"}, message_id="m"),
    _standard("tool_call_end", {"tool_id": "t", "status": "success", "result": None}),
    _standard("error", {**_ERROR, "terminal": True}),
    _standard("session_end", {"status": "completed", "reason": "done"}),
)
LEGACY = (
    {"type": "token", "content": "Hel"},
    {"type": "token", "token": "lo"},
    {"type": "token", "text": "!"},
    {"type": "token", "delta": "?"},
    {"type": "content", "content": "Hi", "message_id": "m-1"},
    {"type": "content", "content": "", "message_id": "m-1"},
    {"type": "final_answer", "content": "Hello"},
    {"type": "final_answer", "content": ""},
    {"type": "thinking", "content": "Let me see."},
    {"type": "thinking", "text": "Hm."},
    {
        "type": "tool_call",
        "tool_id": "t1",
        "tool_name": "search",
        "tool_args": '{"q": "tea"}',
        "status": "calling",
    },
    {"type": "tool_call", "id": "t1", "name": "search", "arguments": {"q": "tea"}, "description": "looks"},
    {"type": "tool_call", "tool_name": "search", "tool_args": "no json"},
    {"type": "tool_call_start", "tool_id": "t1", "tool_name": "search", "args": [1]},
    {"type": "tool_result", "tool_id": "t1", "status": "completed", "result": {"hits": 3}},
    {"type": "tool_result", "tool_id": "t1", "status": "completed", "output": "3 hits"},
    {"type": "tool_result", "tool_id": "t1", "status": "failed", "error": "KeyError: 'rows'"},
    {"type": "tool_result", "tool_id": "t1", "success": False},
    {"type": "tool_call_end", "tool_id": "t1", "status": "success", "result": [1], "duration_ms": 5},
    {
        "type": "dataframe_data",
        "data": {"dataframe_name": "sales", "columns": ["a", "b"], "data": [["tea", 3]]},
    },
    {"type": "dataframe_data", "data": {"name": "sales", "columns": ["a"], "rows": [[1], [2]]}},
    {"type": "dataframe_data", "name": "s", "columns": ["a"], "data": [{"a": 1}]},
    {"type": "session_start", "session_id": "s-1"},
    {"type": "done"},
    {"type": "done", "status": "cancelled"},
    {"type": "done", "total_tokens": 12},
    {"type": "session_end", "status": "failed"},
    {"type": "error", "message": "something broke in /srv/app/main.py"},
    {"type": "error", "error": "something broke"},
    {"type": "ping"},
    {"type": "heartbeat"},
    {"type": "hologram", "beam": 1},
)
ENVELOPE = (
    _envelope("content", {"delta": "Hel"}),
    _envelope("content", {"delta": "Hel"}, run_id="", node_name="system"),
    _envelope("tool_start", {"tool_name": "weather", "tool_input": {"city": "Beijing"}}, run_id="t-1"),
    _envelope(
        "tool_end",
        {"tool_name": "weather", "tool_output": "sunny", "duration": 12, "status": "success"},
        run_id="t-1",
    ),
    _envelope(
        "tool_end", {"tool_name": "weather", "tool_output": "Traceback", "status": "error"}, run_id="t-1"
    ),
    _envelope("node_start", {"node_name": "agent", "node_label": "Agent", "node_id": "n-1"}),
    _envelope("node_start", {"node_name": "agent", "node_label": None, "node_id": None}),
    _envelope(
        "node_end",
        {"node_name": "agent", "node_label": "Agent", "node_id": "n-1", "duration": 300, "status": "success"},
    ),
    _envelope("node_end", {"node_name": "agent", "node_label": "Agent", "status": "error"}),
    _envelope("status", {"status": "connected"}, run_id="", node_name="system"),
    _envelope("status", {"status": "resumed"}, run_id="", node_name="system"),
    _envelope("thread_id", {}, run_id="", node_name="system"),
    _envelope("error", {"message": "connection refused at 10.0.0.5"}, run_id="", node_name="system"),
    _envelope("error", {"message": "Stopped by user", "code": "stopped"}, run_id="", node_name="system"),
    _envelope("error", {"message": "Stream stopped"}, run_id="", node_name="system"),
    _envelope(
        "interrupt",
        {
            "node_name": "approve",
            "node_label": "Approve",
            "state": {"question": "Drop it?"},
            "thread_id": "th-1",
        },
        run_id="",
        node_name="system",
    ),
    _envelope("done", {}, run_id="", node_name="system"),
    {"type": "content", "content": "Hel", "thread_id": "th-1"},
    {"type": "tool_start", "tool_name": "weather", "tool_input": {"city": "Beijing"}, "thread_id": "th-1"},
    {"type": "tool_end", "tool_name": "weather", "tool_output": "sunny", "thread_id": "th-1"},
    {"type": "error", "error": "boom", "thread_id": "th-1"},
    {"type": "done", "thread_id": "th-1"},
    {"stopped": True, "thread_id": "th-1"},
    {"stopped": True},
    {"type": "thread_id", "thread_id": "th-1"},
    {"type": "status", "status": "connected", "thread_id": "th-1"},
)
DATA_FORMULATOR = (
    {"type": "text_delta", "content": "Hel"},
    {"type": "text_delta", "channel": "report", "content": "# Sales"},
    {"type": "thinking_text", "content": "Two readings are possible."},
    {"type": "tool_start", "tool": "run", "purpose": "totals", "code": "print(1)", "table_names": None},
    {"type": "tool_start", "tool": "look", "args": {"table": "t"}},
    {"type": "tool_result", "tool": "run", "status": "ok", "stdout": "8\n", "error": None},
    {"type": "tool_result", "tool": "run", "status": "error", "stdout": "", "error": "KeyError: 'x'"},
    {"type": "question", "text": "Which grows?", "goal": "Find it", "tag": "deep-dive"},
    {"type": "warning", "warning": {"message": "Table unavailable", "message_code": "TABLE_READ_FAILED"}},
    {"type": "error", "error": {"code": "LLM_RATE_LIMIT", "message": "Wait and try again", "retry": True}},
    {"type": "error", "error": {"code": "TABLE_NOT_FOUND", "message": "No such table", "retry": False}},
    {"type": "error", "error": {"code": "LLM_TIMEOUT", "message": "Too slow", "retry": True}},
    {
        "type": "error",
        "iteration": 1,
        "message": "No chart was built.",
        "message_code": "agent.miniNoChart",
    },
    {"type": "error", "iteration": 1, "message": "It failed.", "message_code": "agent.llmApiError"},
    {
        "type": "clarify",
        "questions": [
            {"text": "Which?", "responseType": "single_choice", "options": ["A", {"label": "B"}]},
            {"text": "Why?", "responseType": "free_text", "required": False},
        ],
        **_PAUSE,
    },
    {
        "type": "interact",
        "questions": [{"text": "Which year?", "required": True, "options": [{"label": "2025"}]}],
        **_PAUSE,
    },
    {
        "type": "clarify",
        "questions": [
            {
                "text_code": "agent.clarifyExhausted",
                "text_params": {"n": 3},
                "options": [{"label": "Go on", "label_code": "agent.goOn"}, "Stop"],
            }
        ],
        **_PAUSE,
    },
    {"type": "explain", "message": "The chart shows totals.", **_PAUSE},
    {
        "type": "completion",
        "iteration": 2,
        "status": "success",
        "content": {"summary": "West.", "total_steps": 1},
    },
    {
        "type": "completion",
        "iteration": 2,
        "status": "max_iterations",
        "content": {"summary": "So far.", "total_steps": 5},
    },
    {"type": "done", "full_text": "Hello"},
    {"type": "done", "full_text": ""},
)
INCOMPLETE: tuple[dict[str, Any], ...] = (
    {"type": "token", "beam": 1},
    {"type": "thinking", "beam": [1]},
    {"type": "final_answer", "beam": 1},
    {"type": "text_delta"},
    {"type": "text_delta", "content": 1},
    {"type": "thinking_text"},
    {"type": "clarify", "message": "Which?"},
    {"type": "completion", "status": "success"},
    {"type": "node_start"},
    {"type": "interrupt", "thread_id": "th-1"},
    {"type": "question", "session_id": "s-1"},
    {"type": "error", "error": "RATE_LIMITED"},
    {"type": "hologram", "error": "KeyError: 'rows'", "thread_id": "th-1", "beam": 2},
    {"type": "hologram", "a": {"last_error": "boom at /srv"}, "b": {"error_code": "NO_TABLE"}},
    {"type": "token", "content": "x", "session_id": 5},
    {"type": "token", "content": "x", "session_id": {}},
    {"type": "dataframe_data", "name": "s", "columns": ["a"]},
    {"stopped": True, "thread_id": "th-1", "type": "done"},
    {"data": {"name": "sales", "rows": [[1]]}},
    {"data": {"content": "Hi"}, "metadata": {"sequence": 3}},
    {"type": 7, "beam": 1},
)
"""Messages that lack fields of their type, or hold texts of failures, which are withheld."""
ODD: tuple[dict[str, Any], ...] = (
    {"type": "status", "status": "dreaming", "thread_id": "th-1"},
    {"type": "status", "thread_id": "th-1", "run_id": "", "node_name": "system", "data": {"status": 1}},
    {"type": "done", "thread_id": {"a": 1}},
    {"type": "error", "thread_id": "th-1", "run_id": ["a"], "node_name": "system", "data": {"message": "no"}},
    {"type": "error", "iteration": 1, "message": "It failed.", "message_code": ""},
    {"type": "tool_start", "tool": "run", "purpose": "totals", "code": "", "table_names": None},
    {"type": "content", "metadata": {"request_id": "req_1", "timestamp": 1790000000123, "sequence": 3}},
    {"type": "tool_call_end", "data": {"tool_id": "t", "status": 2.5}, "metadata": {"sequence": 3}},
    {"type": "", "error": "RATE_LIMITED"},
    {"type": "token", "content": "x", "timestamp": "2026-02-01T10:00:00Z"},
    {"type": "token", "content": "x", "created_at": 1790000000},
    {"stopped": True, "thread_id": "th-1", "content": "so far"},
    {"type": "completion", "status": "success", "content": {"summary": "West.", "thought": "Why not."}},
    {"type": "token", "content": 0},
    {"type": "tool_end", "tool_name": "weather", "error": "KeyError: 'city'"},
    {"type": "tool_start", "tool_name": "weather", "tool_args": {"city": "Beijing"}},
    {"type": "tool_result", "tool_id": "t1", "output": ""},
    {"type": "done", "stopped": True},
    {"type": "error", "message_code": "agent.miniNoChart"},
    {"type": "error", "data": {"content": "broke in /srv/app/main.py"}},
)
"""Values of other types than the vocabulary has, and times in other forms."""
LINES = ('{"type": "token", "content": "Hi"}', 'data: {"type": "done"}', "data: [DONE]", "", ": ping")


def normalize_vectors() -> list[dict[str, Any]]:
    """Return messages with their meaning; `extra` of the metadata is left out."""
    messages: tuple[dict[str, Any] | str, ...] = (
        *STANDARD,
        *LEGACY,
        *ENVELOPE,
        *DATA_FORMULATOR,
        *INCOMPLETE,
        *ODD,
        *LINES,
    )
    return [
        {"in": message, "out": [_bare(event) for event in normalize_stream_event(message)]}
        for message in messages
    ]


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in event["metadata"].items() if name != "extra"}
    return {**event, "metadata": metadata}
