"""Reads the chat app's own messages in both forms: text, tools, nodes, models, workflow, interrupts, ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from streamweir.codec.coerce import (
    and_extra,
    arguments,
    custom,
    leftover,
    message_params,
    milliseconds,
    named_data,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.dialects.stream_envelope.decode_message import Message, Run
from streamweir.dialects.stream_envelope.shared_carrier import read_carried
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    SessionStart,
    State,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)

__all__ = ["GRAPH", "Reader", "failed", "pieces", "read_content"]

Reader = Callable[[Message, Run], Iterable[Event]]

_TEXT: Final = ("delta", "content", "text", "token", "data")
_NAME: Final = ("tool_name", "tool", "name")
_INPUT: Final = ("tool_input", "input", "arguments", "args", "tool_args")
_OUTPUT: Final = ("tool_output", "output", "result")
_ERROR: Final = ("message", "error", "error_message", "detail", "data")
_CODES: Final = ("code", "error_code", "params")
_FAILED: Final = frozenset({"error", "errored", "failed", "failure"})
_DONE: Final = frozenset(
    {"success", "succeeded", "completed", "finished", "done", "ok", "running", "started"}
)
_STOP_CODES: Final = frozenset({"stopped", "cancelled", "canceled"})
_STOP_TEXTS: Final = frozenset({"stream stopped", "stopped by user", "request cancelled by user"})
_SESSION_STATES: Final[dict[str, State]] = {
    "connected": "connected",
    "resumed": "resumed",
    "started": "started",
    "running": "running",
    "completed": "finished",
    "finished": "finished",
    "failed": "failed",
    "error": "failed",
    "interrupted": "suspended",
    "suspended": "suspended",
}
_QUESTION: Final = ("question", "message")
_TASK_STATES: Final[dict[str, State]] = {
    "started": "started",
    "completed": "finished",
    "error": "failed",
    "failed": "failed",
}
_THINKING_BLOCKS: Final = ("thinking", "reasoning", "reasoning_content")
_TEXT_BLOCK: Final = ("type", "index", "signature", "text", *_THINKING_BLOCKS)
"""The known fields of a block of text or thinking; its index and its signature are not kept."""
_REPEATED_BLOCKS: Final = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "redacted_thinking"}
)
"""Blocks that repeat other messages: calls arrive as `tool_start`, and encrypted reasoning is not shown."""


def failed(status: Any) -> bool:
    """Return whether the field `status` reports a failure."""
    return text_of(status).lower() in _FAILED


def read_content(message: Message, run: Run) -> Iterator[Event]:
    """Yield a piece of the answer: text, or the list of blocks that some models stream."""
    run.note_text(message.run_id)
    known = ("channel", "stopped", "done")
    text, meta = message.first(*_TEXT), message.meta(_TEXT, *known, message_id=message.run_id)
    if text is None and leftover(message.fields, (*_TEXT, *known)):
        yield custom(message.kind, dict(message.fields), message.ids())
    for piece in pieces(text, meta):
        if isinstance(piece, Content):
            piece.channel = text_of(message.fields.get("channel")) or None
        yield piece


def pieces(value: Any, meta: Meta | None) -> Iterator[Event]:
    """Yield the text and the thinking in a model's content."""
    for block in value if isinstance(value, list) else [value]:
        match block:
            case None | "":
                pass
            case {"type": str(kind)} if kind in _THINKING_BLOCKS:
                yield from _text_block(kind, block, _thinking(block), meta)
            case {"type": str(kind)} if kind in _REPEATED_BLOCKS:
                pass
            case {"text": str(text)}:
                yield from _text_block("text", block, text, meta)
            case {"type": str(kind)}:
                yield custom(kind, block, meta)
            case _:
                yield Content(text_of(block), meta=meta)


def _text_block(kind: str, block: dict[str, Any], text: str, meta: Meta | None) -> Iterator[Event]:
    """Yield the text of a block, with its other fields; without text, an event for the other fields."""
    rest = leftover(block, _TEXT_BLOCK)
    if text:
        event_class = Thinking if kind in _THINKING_BLOCKS else Content
        yield event_class(text, meta=and_extra(meta, rest))
    elif rest:
        yield custom(kind, rest, meta)


