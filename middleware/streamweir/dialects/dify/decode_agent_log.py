"""Reads the calls that an agent within a workflow logs; no other event reports these calls.

    label        status    data
    ──────────   ───────   ─────────────────────────────────────────────────────────────────────────────
    CALL name    start     {}
    CALL name    success   output: {tool_call_id, tool_call_name, tool_call_input, tool_response}
                           or tool_name, tool_call_args, output (ReAct)
    ROUND n      success   output: {llm_response, tool_responses}, which repeats its calls

Source: dify-official-plugins, `agent-strategies/cot_agent` (`function_calling.py`, `ReAct.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import arguments, object_in, text_of, tool_error
from streamweir.events import Event, Meta, ToolCallEnd, ToolCallStart
from streamweir.ids import RecentIds, short_id

__all__ = ["AgentLog"]

_CALL: Final = "CALL "
_FAILED: Final = ("error", "failed")
_ROOM: Final = 64 << 10


class AgentLog:
    """The logged calls of one run. Each call starts and ends with the log entry of its end."""

    def __init__(self) -> None:
        self._known: RecentIds[None] = RecentIds(_ROOM)

    def calls_in(self, fields: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the start and the end of the call whose end an `agent_log` reports, once for each call.

        Args:
            fields: the fields of the event.
            meta: the metadata of the run.
        """
        log = object_in(fields, "data")
        label, status = text_of(log.get("label")), text_of(log.get("status"))
        if not label.startswith(_CALL) or status == "start":
            return
        data = object_in(log, "data")
        output = object_in(data, "output")
        is_nested = "tool_call_name" in output
        call = output if is_nested else data
        tool_id = short_id(text_of(output.get("tool_call_id")) or text_of(log.get("message_id")))
        if tool_id in self._known:
            return
        self._known.add(tool_id, None)
        name = text_of(call.get("tool_call_name") or call.get("tool_name")) or label.removeprefix(_CALL)
        given = arguments(call.get("tool_call_input", call.get("tool_call_args")))
        yield ToolCallStart(tool_id, name, arguments=given, meta=meta)
        if status in _FAILED or log.get("error"):
            yield ToolCallEnd(tool_id, "failed", error=tool_error(log.get("error")), meta=meta)
        else:
            result = call.get("tool_response") if is_nested else call.get("output")
            yield ToolCallEnd(tool_id, result=result, meta=meta)
