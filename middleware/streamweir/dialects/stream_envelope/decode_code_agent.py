"""Reads the chat app's code agent: it thinks, writes Python code, reads the output, and answers.

The events of the agent are sent together when its node ends. A step is a thought, code, and an observation or
the final answer, all without ids: an observation, an answer or an error belongs to the last code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.codec.coerce import text_of, tool_error, upstream_error
from streamweir.dialects.stream_envelope.decode_graph import Reader
from streamweir.dialects.stream_envelope.decode_message import Message, Run
from streamweir.events import Content, Event, Thinking, ToolCallEnd, ToolCallStart

__all__ = ["CODE_AGENT"]

_TOOL: Final = "python"
_CODE: Final = ("code", "content")
_OBSERVED: Final = ("observation", "content")
_ANSWER: Final = ("answer", "content")


def _thought(message: Message, run: Run) -> Iterator[Event]:
    meta = message.meta("content", message_id=run.next_thought())
    yield Thinking(message.text("content"), meta=meta)


def _planning(message: Message, run: Run) -> Iterator[Event]:
    meta = message.meta("plan", message_id=run.next_thought())
    yield Thinking(message.text("plan"), "planning", meta=meta)


def _code(message: Message, run: Run) -> Iterator[Event]:
    run.code_is_open = True
    yield ToolCallStart(
        tool_id="", tool_name=_TOOL, arguments={"code": message.text(*_CODE)}, meta=message.meta(_CODE)
    )


def _observation(message: Message, run: Run) -> Iterator[Event]:
    run.code_is_open = False
    observation = message.first(*_OBSERVED)
    has_failed = message.fields.get("has_error") is True
    yield ToolCallEnd(
        tool_id="",
        status="failed" if has_failed else "success",
        result=observation,
        error=tool_error(observation) if has_failed else None,
        tool_name=_TOOL,
        meta=message.meta(_OBSERVED, "has_error"),
    )


def _final_answer(message: Message, run: Run) -> Iterator[Event]:
    """Yield the end of the code whose result is the answer; such code has no observation."""
    answer = message.first(*_ANSWER)
    if run.code_is_open:
        run.code_is_open = False
        yield ToolCallEnd(tool_id="", result=answer, tool_name=_TOOL, meta=message.ids())
    meta = message.meta(_ANSWER, message_id=message.run_id)
    yield Content(text_of(answer), is_complete=True, meta=meta)


def _error(message: Message, run: Run) -> Iterator[Event]:
    """Yield the failure of a step. The agent tries again, and the graph continues in any case."""
    text = message.first("error", "message", "content")
    if run.code_is_open:
        run.code_is_open = False
        yield ToolCallEnd(
            tool_id="", status="failed", error=tool_error(text), tool_name=_TOOL, meta=message.ids()
        )
    yield upstream_error(text, terminal=False, meta=message.ids())


CODE_AGENT: Final[dict[str, Reader]] = {
    "code_agent_thought": _thought,
    "code_agent_planning": _planning,
    "code_agent_code": _code,
    "code_agent_observation": _observation,
    "code_agent_final_answer": _final_answer,
    "code_agent_error": _error,
}