def _thinking(block: dict[str, Any]) -> str:
    value = next((block[name] for name in (*_THINKING_BLOCKS, "text") if block.get(name)), "")
    return text_of(value.get("text") if isinstance(value, dict) else value)


def _tool_start(message: Message, run: Run) -> Iterator[Event]:
    del run
    yield ToolCallStart(
        tool_id=message.run_id,
        tool_name=message.text(*_NAME) or "unknown",
        description=message.text("description") or None,
        arguments=arguments(message.first(*_INPUT)),
        meta=message.meta(_NAME, _INPUT, "description"),
    )


def _tool_end(message: Message, run: Run) -> Iterator[Event]:
    del run
    output = message.first(*_OUTPUT)
    if output is None:
        output = next((message.fields[name] for name in _OUTPUT if name in message.fields), None)
    status, error = message.fields.get("status"), message.fields.get("error")
    has_failed = failed(status) if status else bool(error)
    if isinstance(error, dict):
        reason = tool_error(error.get("message"), code=error.get("code"))
        output = None if output == error.get("message") else output
    else:
        reason = tool_error(error or output)
    yield ToolCallEnd(
        tool_id=message.run_id,
        status="failed" if has_failed else "success",
        result=output,
        error=reason if has_failed else None,
        tool_name=message.text(*_NAME) or None,
        meta=message.meta(
            _NAME,
            _OUTPUT,
            *("duration", "error"),
            *_word(status),
            duration_ms=milliseconds(message.fields.get("duration")),
        ),
    )


def _word(status: Any) -> tuple[str, ...]:
    """Return the key `status` if its value is a word for an outcome."""
    return ("status",) if failed(status) or text_of(status).lower() in _DONE else ()


def _node(message: Message, state: State) -> Event:
    known = ("node_label", "node_id", "duration", "detail", *_word(message.fields.get("status")))
    return Status(
        "node",
        state,
        message.text("node_label", "node_name") or message.node_name or None,
        message.fields.get("detail"),
        meta=message.meta(
            *known, node_id=message.text("node_id"), duration_ms=milliseconds(message.fields.get("duration"))
        ),
    )


def _node_start(message: Message, run: Run) -> Iterator[Event]:
    del run
    yield _node(message, "started")


def _node_end(message: Message, run: Run) -> Iterator[Event]:
    del run
    yield _node(message, "failed" if failed(message.fields.get("status")) else "finished")


def _model(message: Message, state: State) -> Event:
    """Return the event of a model: the node and the usage. The prompt and the repeated text are left out."""
    detail = leftover(message.fields, ("messages", "output", "model_name", "node_name", "thread_id"))
    return Status("model", state, message.text("model_name") or None, detail, meta=message.ids())


def _model_input(message: Message, run: Run) -> Iterator[Event]:
    del run
    yield _model(message, "started")


def _model_output(message: Message, run: Run) -> Iterator[Event]:
    """Yield the text of a model that does not stream."""
    output = message.fields.get("output")
    content = output.get("content") if isinstance(output, dict) else None
    if message.run_id and run.is_silent(message.run_id) and not _is_dump(content):
        run.note_text(message.run_id)
        ids = message.meta(*message.fields, message_id=message.run_id)
        yield from pieces(content, ids)
    run.add_usage(message.fields)
    yield _model(message, "finished")


def _is_dump(content: Any) -> bool:
    """Return whether a text is Python's `repr` of a list of blocks, as the server writes some messages."""
    return isinstance(content, str) and content.startswith(("[{'", '[{"', "[]"))


def _status(message: Message, run: Run) -> Iterator[Event]:
    del run
    if stage := message.text("stage"):
        meta = message.meta("stage", "message", "done")
        yield Status("phase", "running", stage, message.fields.get("message"), meta=meta)
        return
    word = text_of(message.first("status", "state"))
    state = _SESSION_STATES.get(word.lower())
    known = ("status", "state") if state or not word else ()
    detail = leftover(message.fields, {*known, "thread_id", "node_name", "stopped", "done"})
    yield Status("session", state or "running", detail=detail, meta=message.ids())


def _workflow(message: Message, run: Run) -> Iterator[Event]:
    """Yield the status of a step in the graph's own logic: the chosen branch, or the iteration."""
    del run
    name = message.text("node_id", "loop_node_id", "task_id")
    yield Status("workflow", "running", name or None, dict(message.fields), meta=message.ids())


