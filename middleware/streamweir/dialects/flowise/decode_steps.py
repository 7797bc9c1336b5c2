"""Reads the steps of agents: the active agent, messages between agents, the status of the flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, meta_of, text_of
from streamweir.dialects.flowise.decode_tools import UsedTools
from streamweir.events import Event, Meta, State, Status, Thinking

__all__ = ["AgentReasoning", "flow", "next_agent", "next_node"]

_STATES: Final[Mapping[str, State]] = {
    "INPROGRESS": "running",
    "FINISHED": "finished",
    "ERROR": "failed",
    "TIMEOUT": "failed",
    "TERMINATED": "failed",
    "STOPPED": "suspended",
}
_AGENT: Final = (
    *("agentName", "nodeName", "nodeId", "messages", "instructions", "usedTools", "sourceDocuments"),
    *("state", "artifacts", "fileAnnotations"),
)
_MOST: Final = 1000


class AgentReasoning:
    """Reads the agents' turns; each list of turns repeats the earlier ones."""

    def __init__(self, tools: UsedTools) -> None:
        self._tools = tools
        self._known: list[int] = []
        """For each turn of an agent: the number of messages that have been read."""
        self._thoughts = 0

    def read(self, value: Any) -> Iterator[Event]:
        """Yield the new part of a list of turns."""
        for index, turn in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            if not isinstance(turn, dict):
                yield custom("agentReasoning", turn)
                continue
            name = text_of(turn.get("agentName")) or None
            meta = meta_of(node_name=name, node_id=turn.get("nodeId"))
            if index >= len(self._known):
                self._known.append(0)
                yield Status("node", "running", name, leftover(turn, _AGENT), meta=meta)
            messages = turn.get("messages")
            messages = messages if isinstance(messages, list) else []
            for text in filter(None, map(text_of, messages[self._known[index] :])):
                self._thoughts += 1
                own: Meta = {**(meta or {}), "message_id": f"thought_{self._thoughts}"}
                yield Thinking(text, "planning", meta=own)
            self._known[index] = max(self._known[index], len(messages))
            if isinstance(calls := turn.get("usedTools"), list):
                yield from self._tools.read([call for call in calls if call])


def next_agent(value: Any) -> Iterator[Event]:
    """Yield the status that the work passes to another agent."""
    if name := text_of(value):
        yield Status("node", "started", name, meta=meta_of(node_name=name))


def flow(value: Any) -> Iterator[Event]:
    """Yield the status of the flow."""
    yield Status("workflow", _STATES.get(text_of(value), "running"), detail=text_of(value) or None)


def next_node(value: Any) -> Iterator[Event]:
    """Yield the status of a node of the flow."""
    if not isinstance(value, dict):
        yield custom("nextAgentFlow", value)
        return
    name = text_of(value.get("nodeLabel")) or text_of(value.get("nodeId")) or None
    state = _STATES.get(text_of(value.get("status")), "running")
    meta = meta_of(node_id=value.get("nodeId"), node_name=name)
    yield Status("node", state, name, leftover(value, ("nodeId", "nodeLabel", "status")), meta=meta)
