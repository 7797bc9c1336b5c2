"""Reads the runs of tools, and pairs them with the calls of the model that they carry out.

Source: langchain-core 1.7 (`tracers/event_stream.py`). `on_tool_start` names no call; `on_tool_end` has the
id of the call in its message, and `on_tool_error` next to the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamweir.codec.coerce import text_of, tool_error
from streamweir.codec.families.langchain_forms import plain_message
from streamweir.codec.families.langchain_messages import ChainMessages
from streamweir.codec.families.langgraph_interrupts import interrupts_in
from streamweir.codec.families.langgraph_modes import GraphModes
from streamweir.codec.families.python_repr import CLASS, value_of_repr
from streamweir.events import Event, Meta, ToolCallEnd, ToolCallProgress
from streamweir.ids import RecentIds, short_id
from streamweir.jsontext import write_json_text

__all__ = ["ToolRuns"]


class ToolRuns:
    """Reads the events of tools.

    Args:
        graph: reads the messages that hold the calls, and the question of an interrupted tool.
        room: the number of bytes of ids, roughly, that may be kept.
    """

    def __init__(self, graph: GraphModes, room: int) -> None:
        self._graph = graph
        self._calls: RecentIds[str] = RecentIds(room // 8)
        """The calls that runs carry out, by the id of the run."""
        self._silent: RecentIds[str] = RecentIds(room // 8)
        """The calls whose run has ended without a result, with the name of the tool."""

    @property
    def _messages(self) -> ChainMessages:
        return self._graph.messages

    def start(self, run_id: str, name: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the start of the call that a run begins; nothing if the model has asked for the call."""
        yield from self._messages.start_calls()
        given = data.get("input")
        tool_id = short_id(text_of(data.get("tool_call_id"))) or self._messages.take_call(name, given)
        if tool_id is None:
            tool_id = run_id
        if run_id:
            self._calls.add(run_id, tool_id)
        yield from self._messages.start_call(tool_id, name, _arguments(given), meta)

    def progress(self, run_id: str, name: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the output of a tool while it runs."""
        tool_id = self._calls.get(run_id) or run_id
        yield ToolCallProgress(tool_id, message=text_of(data.get("chunk")), tool_name=name or None, meta=meta)

    def end(self, run_id: str, name: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the result of a tool."""
        taken = self._calls.get(run_id) or ""
        message = _message_in(data.get("output"))
        named = short_id(text_of(message.get("tool_call_id"))) if message else ""
        tool_id = taken or named
        if taken and named and taken != named:
            tool_id = self._call_of(run_id, taken, named)
        if message:
            yield from self._messages.read({**message, "tool_call_id": tool_id}, meta)
            return
        if data.get("output") in (None, {}) and (taken != run_id or not tool_id):
            self._silent.add(tool_id, name)
            return
        result = _plain_result(data.get("output"))
        yield from self._messages.end_call(ToolCallEnd(tool_id, result=result, tool_name=name, meta=meta))

    def fail(self, run_id: str, name: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the failure of a tool, or its question: LangGraph stops a waiting tool by an exception."""
        error = data.get("error")
        if asked := interrupts_in(error):
            yield from self._graph.ask(asked, meta)
            return
        taken, named = self._calls.get(run_id) or "", short_id(text_of(data.get("tool_call_id")))
        if not error and taken != run_id:
            self._silent.add(taken or named, name)
            return
        tool_id = (
            self._call_of(run_id, taken, named) if taken and named and taken != named else taken or named
        )
        failure = ToolCallEnd(tool_id, "failed", error=tool_error(error), tool_name=name or None, meta=meta)
        yield from self._messages.end_call(failure)

    def settle(self) -> Iterator[Event]:
        """Yield the failures of calls whose runs ended without a result and without a question.

        Version 1 reports a failed tool only by such a run, unless the message of the failure arrives before
        the model continues.
        """
        if not self._silent or self._graph.waits:
            return
        silent = [(tool_id, self._silent.get(tool_id)) for tool_id in self._silent if tool_id]
        self._silent.clear()
        for tool_id, name in silent:
            yield from self._messages.end_call(
                ToolCallEnd(tool_id, "failed", error=tool_error(), tool_name=name or None)
            )

    def _call_of(self, run_id: str, taken: str, named: str) -> str:
        """Return the call that a run carries out: the call that the run itself began, else `named`."""
        if taken == run_id:
            self._messages.note_result(named)
            return taken
        self._messages.give_back_call(taken)
        return named


def _arguments(given: Any) -> Any:
    """Return the arguments of a tool; older servers send them as the text of a Python literal."""
    if isinstance(given, str) and given.startswith("{'"):
        return value_of_repr(given) or given
    return given


def _message_in(output: Any) -> dict[str, Any] | None:
    """Return the message in the output of a tool, or that a command in the output adds to the state."""
    message = plain_message(output)
    if message is not None:
        return message
    match output:
        case {"output": inner} if len(output) == 1:
            return _message_in(inner)
        case {"lc": int(), "repr": str(text)}:
            return _message_in(value_of_repr(text))
        case {"__class__": "Command", "update": {"messages": [found, *_]}} | {
            "update": {"messages": [found, *_]},
            "goto": _,
        }:
            return plain_message(found)
        case str() if output.startswith(("Command(", "ToolMessage(")):
            return _message_in(value_of_repr(output))
    return None


def _plain_result(output: Any) -> Any:
    match output:
        case {"output": inner} if len(output) == 1:
            return inner
        case {"__class__": _}:
            return write_json_text({name: value for name, value in output.items() if name != CLASS})
    return output
