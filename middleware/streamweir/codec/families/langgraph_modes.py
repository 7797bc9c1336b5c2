"""Reads the stream modes of LangGraph: the values of each mode about a run, its graph and its subgraphs.

Source: langgraph 1.2 (`pregel/main.py`, `pregel/_tools.py`, `types.py`); langgraph-sdk 0.4.14 (`schema.py`)
for the names of the modes in which a server sends growing messages. A state repeats messages; each message is
passed on once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streamweir.classification.failure_signs import reports_failure
from streamweir.codec.coerce import and_extra, custom, leftover, meta_of, named_data, text_of, tool_error
from streamweir.codec.families.langchain_blocks import MessageBlocks, is_block_event
from streamweir.codec.families.langchain_forms import is_message, plain_message
from streamweir.codec.families.langchain_messages import UNMARKED, ChainMessages
from streamweir.codec.families.langgraph_interrupts import interrupt_of
from streamweir.errors import MalformedEvent
from streamweir.events import Data, Event, Interaction, Meta, State, Status, ToolCallEnd, ToolCallProgress
from streamweir.ids import RecentIds, short_id
from streamweir.jsontext import write_json_text
from streamweir.options.limits import EVENT_BYTES

__all__ = ["INTERRUPT", "MODES", "GraphModes", "state_of"]

INTERRUPT: Final = "__interrupt__"
"""The key of an update or a state that holds the questions of a graph."""

_SILENT: Final = frozenset({"checkpoints"})
_MOST_ASKED: Final = 1000
_LIFE: Final[Mapping[str, State]] = {
    "started": "started",
    "running": "running",
    "completed": "finished",
    "failed": "failed",
    "interrupted": "suspended",
}
_TOOL: Final = ("event", "tool_call_id", "tool_name", "input", "delta", "output", "message")
_TASK: Final = ("id", "name", "input", "triggers", "metadata", "error", "result", "interrupts", "path")


class GraphModes:
    """Reads the values of the stream modes of one run.

    Args:
        room: the number of bytes, roughly, that may be kept.

    Attributes:
        messages: reads the messages of the run.
        ids: the ids of the thread and of the run, if known. A question holds the id of the thread.
        waits: whether the run waits for a person.
        has_state: whether a state of the graph itself has arrived.
    """

    def __init__(self, room: int = EVENT_BYTES) -> None:
        self.messages = ChainMessages(room)
        self.ids: dict[str, str] = {}
        self.waits = False
        self.has_state = False
        self._blocks = MessageBlocks(self.messages, room)
        self._asked: RecentIds[None] = RecentIds(1 << 16)
        self._texts: RecentIds[None] = RecentIds(1 << 16)
        """The ids of messages that arrived as Python's text."""

    def read(self, mode: str, namespace: str, value: Any) -> Iterator[Event]:
        """Yield the events of a mode; the value of an unknown mode is kept unchanged.

        Args:
            mode: the name of the mode.
            namespace: of the subgraph; empty for the graph itself.
            value: the value of the mode.
        """
        if mode in _SILENT:
            return
        meta = meta_of(node_id=namespace, **self.ids)
        read = _READERS.get(mode)
        if read is None:
            yield custom(mode or "message", value, meta)
        else:
            yield from read(self, value, meta)

    # Messages

    def _tuple(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Read a message with its metadata. Older servers send the message without metadata."""
        match value:
            case [event, dict(beside)] if is_block_event(event):
                yield from self.read_block(event, beside, meta)
            case [message, dict(beside)] if not is_message(beside):
                thread_id = beside.get("thread_id")
                if "thread_id" not in self.ids and isinstance(thread_id, str):
                    self.ids["thread_id"] = short_id(thread_id)
                found = {"node_name": beside.get("langgraph_node"), "thread_id": self.ids.get("thread_id")}
                message = self._as_piece(message) if isinstance(message, str) else _plain_piece(message)
                yield from self.messages.read(message, meta_of(**{**(meta or {}), **found}))
            case _:
                yield from self._whole(value, meta)

    def _as_piece(self, text: str) -> Any:
        """Return the message in Python's text, as a piece if a message with its id has arrived before."""
        message = plain_message(text)
        if message is None or message["type"] != "ai":
            return text
        message_id = text_of(message.get("id"))
        if message_id in self._texts:
            return {**message, "type": "AIMessageChunk"}
        self._texts.add(message_id, None)
        return text

    def read_block(
        self, event: Mapping[str, Any], beside: Mapping[str, Any], meta: Meta | None = None
    ) -> Iterator[Event]:
        """Yield the events for a block event of a message, with the graph's metadata."""
        node, namespace = (
            text_of(beside.get("langgraph_node")),
            text_of(beside.get("langgraph_checkpoint_ns")),
        )
        origin = f"{namespace} {text_of(beside.get('run_id'))}"
        yield from self._blocks.read(event, origin, meta_of(**{**(meta or {}), "node_name": node}))

    def _growing(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        for message in value if isinstance(value, list) else [value]:
            yield from self.messages.read(message, meta, form="growing")

    def _whole(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        for message in value if isinstance(value, list) else [value]:
            yield from self.messages.read(message, meta)

    def _beside_messages(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the metadata of messages by their ids, without the origins of the messages."""
        found = value if isinstance(value, dict) else {"value": value}
        rest = {name: item for name, item in found.items() if not _is_origin(item)}
        if rest:
            yield custom("messages/metadata", rest, meta)

    # States

    def _values(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if not isinstance(value, dict):
            yield custom("values", value, meta)
            return
        messages = value.get("messages")
        if isinstance(messages, list):
            self._note_history(messages, is_first=not self.has_state)
            self.has_state = self.has_state or bool(meta is None or "node_id" not in meta)
            for message in messages:
                yield from self.messages.read(message, meta, form="whole")
            value = {name: item for name, item in value.items() if name != "messages"}
        yield from self.ask(value.get(INTERRUPT), meta)
        yield from state_of(leftover(value, (INTERRUPT,)), meta)

    def _note_history(self, messages: list[Any], *, is_first: bool) -> None:
        """Note the messages up to the person's last one as history; or all messages of the first state."""
        plain = [*map(plain_message, messages)]
        people = [at for at, found in enumerate(plain) if found and _is_person(found)]
        if is_first and not self.messages.found:
            self.messages.note_history(messages)
        elif people:
            self.messages.note_history(messages[: people[-1] + 1])

    def _updates(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if not isinstance(value, dict):
            yield custom("updates", value, meta)
            return
        for name, update in value.items():
            if name == INTERRUPT:
                yield from self.ask(update, meta)
            else:
                yield from self._update(name, update, meta_of(**{**(meta or {}), "node_name": name}))

    def _update(self, name: str, update: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the events for the update of a node: its messages, and the other fields of the state."""
        rest = []
        for part in update if isinstance(update, list) else [update]:
            yield from self._written(part, meta)
            left = leftover(part, ("messages",)) if isinstance(part, dict) and not is_message(part) else None
            rest += [left] if left else []
            if part is not None and not isinstance(part, dict):
                rest.append(part)
        yield Status("node", "failed" if reports_failure(rest) else "finished", name=name, meta=meta)
        if rest:
            yield named_data("updates", {name: rest[0] if len(rest) == 1 else rest}, meta)

    def _written(self, part: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the events for the messages in the update of a node."""
        if is_message(part):
            yield from self.messages.read(part, meta, form="whole")
        elif isinstance(part, dict) and "messages" in part:
            messages = part["messages"]
            for message in messages if isinstance(messages, list) else [messages]:
                if message is not None:
                    yield from self.messages.read(message, meta, form="whole")

    def _custom(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        yield named_data("custom", value, meta)

    # Tasks

    def _task(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the events of a task: the start of a node, or its end with its update."""
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            yield custom("tasks", value, meta)
            return
        name = value["name"]
        beside = leftover(value, _TASK)
        meta = meta_of(**{**(meta or {}), "node_name": name, "extra": beside})
        if "result" not in value and "error" not in value:
            yield Status("node", "started", name=name, meta=meta)
            return
        if value.get("error"):
            yield Status("node", "failed", name=name, detail=value["error"], meta=meta)
            return
        yield from self._update(name, _channels(value.get("result")), meta)
        if interrupts := value.get("interrupts"):
            yield from self.ask(interrupts, meta)

    def _tools(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Read an event of a tool's run: its start, output during the run, or its end."""
        if not isinstance(value, dict):
            yield custom("tools", value, meta)
            return
        tool_id, name = short_id(text_of(value.get("tool_call_id"))), text_of(value.get("tool_name"))
        meta = and_extra(meta, leftover(value, _TOOL))
        match value.get("event"):
            case "tool-started":
                yield from self.messages.start_calls()
                yield from self.messages.start_call(tool_id, name, value.get("input"), meta)
            case "tool-output-delta":
                yield ToolCallProgress(tool_id, message=text_of(value.get("delta")), meta=meta)
            case "tool-finished" if is_message(value.get("output")):
                yield from self.messages.read(value["output"], meta)
            case "tool-finished":
                yield from self.messages.end_call(ToolCallEnd(tool_id, result=value.get("output"), meta=meta))
            case "tool-error":
                failure = ToolCallEnd(tool_id, "failed", error=tool_error(value.get("message")), meta=meta)
                yield from self.messages.end_call(failure)
            case _:
                yield custom("tools", value, meta)

    def _lifecycle(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the start or the end of a subgraph."""
        state = _LIFE.get(text_of(value.get("event"))) if isinstance(value, dict) else None
        if state is None:
            yield custom("lifecycle", value, meta)
            return
        name = text_of(value.get("graph_name")) or None
        beside = and_extra(meta, leftover(value, ("event", "graph_name", "error")))
        detail = value.get("error") if state == "failed" else None
        yield Status("node", state, name=name, detail=detail, meta=beside)

    def _requested(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        match value:
            case {"interrupt_id": str(interrupt_id), "payload": payload}:
                rest = leftover(value, ("interrupt_id", "payload")) or {}
                yield from self.ask([{**rest, "id": interrupt_id, "value": payload}], meta)
            case _:
                yield custom("input.requested", value, meta)

    def _debug(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        match value:
            case {"type": "task" | "task_result", "payload": dict(payload)}:
                yield from self._task(payload, meta)
            case {"type": "checkpoint"}:
                return
            case _:
                yield custom("debug", value, meta)

    # Interrupts

    def ask(self, value: Any, meta: Meta | None = None) -> Iterator[Event]:
        """Yield the questions to a person, each question once. An empty list is a breakpoint."""
        if value is None:
            return
        interrupts = value if isinstance(value, list) else [value]
        if len(interrupts) > _MOST_ASKED:
            raise MalformedEvent("more is asked at a time than anybody can answer")
        self.waits = True
        yield from self.messages.start_calls()
        held = {name: self.ids[name] for name in ("thread_id",) if name in self.ids}
        for interrupt in interrupts:
            asked = interrupt_of(interrupt, held, meta)
            known = asked.interaction_id or short_id(write_json_text(interrupt))
            if known not in self._asked:
                self._asked.add(known, None)
                yield asked
        if not interrupts:
            yield Interaction("", "continue", resume=held, meta=meta)


def state_of(state: Mapping[str, Any] | None, meta: Meta | None) -> Iterator[Event]:
    """Yield the event of a state. A failure that it reports is an event whose texts are hidden."""
    failing = {name: value for name, value in (state or {}).items() if reports_failure({name: value})}
    if rest := leftover(state or {}, failing):
        yield Data("state", rest, meta=meta)
    if failing:
        yield named_data("state", failing, meta)


def _plain_piece(message: Any) -> Any:
    """Return a message. A piece of LangGraph.js, whose type is `ai`, gets the type of a piece."""
    match message:
        case {"type": "ai", "tool_call_chunks": list()}:
            return {**message, "type": "AIMessageChunk", "chunk_position": UNMARKED}
    return message


def _is_origin(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() == {"metadata"}


def _channels(result: Any) -> Any:
    """Return the update of a node as one object; older servers send a list of pairs of channel and value."""
    if isinstance(result, list) and all(isinstance(item, list) and len(item) == 2 for item in result):
        return {text_of(name): item for name, item in result}
    return result


def _is_person(message: Mapping[str, Any]) -> bool:
    return message.get("type", message.get("role")) in ("human", "user", "HumanMessage")


_READERS: Final[Mapping[str, Callable[[GraphModes, Any, Meta | None], Iterator[Event]]]] = {
    "messages": GraphModes._tuple,
    "messages/partial": GraphModes._growing,
    "messages/complete": GraphModes._whole,
    "messages/metadata": GraphModes._beside_messages,
    "updates": GraphModes._updates,
    "values": GraphModes._values,
    "custom": GraphModes._custom,
    "tasks": GraphModes._task,
    "tools": GraphModes._tools,
    "lifecycle": GraphModes._lifecycle,
    "input.requested": GraphModes._requested,
    "debug": GraphModes._debug,
}

MODES: Final = frozenset({*_READERS, *_SILENT})
"""The names of the modes."""
