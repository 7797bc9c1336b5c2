"""The script that demo and fake backends play: the events of a valid stream, and pauses between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)

__all__ = [
    "ANSWER",
    "RAW_FAILURE",
    "RUN",
    "SECRET",
    "THOUGHT",
    "TOKEN",
    "Beat",
    "failure",
    "pieces_of",
    "run_until_the_middle",
    "the_rest",
]

ANSWER: Final = (
    "**Hangzhou** had 128 orders in the last seven days 📦, a fifth more than the week before.\n\n"
    "**杭州**最近七天共有 128 个订单，周六最多（31 个）☕️。金额约合 1,790 欧元。"
)
THOUGHT: Final = "The user asks about orders. 先查订单，再换算金额 🤔"

SECRET: Final = "sk-demo-4f9c2b7e1a"
"""A made-up secret, to test that secrets do not leave the gateway."""

RAW_FAILURE: Final = (
    "Traceback (most recent call last):\n"
    '  File "/srv/agent/tools/orders.py", line 42, in run\n'
    "    cursor.execute(sql)\n"
    "psycopg2.OperationalError: connection to server at db-internal (10.1.2.3), port 5432 failed: "
    f"password=hunter2 api_key={SECRET}"
)
"""The message of a backend that sends `str(exception)` to its users."""

_PIECE: Final = 5
"""The characters in one piece of text, about the length of a token."""
TOKEN: Final = 0.03
"""The seconds before each piece of text."""
_THINK: Final = 0.3
_TOOL: Final = 0.35

RUN: Final = Meta(
    session_id="demo-session", thread_id="demo-thread", message_id="demo-msg-1", run_id="demo-run-1"
)
"""The metadata of the events of the run."""

_DAYS: Final = [["Thu 周四", 19], ["Fri 周五", 24], ["Sat 周六", 31]]
_USAGE: Final = {
    "prompt_tokens": 412,
    "completion_tokens": 96,
    "total_tokens": 508,
    "finish_reason": "stop",
    "duration_ms": 2600,
    "tool_calls": 2,
}


class Beat(NamedTuple):
    """An event, and the seconds before the event."""

    pause: float
    event: Event


def run_until_the_middle() -> Iterator[Beat]:
    """Yield the first half: thinking, both tool calls, the table, and half of the answer's text."""
    yield Beat(_THINK, SessionStart(session_id="demo-session", request_id="demo-request", meta=RUN))
    for piece in pieces_of(THOUGHT):
        yield Beat(TOKEN, Thinking(piece, "reasoning", meta=RUN))
    yield from _tools()
    yield Beat(
        TOKEN, Data("dataframe", {"name": "orders", "columns": ["day", "orders"], "rows": _DAYS}, meta=RUN)
    )
    for piece in _halves()[0]:
        yield Beat(TOKEN, Content(piece, meta=RUN))


def the_rest() -> Iterator[Beat]:
    """Yield the second half: the other half of the text, a citation, and the end with the usage."""
    for piece in _halves()[1]:
        yield Beat(TOKEN, Content(piece, meta=RUN))
    yield Beat(0, Content("", is_complete=True, meta=RUN))
    citation = {
        "id": "orders-2026-w47",
        "title": "Weekly orders 周报",
        "url": "https://example.com/reports/orders-2026-w47",
        "snippet": "Hangzhou: 128",
        "document_id": "orders-2026-w47",
        "score": 0.92,
    }
    yield Beat(TOKEN, Reference([citation], meta=RUN))
    yield Beat(TOKEN, SessionEnd("completed", "done", _USAGE, meta=RUN))


def failure() -> Iterator[Beat]:
    """Yield the events of a failure after the first half, with the raw text that careless backends send."""
    error = Error(
        error_type="execution",
        code="UPSTREAM_ERROR",
        message=RAW_FAILURE,
        recoverable=True,
        reason="upstream_error",
        meta=RUN,
    )
    yield Beat(0, Content("", is_complete=True, meta=RUN))
    yield Beat(_THINK, error)
    yield Beat(0, SessionEnd("error", "upstream_error", {"duration_ms": 1700, "tool_calls": 2}, meta=RUN))


def _tools() -> Iterator[Beat]:
    """Yield two parallel tool calls, of which the second ends first."""
    orders = {"city": "杭州", "days": 7}
    rates = {"from": "CNY", "to": "EUR"}
    yield Beat(
        TOKEN,
        ToolCallStart(tool_id="demo-call-1", tool_name="query_orders", arguments=orders, meta=_call(1)),
    )
    yield Beat(
        TOKEN,
        ToolCallStart(tool_id="demo-call-2", tool_name="exchange_rate", arguments=rates, meta=_call(2)),
    )
    yield Beat(
        _TOOL, ToolCallProgress(tool_id="demo-call-1", progress=0.5, message="3 of 7 days", meta=_call(1))
    )
    yield Beat(TOKEN, ToolCallEnd(tool_id="demo-call-2", result={"rate": 0.121}, meta=_call(2, 380)))
    yield Beat(
        _TOOL,
        ToolCallEnd(tool_id="demo-call-1", result={"orders": 128, "best_day": "周六"}, meta=_call(1, 760)),
    )


def _call(number: int, duration_ms: int | None = None) -> Meta:
    """Return the metadata of a tool call. Each call is a run below that of the model."""
    meta = Meta(**{**RUN, "run_id": f"demo-call-{number}", "parent_run_id": "demo-run-1"})
    if duration_ms is not None:
        meta["duration_ms"] = duration_ms
    return meta


def pieces_of(text: str) -> list[str]:
    """Return `text` in pieces of the length of a token."""
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _halves() -> tuple[list[str], list[str]]:
    pieces = pieces_of(ANSWER)
    middle = len(pieces) // 2
    return pieces[:middle], pieces[middle:]
