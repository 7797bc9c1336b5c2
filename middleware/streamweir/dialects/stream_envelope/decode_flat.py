"""Reads the flat forms that servers use in addition to the envelope: the copilot that builds graphs, and the
agent service.

The copilot's calls have no ids, and its results do not name their tool. A result is an action. If a tool
makes only one kind of action, the action has the name of the tool. A batch gives several results, a tool
without actions gives no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, named_data, text_of
from streamweir.dialects.stream_envelope.decode_graph import Reader, pieces, read_content
from streamweir.dialects.stream_envelope.decode_message import Message, Run
from streamweir.events import Content, Event, SessionStart, Status, Thinking, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = ["FLAT"]

_MAX_CALLS: Final = 100
_TOOL: Final = ("tool", "tool_name", "name")
_INPUT: Final = ("input", "tool_input")
_ACTION: Final = ("action", "result")
_PROGRESS: Final = ("data", "content", "message")


def _tool_call(message: Message, run: Run) -> Iterator[Event]:
    name = message.text(*_TOOL) or "unknown"
    run.copilot_calls.append(short_id(name))
    del run.copilot_calls[:-_MAX_CALLS]
    yield ToolCallStart(
        tool_id="",
        tool_name=name,
        arguments=arguments(message.first(*_INPUT)),
        meta=message.meta(_TOOL, _INPUT),
    )


def _tool_result(message: Message, run: Run) -> Iterator[Event]:
    """Yield the result of an open call; if no call is open, the action (a further one of a batch) as data."""
    action = message.first(*_ACTION)
    name = _call_of(action, run.copilot_calls)
    if name is None:
        yield named_data("tool_result", dict(message.fields), message.ids())
        return
    yield ToolCallEnd(tool_id="", result=action, tool_name=name, meta=message.meta(_ACTION, "tool"))


def _call_of(action: Any, calls: list[str]) -> str | None:
    """Remove and return the open call that `action` came from: the call with its name, else the last one."""
    kind = text_of(action.get("type")).lower() if isinstance(action, dict) else ""
    if kind in calls:
        calls.reverse()
        calls.remove(kind)
        calls.reverse()
        return kind
    return calls.pop() if calls else None


def _thought_step(message: Message, run: Run) -> Iterator[Event]:
    step, meta = message.fields.get("step"), message.meta("step", message_id=run.next_thought())
    if isinstance(step, dict):
        meta, step = and_extra(meta, leftover(step, ("content", "index"))), step.get("content")
    yield Thinking(text_of(step), "planning", meta=meta)


def _result(message: Message, run: Run) -> Iterator[Event]:
    """Yield the whole text of the last model, and the actions to be applied."""
    text = "".join(
        piece.content for piece in pieces(message.first("message"), None) if isinstance(piece, Content)
    )
    if text:
        yield Content(text, is_complete=True, whole="repeat", meta=message.ids())
    actions = {key: value for key, value in message.fields.items() if key != "message"}
    if actions:
        yield named_data("result", actions, message.ids())
    run.copilot_calls.clear()


def _start(message: Message, run: Run) -> Iterator[Event]:
    del run
    session_id = message.text("session_id")
    yield SessionStart(session_id=session_id or None, meta=message.meta("session_id", session_id=session_id))


def _task_created(message: Message, run: Run) -> Iterator[Event]:
    del run
    task_id = message.text("task_id")
    yield Status(
        "workflow",
        "started",
        task_id or None,
        {"task_id": task_id},
        meta=message.meta("task_id", run_id=task_id),
    )


def _intermediate(message: Message, run: Run) -> Iterator[Event]:
    """Yield the service's notes before the answer, about active tools and thoughts, as text for people."""
    meta = message.meta(_PROGRESS, message_id=run.next_thought())
    yield Thinking(message.text(*_PROGRESS), meta=meta)


def _complete(message: Message, run: Run) -> Iterator[Event]:
    yield run.end(message)


def _silence(message: Message, run: Run) -> Iterator[Event]:
    del message, run
    yield from ()


FLAT: Final[dict[str, Reader]] = {
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "thought_step": _thought_step,
    "result": _result,
    "start": _start,
    "task_created": _task_created,
    "chunk": read_content,
    "intermediate": _intermediate,
    "complete": _complete,
    "heartbeat": _silence,
    "ping": _silence,
    "pong": _silence,
}
