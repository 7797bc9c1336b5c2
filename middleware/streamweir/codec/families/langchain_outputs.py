"""Reads a runnable's output: texts, messages, updates of a graph, steps of an agent, any object.

Source: langchain-core 1.7 (`runnables/base.py`), langchain 0.3 and langchain-classic 1.0 (`agents/agent.py`,
`chains/retrieval.py`): these put out objects in pieces, and one field of each object holds the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, named_data, object_in, objects_in, text_in, text_of
from streamweir.codec.families.langchain_forms import is_message
from streamweir.codec.families.langgraph_modes import INTERRUPT, MODES, GraphModes, state_of
from streamweir.codec.families.python_repr import CLASS, value_of_repr
from streamweir.events import Content, Data, Event, Meta, Reference, ToolCallEnd

__all__ = ["ChainOutputs", "has_messages", "is_update", "references"]

_ANSWERS: Final = ("answer", "output", "text", "result", "response", "generation", "content")
"""The fields that hold the answer if a chain puts out objects."""
_ECHOED: Final = frozenset({"input", "question", "query", "chat_history", "history", "agent_scratchpad"})
"""The inputs that chains repeat in their output."""
_DOCUMENTS: Final = ("context", "documents", "source_documents", "docs")
_DOCUMENT: Final = ("page_content", "metadata", "id", "type", CLASS)
_SOURCES: Final = ("url", "link", "source")
_TITLES: Final = ("title", "file_name")
_CITED: Final = (*_SOURCES, *_TITLES, "score")
_FINISH: Final = {"output", "messages", "intermediate_steps", *_ECHOED}
"""The fields of an agent's last step; the messages in it repeat the output."""
_AGENT: Final = ("actions", "steps", "intermediate_steps", "output", "messages")


