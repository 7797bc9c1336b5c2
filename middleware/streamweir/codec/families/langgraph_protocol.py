"""Reads LangGraph's streaming protocol: the value of a mode in an envelope, and the life of the run.

Source: langchain-protocol 0.0.20 (`protocol.py`); @langchain/langgraph-api 1.3 (`protocol/session`). A server
names its SSE events by the modes of the envelopes and sends the node beside the value; a graph in the same
process sends the node within the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, meta_of, text_of, upstream_error
from streamweir.codec.families.langchain_blocks import is_block_event
from streamweir.codec.families.langgraph_modes import MODES, GraphModes
from streamweir.events import Event, State, Status

__all__ = ["GraphProtocol", "is_protocol_event"]

_ENVELOPE: Final = ("type", "method", "params", "seq", "event_id")
_PARAMS: Final = ("namespace", "timestamp", "data", "interrupts", "node")
_RUN: Final[Mapping[str, State]] = {
    "started": "started",
    "running": "running",
    "completed": "finished",
    "failed": "failed",
    "interrupted": "suspended",
}


def is_protocol_event(value: Any) -> bool:
    """Return whether a message is an event of the protocol."""
    match value:
        case {"type": "event", "method": str(mode), "params": dict()}:
            return mode in MODES
    return False


class GraphProtocol:
    """Reads the envelopes of one stream.

    Args:
        graph: reads the values of the modes.

    Attributes:
        is_open: whether a run has reported its start, and not its end.
        is_over: whether the last run has reported its end.
    """

    def __init__(self, graph: GraphModes) -> None:
        self._graph = graph
        self.is_open = self.is_over = False

    def read(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a message for which `is_protocol_event` is true."""
        mode, params = fields["method"], fields["params"]
        names, data = params.get("namespace"), params.get("data")
        namespace = "|".join(map(text_of, names)) if isinstance(names, list) else ""
        if mode == "lifecycle" and not namespace and _is_of_run(data):
            yield from self._run(data)
        else:
            yield from self._graph.read(
                mode, namespace, _with_node(mode, namespace, params.get("node"), data)
            )
        if interrupts := params.get("interrupts"):
            yield from self._graph.ask(interrupts)
        if beside := {**(leftover(params, _PARAMS) or {}), **(leftover(fields, _ENVELOPE) or {})}:
            yield custom(mode, beside)

    def _run(self, life: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the start or the end of the run."""
        state = _RUN[life["event"]]
        self.is_open = state in ("started", "running")
        self.is_over = not self.is_open
        rest = leftover(life, ("event", "graph_name", "error"))
        meta = meta_of(**self._graph.ids, extra=rest)
        yield Status("workflow", state, name=text_of(life.get("graph_name")) or None, meta=meta)
        if state == "failed":
            yield upstream_error(life.get("error"), meta=meta_of(**self._graph.ids))
        elif state == "suspended" and not self._graph.waits:
            yield from self._graph.ask([])


def _is_of_run(life: Any) -> bool:
    """Return whether the life is that of the run itself; that of a subgraph has the namespace within it."""
    return isinstance(life, dict) and text_of(life.get("event")) in _RUN and not life.get("namespace")


def _with_node(mode: str, namespace: str, node: Any, data: Any) -> Any:
    """Return the value of a mode with its node, as a graph in the same process sends it."""
    if mode == "messages" and is_block_event(data):
        return [data, {"langgraph_node": node, "langgraph_checkpoint_ns": namespace, "run_id": node}]
    if mode == "updates" and isinstance(node, str):
        return {node: data}
    return data
