"""Reads the events of LangChain's `astream_events`, versions 1 and 2, and similar events of other servers.

Source: langchain-core 1.7 (`tracers/event_stream.py`, `runnables/schema.py`). A run repeats the output of the
runs inside it; only the end of the outermost run is the end of the stream. Version 1 names no parents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, meta_of, named_data, object_in, text_of, upstream_error
from streamweir.codec.families.langchain_forms import plain_message
from streamweir.codec.families.langchain_outputs import ChainOutputs, references
from streamweir.codec.families.langchain_tools import ToolRuns
from streamweir.codec.families.langgraph_modes import GraphModes
from streamweir.codec.families.python_repr import CLASS, value_of_repr
from streamweir.events import Content, Event, Meta, SessionStart, Status
from streamweir.ids import RecentIds, short_id
from streamweir.options.limits import EVENT_BYTES

__all__ = ["ChainEvents", "is_chain_event"]

_FIELDS: Final = ("event", "name", "run_id", "parent_ids", "tags", "metadata", "data", "parent_run_id")
_DATA: Final = ("chunk", "output", "input", "tool_call_id")
_READ: Final = frozenset({"chat_model", "llm", "tool", "retriever"})
_MODELS: Final = frozenset({"chat_model", "llm"})
_RESULT: Final = ("generations", "llm_output", "run", "type", CLASS)
_STEP: Final = "graph:step:"
_SILENT: Final = frozenset({"prompt", "parser"})


def is_chain_event(name: Any) -> bool:
    """Return whether this is the name of one of the events that this module reads."""
    return isinstance(name, str) and name.startswith("on_") and name.endswith(_PHASES)


class ChainEvents:
    """Reads the events of one run, or of several runs in sequence.

    Args:
        graph: reads messages, and the output of a graph.
        room: the number of bytes, roughly, that may be kept.

    Attributes:
        is_over: whether the outermost run has ended, and no other run has begun.
    """

    def __init__(self, graph: GraphModes, room: int = EVENT_BYTES) -> None:
        self.is_over = False
        self._graph = graph
        self._outputs = ChainOutputs(graph)
        self._tools = ToolRuns(graph, room)
        self._message_ids: RecentIds[str] = RecentIds(room // 8)
        """The ids of messages, by the run of the model that wrote them."""
        self._root: str | None = None
        self._begun = False
        self._has_parents = False
        self._open = 0
        """The number of chains without an id that have started and not ended."""
        self._steps: RecentIds[None] = RecentIds(room // 8)
        self._parsed_by: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the outermost run has started and not ended; False if the outermost run is not known."""
        return not self.is_over and (self._root is not None or self._open > 0)

    def read(self, event: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the standard events for an event of LangChain.

        Args:
            event: the name of the event.
            fields: the event, or only its `data` if the server writes the name elsewhere.
        """
        kind, _, phase = event.removeprefix("on_").rpartition("_")
        data = fields["data"] if "data" in fields else leftover(fields, _FIELDS) or {}
        data = data if isinstance(data, dict) else {"chunk": data, "output": data}
        run_id = short_id(text_of(fields.get("run_id")))
        began = self._root
        is_root = self._note_run(kind, phase, run_id, fields.get("parent_ids"))
        meta = self._meta(fields, run_id)
        if self._root != began:
            yield SessionStart(meta=meta_of(run_id=run_id, thread_id=self._graph.ids.get("thread_id")))
        read = _READERS.get((kind, phase))
        if kind == "chain":
            yield from self._chain(phase, run_id, fields, data, meta, is_root=is_root)
        elif kind == "custom":
            yield named_data(text_of(fields.get("name")) or "custom", fields.get("data"), meta)
        elif kind == "tool":
            yield from self._tool(phase, run_id, fields, data, meta)
        elif phase == "error":
            yield from _failure(fields, data, meta, is_root=is_root)
        elif read is not None:
            yield from read(self, run_id, data, meta)
        elif kind not in _SILENT and phase != "start":
            yield custom(event, data, meta)
        if is_root and phase == "end" and kind not in ("chain", "chat_model", "llm", "tool", "retriever"):
            yield from self._outputs.read_whole(data.get("output"), meta)
        if phase != "error" and (rest := _unread(kind, phase, fields, data)):
            yield custom(event, rest, meta)

    def _meta(self, fields: Mapping[str, Any], run_id: str) -> Meta | None:
        described = object_in(fields, "metadata")
        self._outputs.is_graph = self._outputs.is_graph or "langgraph_node" in described
        thread_id = described.get("thread_id")
        if isinstance(thread_id, str) and "thread_id" not in self._graph.ids:
            self._graph.ids["thread_id"] = short_id(thread_id)
        parents = fields.get("parent_ids")
        return meta_of(
            run_id=run_id,
            parent_run_id=parents[-1] if isinstance(parents, list) and parents else None,
            node_name=described.get("langgraph_node"),
            node_id=described.get("langgraph_checkpoint_ns"),
            thread_id=self._graph.ids.get("thread_id"),
        )

    # Runs

    def _note_run(self, kind: str, phase: str, run_id: str, parents: Any) -> bool:
        """Note the start or the end of a run; return whether it is the outermost run."""
        if kind == "custom":
            return False
        has_parents = isinstance(parents, list) and bool(parents)
        self._has_parents = self._has_parents or has_parents
        if not run_id:
            return kind == "chain" and self._note_nameless(phase)
        if phase == "start" and not has_parents and (self.is_over or not self._begun):
            self._root, self.is_over = run_id, False
        self._begun = True
        is_root = run_id == self._root
        if self._root is None and not has_parents and self._has_parents:
            is_root = True
        if is_root and phase in ("end", "error"):
            self.is_over = True
        return is_root

    def _note_nameless(self, phase: str) -> bool:
        """Note the start, a piece or the end of a chain without an id; return whether it is the outermost."""
        if phase == "stream":
            return self._open <= 1
        was_open = self._open
        self._open = max(was_open + (1 if phase == "start" else -1), 0)
        self.is_over = was_open > 0 and self._open == 0
        return self._open == 0

    def _chain(
        self,
        phase: str,
        run_id: str,
        fields: Mapping[str, Any],
        data: dict[str, Any],
        meta: Meta | None,
        *,
        is_root: bool,
    ) -> Iterator[Event]:
        """Yield the events of a run around other runs: a chain, a graph or one of its nodes."""
        yield from self._step(phase, run_id, fields, data, meta)
        if phase == "error" and is_root:
            yield upstream_error(data.get("error"), meta=meta)
        elif phase == "stream" and (is_root or (run_id and self._is_only_source(run_id))):
            yield from self._without_steps(self._outputs.read(data.get("chunk"), meta))
        elif phase == "end" and is_root:
            yield from self._without_steps(self._outputs.read_whole(data.get("output"), meta))

    def _is_only_source(self, run_id: str) -> bool:
        """Return whether the outermost run is unknown, and this is the first run with an output."""
        if self._root is not None or self._outputs.has_models:
            return False
        self._parsed_by = self._parsed_by or run_id
        return self._parsed_by == run_id

    def _step(
        self, phase: str, run_id: str, fields: Mapping[str, Any], data: Mapping[str, Any], meta: Meta | None
    ) -> Iterator[Event]:
        """Yield the start or the end of a node of the graph."""
        name, tags = text_of(fields.get("name")), fields.get("tags")
        node = (meta or {}).get("node_name")
        if phase == "start" and node == name and not name.startswith("__"):
            if isinstance(tags, list) and tags and not text_of(tags[0]).startswith(_STEP):
                return
            self._steps.add(run_id, None)
            yield Status("node", "started", name=name, meta=meta)
        elif phase in ("end", "error") and run_id in self._steps:
            self._steps.discard(run_id)
            failed = phase == "error"
            detail = data.get("error") if failed else None
            yield Status("node", "failed" if failed else "finished", name=name, detail=detail, meta=meta)

    @staticmethod
    def _without_steps(events: Iterator[Event]) -> Iterator[Event]:
        """Yield the output of a graph, without the ends of its nodes: nodes have events of their own."""
        return (event for event in events if not isinstance(event, Status))

    def _tool(
        self, phase: str, run_id: str, fields: Mapping[str, Any], data: dict[str, Any], meta: Meta | None
    ) -> Iterator[Event]:
        tools, name = self._tools, short_id(text_of(fields.get("name")))
        read = {"start": tools.start, "stream": tools.progress, "end": tools.end, "error": tools.fail}
        yield from read.get(phase, tools.progress)(run_id, name, data, meta)

    def close(self) -> Iterator[Event]:
        """Yield the events for the end of the body."""
        return self._tools.settle()

    # Models

    def _model_piece(self, run_id: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        self._outputs.has_models = True
        yield from self._tools.settle()
        chunk = _generated(data.get("chunk", data))
        message = plain_message(chunk) or _reduced(chunk)
        if message is None:
            yield Content(text_of(chunk), meta=meta_of(**{**(meta or {}), "message_id": run_id}))
            return
        message_id = text_of(message.get("id")) or run_id
        if run_id:
            self._message_ids.add(run_id, short_id(message_id))
        kind = message.get("type")  # a text of Python does not tell a piece from a whole message
        kind = "AIMessageChunk" if kind in ("human", None) or isinstance(chunk, str) else kind
        yield from self._graph.messages.read({**message, "type": kind, "id": message_id}, meta)
        yield from self._left_behind()

    def _model_end(self, run_id: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        self._outputs.has_models = True
        result = data.get("output")
        if isinstance(result, dict) and "generations" in result and (rest := leftover(result, _RESULT)):
            yield custom("on_llm_end", rest, meta)
        output = _generated(result)
        if output is None:
            return
        message = plain_message(output) or _reduced(output) or {"content": text_of(output)}
        message_id = self._message_ids.get(run_id) or text_of(message.get("id")) or run_id
        whole = {**message, "type": "ai", "id": message_id}
        yield from self._graph.messages.read(whole, meta, form="whole")
        yield from self._left_behind()

    def _left_behind(self) -> Iterator[Event]:
        """Yield the ends of calls that a server left out, as servers that filter events do."""
        return iter(()) if self._root is not None else self._graph.messages.end_calls_left_behind()

    # Others

    def _parser_piece(self, run_id: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the text of a parser, if neither a model nor the chain around the parser has sent text."""
        chunk = data.get("chunk")
        if isinstance(chunk, str) and self._is_only_source(run_id):
            yield Content(chunk, meta=meta)

    def _found(self, _run_id: str, data: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        output = data.get("output")
        documents = output.get("documents") if isinstance(output, dict) else output
        found = references(documents, meta)
        self._outputs.has_sources = self._outputs.has_sources or bool(found)
        yield from found or ([named_data("on_retriever_end", output, meta)] if output else [])


def _unread(
    kind: str, phase: str, fields: Mapping[str, Any], data: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the fields of an event, and of its run, that no rule reads."""
    rest = leftover(fields, _FIELDS) if "data" in fields else None
    is_piece = kind in _MODELS and phase == "stream" and "chunk" not in data
    if kind in _READ and not is_piece:
        rest = {**(leftover(data, _DATA) or {}), **(rest or {})}
    return rest or None


def _generated(value: Any) -> Any:
    """Return the message or the text in the result of a model; in version 1 it is in the `generations`."""
    match value:
        case str() if value.startswith(("text=", "message=", "generations=")):
            return _generated(value_of_repr(value)) or value
        case {"generations": [[first, *_], *_]}:
            return _generated(first)
        case {"generations": _}:
            return None
        case {"message": message} if plain_message(message) is not None:
            return message
        case {"lc": int(), "kwargs": {"message": message}} if plain_message(message) is not None:
            return message
        case {"text": str(text)} | {"lc": int(), "kwargs": {"text": str(text)}}:
            return text
    return value


def _reduced(value: Any) -> dict[str, Any] | None:
    """Return a message of which the server wrote only the text and a few other fields."""
    return value if isinstance(value, dict) and "content" in value else None


def _failure(
    fields: Mapping[str, Any], data: Mapping[str, Any], meta: Meta | None, *, is_root: bool
) -> Iterator[Event]:
    if is_root:
        yield upstream_error(data.get("error"), meta=meta)
    else:
        name = text_of(fields.get("name")) or None
        yield Status("model", "failed", name=name, detail=data.get("error"), meta=meta)


_PHASES: Final = ("_start", "_stream", "_end", "_error", "_event")

_READERS: Final[
    Mapping[tuple[str, str], Callable[[ChainEvents, str, dict[str, Any], Meta | None], Iterator[Event]]]
] = {
    ("chat_model", "stream"): ChainEvents._model_piece,
    ("chat_model", "end"): ChainEvents._model_end,
    ("llm", "stream"): ChainEvents._model_piece,
    ("llm", "end"): ChainEvents._model_end,
    ("parser", "stream"): ChainEvents._parser_piece,
    ("retriever", "end"): ChainEvents._found,
}