class ChainOutputs:
    """Reads the output of one runnable.

    Args:
        graph: reads messages, and the output of a graph.

    Attributes:
        has_models: whether texts come from models, so that the runnable's own texts are repetitions.
        is_graph: whether the streamed output consists of updates of nodes.
        has_sources: whether the sources are known, from a retriever or from a piece of the output.
    """

    def __init__(self, graph: GraphModes) -> None:
        self.has_models = self.is_graph = self.has_sources = False
        self._graph = graph

    def read(self, value: Any, meta: Meta | None = None) -> Iterator[Event]:
        """Yield the events of a piece of the output."""
        match value:
            case None:
                return
            case str() if not is_message(value):
                if not self.has_models:
                    yield Content(value, meta=meta)
            case [_, dict()] if is_message(value[0]) and not is_message(value[1]):
                if not self.has_models:
                    yield from self._graph.read("messages", "", value)
            case [str(mode), part] if mode in MODES:
                yield from self._graph.read(mode, "", part)
            case [list() as namespace, str(mode), part] if mode in MODES:
                yield from self._graph.read(mode, "|".join(map(text_of, namespace)), part)
            case _ if is_message(value):
                if not self.has_models:
                    yield from self._graph.messages.read(value, meta)
                elif not _is_piece(value):
                    yield from self._graph.messages.read(value, meta, form="whole")
            case dict():
                yield from self._object(value, meta, is_last=False)
            case _:
                yield from self._others(value, meta)

    def read_whole(self, value: Any, meta: Meta | None = None) -> Iterator[Event]:
        """Yield the new part of the whole output, at the end of the run."""
        match value:
            case None:
                return
            case _ if is_message(value):
                yield from self._graph.messages.read(value, meta, form="whole")
            case str():
                yield Content(value, whole="repeat", meta=meta)
            case dict():
                yield from self._object(value, meta, is_last=True)
            case _:
                yield from self._others(value, meta)

    def _others(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if isinstance(value, list) and value and all(map(is_message, value)):
            for message in value:
                yield from self._graph.messages.read(message, meta, form="whole")
        else:
            yield named_data("output", value, meta)

    def _object(self, value: dict[str, Any], meta: Meta | None, *, is_last: bool) -> Iterator[Event]:
        if "actions" in value or "steps" in value:
            yield from self._agent(value, meta)
        elif isinstance(value.get("output"), str) and value.keys() <= _FINISH:
            yield from self._answer(value, meta, is_last=is_last)
        elif is_update(value):
            self.is_graph = True
            yield from self._updates(value, is_last=is_last)
        elif self.is_graph and not is_last and _are_updates(value):
            yield from self._graph.read("updates", "", value)
        elif INTERRUPT in value or has_messages(value):
            self._graph.has_state = self._graph.has_state or is_last
            yield from self._graph.read("values", "", value)
        else:
            yield from self._answer(value, meta, is_last=is_last)

    def _updates(self, value: dict[str, Any], *, is_last: bool) -> Iterator[Event]:
        """Yield the updates of nodes. In version 1 the end repeats the updates, and has no state."""
        for event in self._graph.read("updates", "", value):
            if not (is_last and isinstance(event, Data)):
                yield event

    def _agent(self, value: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
        """Yield the steps of an agent; messages that repeat steps are left out."""
        for action in objects_in(value.get("actions")):
            tool_id, name = text_of(action.get("tool_call_id")), text_of(action.get("tool"))
            yield from self._graph.messages.start_call(tool_id, name, action.get("tool_input"), meta)
        for step in objects_in(value.get("steps")):
            done = object_in(step, "action")
            tool_id, name = text_of(done.get("tool_call_id")), text_of(done.get("tool"))
            end = ToolCallEnd(tool_id, result=step.get("observation"), tool_name=name or None, meta=meta)
            yield from self._graph.messages.end_call(end)
        if rest := leftover(value, _AGENT):
            yield named_data("output", rest, meta)

    def _answer(self, value: Mapping[str, Any], meta: Meta | None, *, is_last: bool) -> Iterator[Event]:
        """Read an object in which one field holds the answer, and another field its sources."""
        field = next((name for name in _ANSWERS if name in value), None)
        if field is not None:
            answer = value[field]
            if is_last and isinstance(answer, str):
                yield from self.read_whole(answer, meta)
            else:
                yield from self.read(answer, meta)
        rest = {
            name: item
            for name, item in value.items()
            if item is not None
            and name != field
            and name not in _ECHOED
            and not (field and name == "messages")
        }
        for name in [name for name, item in rest.items() if is_message(item)]:  # of models side by side
            message = rest.pop(name)
            yield from self.read_whole(message, meta) if is_last else self.read(message, meta)
        for name in _DOCUMENTS:
            if found := references(rest.get(name), meta):
                del rest[name]
                yield from () if self.has_sources or is_last else found
                self.has_sources = True
        if rest and is_last:
            yield from state_of(rest, meta)
        elif rest:
            yield named_data("output", rest, meta)


def is_update(value: Mapping[str, Any]) -> bool:
    """Return whether a value is a mapping of nodes to their updates."""
    if not _are_updates(value):
        return False
    return INTERRUPT in value or any(map(_writes_messages, value.values()))


def _are_updates(value: Mapping[str, Any]) -> bool:
    return bool(value) and all(
        item is None or (isinstance(item, dict | list) and (name == INTERRUPT or not is_message(item)))
        for name, item in value.items()
    )


def _writes_messages(update: Any) -> bool:
    if isinstance(update, list):
        return any(map(_writes_messages, update[:10]))
    return isinstance(update, dict) and has_messages(update)


def has_messages(value: Mapping[str, Any]) -> bool:
    """Return whether a value holds the messages of a graph's state."""
    messages = value.get("messages")
    return is_message(messages) or (isinstance(messages, list) and all(map(is_message, messages[:1])))


def _is_piece(message: Any) -> bool:
    match message:
        case {"type": "AIMessageChunk"} | {"id": [*_, "AIMessageChunk"]}:
            return True
    return isinstance(message, str) and "tool_call_chunks=" in message


def references(documents: Any, meta: Meta | None = None) -> list[Event]:
    """Return a retriever's documents as one event; an empty list if there are none."""
    found = [*filter(None, map(_document, documents if isinstance(documents, list) else []))]
    if not found:
        return []
    beside = [rest for _, rest in found]
    return [
        Reference(
            [citation for citation, _ in found],
            meta=and_extra(meta, {"documents": beside} if any(beside) else None),
        )
    ]


def _document(given: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return a document as a citation, and the fields that have no place in the citation."""
    value = given
    match given:
        case {"lc": int(), "kwargs": dict(fields)}:
            value = fields
        case str() if given.startswith(("page_content=", "Document(", "id=")):
            value = value_of_repr(given)
    if not isinstance(value, dict) or not isinstance(value.get("page_content"), str):
        return None
    described = object_in(value, "metadata")
    source, score = text_in(described, *_SOURCES), described.get("score")
    is_address = source.startswith(("http://", "https://"))
    citation = {
        "title": text_in(described, *_TITLES) or source or None,
        "url": source if is_address else None,
        "snippet": value["page_content"] or None,
        "document_id": text_of(value.get("id")) or None,
        "score": score if isinstance(score, int | float) and not isinstance(score, bool) else None,
    }
    rest = {**(leftover(described, _CITED) or {}), **(leftover(value, _DOCUMENT) or {})}
    return {name: item for name, item in citation.items() if item is not None}, rest
