"""Reads the events that only agent runs have: actions, their results, and the end.

`dialog` holds the application's own prompt: the client sends it back unchanged, and pages do not show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import dataframe, leftover, named_data, present, text_of
from streamweir.dialects.data_formulator.decode_plain_events import extra_of
from streamweir.dialects.data_formulator.shared_failures import agent_error
from streamweir.events import Content, Data, Event, SessionEnd, Thinking, ToolCallProgress, ToolCallStart

__all__ = [
    "action_called",
    "action_start",
    "completion",
    "final_text",
    "result_data",
    "result_failed",
    "result_outcome",
    "thought",
]

_SUMMARY: Final = "summary"
"""The message id of the summary of a run, if it follows other text."""

_FAILED: Final = ("llm_error", "parse_failed", "error", "failed")


def thought(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the model's reason for an action as thinking, if there is one."""
    if text := text_of(message.get("thought")):
        yield Thinking(text)


def action_start(message: Mapping[str, Any], name: str) -> Event:
    """Return the start of a call for a chart or a report; a later event ends it."""
    return ToolCallStart(
        tool_id="",
        tool_name=name,
        arguments=leftover(message, ("type", "action", "thought", "iteration")) or {},
        meta=extra_of(message, set(message) - {"action", "iteration"}),
    )


def action_called(message: Mapping[str, Any], name: str) -> Event:
    """Return the progress of the call `name`; a later event ends the call."""
    return ToolCallProgress(
        tool_id="",
        message=text_of(message.get("display_instruction")) or None,
        tool_name=name,
        meta=extra_of(message, ("thought",)),
    )


def result_failed(message: Mapping[str, Any]) -> bool:
    """Return whether a `result` means that its action has failed."""
    return _has_failed(message) or _has_failed(_result(message))


def result_outcome(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result of an action's call without its table, which is a separate data event."""
    result = _result(message)
    virtual = _object(_object(result.get("content")).get("virtual"))
    outcome = {"chart_id": result.get("chart_id"), **virtual}
    return {key: value for key, value in outcome.items() if value is not None} or None


def result_data(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the table of a `result` and its chart."""
    content, result = _object(message.get("content")), _result(message)
    table = result.get("content")
    if not isinstance(table, dict):
        yield named_data("result", leftover(message, ("type",)) or {})
        return
    virtual, goal = _object(table.get("virtual")), _object(result.get("refined_goal"))
    about = present(chart_id=result.get("chart_id"), description=content.get("question") or None)
    frame = dataframe(virtual.get("table_name"), table.get("rows"))
    rest = {
        **(leftover(message, ("type", "status", "content")) or {}),
        **(leftover(content, ("question", "result")) or {}),
        **(leftover(result, ("status", "chart_id", "content")) or {}),
        **present(content=leftover(table, ("rows", "virtual"))),
    }
    rest = {name: value for name, value in rest.items() if value not in ("", [], {})}
    count = virtual.get("row_count")
    if not isinstance(count, int):
        count = len(frame["rows"])
    yield Data("dataframe", frame, {**about, "row_count": count}, meta=extra_of(rest, ()))
    chart = goal.get("chart") or present(
        chart_type=goal.get("chart_type"), encodings=goal.get("chart_encodings")
    )
    if isinstance(chart, dict) and chart:
        yield Data("chart", chart, {**about, **present(title=goal.get("title"))} or None)


def completion(message: Mapping[str, Any], *, waits: bool, has_text: bool) -> Iterator[Event]:
    """Yield the final answer and the end of the run. A run that has reached its limit counts as completed.

    Args:
        message: the `completion` event.
        waits: whether a person has been asked a question.
        has_text: text has arrived, so the summary is a separate message, unless it repeats that text.
    """
    content = message.get("content")
    fields = content if isinstance(content, dict) else {"summary": content}
    summary, status = text_of(fields.get("summary")), message.get("status")
    yield from thought(fields)
    if status in _FAILED:
        yield agent_error(summary, details=leftover(fields, ("summary", "thought")))
        return
    if has_text and message.get("op") != "replace":
        yield Content(summary, is_complete=True, whole="copy", meta={"message_id": _SUMMARY})
    else:
        yield from final_text(message, summary)
    rest = {
        **(leftover(message, ("type", "content", "op")) or {}),
        **(leftover(fields, ("summary", "thought")) or {}),
    }
    if status == "success":
        del rest["status"]
    yield SessionEnd("suspended" if waits else "completed", meta=extra_of(rest, ()))


def final_text(message: Mapping[str, Any], text: str) -> Iterator[Event]:
    """Yield the whole answer that a message repeats, if there is one. Only another gateway writes `op`."""
    if message.get("op") == "replace":
        yield Content(text, is_complete=True, op="replace")
    elif text:
        yield Content(text, is_complete=True, whole="repeat")


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    return _object(_object(message.get("content")).get("result"))


def _has_failed(fields: Mapping[str, Any]) -> bool:
    status = fields.get("status")
    return isinstance(status, str) and status not in ("success", "ok")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