def _parallel_task(message: Message, run: Run) -> Iterator[Event]:
    del run
    state = _TASK_STATES.get(message.text("status").lower(), "running")
    name = message.text("task_id")
    yield Status("workflow", state, name or None, dict(message.fields), meta=message.ids())


def _state_update(message: Message, run: Run) -> Iterator[Event]:
    """Yield the state as data of the application, not as text, because it may hold the history."""
    del run
    meta = message.meta("state_snapshot", "updated_fields")
    carried = read_carried(message.fields.get("state_snapshot"), meta)
    yield carried or named_data(message.kind, dict(message.fields), message.ids())


def _interrupt(message: Message, run: Run) -> Iterator[Event]:
    state = message.fields.get("state")
    carried = read_carried(state, message.meta("state", "node_label", "message"))
    yield carried or _approval(message, state)
    yield run.end_with(message.ids(), "suspended")


def _approval(message: Message, state: Any) -> Event:
    """Return the question of an approval, with the body that the client posts to resume the run."""
    node = message.node_name
    command = {"update": {}, "goto": node} if node else {"update": {}}
    return Interaction(
        interaction_id=message.run_id or node or message.thread_id or "interrupt",
        kind="approval",
        title=message.text("node_label") or None,
        description=message.text("message", "reason") or _asked(state),
        resume={"thread_id": message.thread_id, "command": command, "state": state},
        meta=message.meta("node_label", "state", "message", "reason"),
    )


def _asked(state: Any) -> str | None:
    """Return the question in plain words: from LangGraph's first interrupt, or from the state itself."""
    if not isinstance(state, dict):
        return None
    interrupts = state.get("interrupts", state.get("__interrupt__"))
    first = interrupts[0] if isinstance(interrupts, list) and interrupts else None
    value = first.get("value", first) if isinstance(first, dict) else first
    for holder in (value, state):
        texts = [holder.get(name) for name in _QUESTION] if isinstance(holder, dict) else [holder]
        if found := next((text for text in texts if isinstance(text, str) and text.strip()), None):
            return found
    return None


def _error(message: Message, run: Run) -> Iterator[Event]:
    error = message.fields.get("error")
    fields = {**message.fields, **error} if isinstance(error, dict) else message.fields
    text = next((fields[name] for name in _ERROR if fields.get(name) and fields[name] is not error), None)
    if text is None and error and not isinstance(error, dict):
        text = error
    own = fields.get("error_code")  # of the newest servers, which keep `code` for older pages
    code = own or fields.get("code")
    if _is_stop(code, text):
        yield run.end_with(message.meta(*_ERROR, *_CODES, "stopped", "done"), "cancelled")
        return
    failure = upstream_error(
        text,
        code=code,
        details=leftover(fields, {*_ERROR, *_CODES, "node_name", "thread_id", "stopped", "done"}),
        meta=message.ids(),
    )
    failure.message_code = own if isinstance(own, str) and own else None
    failure.message_params = message_params(fields.get("params"))
    yield failure


def _is_stop(code: Any, text: Any) -> bool:
    if text_of(code).lower() in _STOP_CODES:
        return True
    return isinstance(text, str) and text.strip().rstrip(".").lower() in _STOP_TEXTS


def _done(message: Message, run: Run) -> Iterator[Event]:
    yield run.end(message)


def _stopped(message: Message, run: Run) -> Iterator[Event]:
    yield run.end(message, "cancelled")


def _thread_id(message: Message, run: Run) -> Iterator[Event]:
    del run
    thread_id = message.thread_id or message.text("data")
    yield SessionStart(meta=message.meta("data", thread_id=thread_id))


GRAPH: Final[dict[str, Reader]] = {
    "content": read_content,
    "tool_start": _tool_start,
    "tool_end": _tool_end,
    "node_start": _node_start,
    "node_end": _node_end,
    "model_input": _model_input,
    "model_output": _model_output,
    "status": _status,
    "route_decision": _workflow,
    "loop_iteration": _workflow,
    "parallel_task": _parallel_task,
    "command": _state_update,
    "state_update": _state_update,
    "interrupt": _interrupt,
    "error": _error,
    "done": _done,
    "stopped": _stopped,
    "thread_id": _thread_id,
}
