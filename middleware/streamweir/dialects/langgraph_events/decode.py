"""Reads events of LangChain's runs and the values of LangGraph's stream modes, in any server's wrapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, text_in, text_of, upstream_error
from streamweir.codec.families.langchain_blocks import is_block_event
from streamweir.codec.families.langchain_events import ChainEvents, is_chain_event
from streamweir.codec.families.langchain_forms import is_message
from streamweir.codec.families.langchain_outputs import ChainOutputs, has_messages, is_update
from streamweir.codec.families.langgraph_modes import INTERRUPT, MODES, GraphModes
from streamweir.codec.families.langgraph_protocol import GraphProtocol, is_protocol_event
from streamweir.codec.head_messages import head_messages
from streamweir.codec.message_template import TextFields
from streamweir.dialects.langgraph_events.decode_score import mode_of_shape, score_of, unpacked
from streamweir.events import Event, SessionEnd, SessionStart
from streamweir.framing import Frame
from streamweir.framing.control_bytes import LF
from streamweir.ids import short_id

__all__ = ["LanggraphEventsDecoder"]

_NAMES: Final = ("event", "type", "mode", "stream_mode", "kind")
_PAYLOADS: Final = ("data", "chunk", "payload", "value", "content")
_NAMESPACES: Final = ("ns", "namespace")
_ENDS: Final = frozenset({"done", "end", "complete", "completed", "finished", "finish", "[DONE]"})
_ASKS: Final = ("interrupt", "interrupts")
_SILENT: Final = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
_MESSAGES: Final = ("message", "error", "detail", "content", "data", "reason")
_CODES: Final = ("code", "error_type", "error_code")
"""The fields of a failure that may hold its code or its class."""


class LanggraphEventsDecoder(Decoder):
    """Reads one stream. The end of the outermost run ends the stream; if no such run is known, the end of the
    body does.

    The end of the body is proper if no message, no call and no known run is open.
    """

    text_fields: ClassVar = TextFields(
        texts=(
            ("data", "chunk", "content"),
            ("data", "chunk", "kwargs", "content"),
            (0, "content"),
            (0, "kwargs", "content"),
            (1, 0, "content"),
            (1, 0, "kwargs", "content"),
            ("data", 0, "content"),
            ("data", 0, "kwargs", "content"),
            (2, 0, "content"),
            (2, 0, "kwargs", "content"),
            (1, 0, "data", "content"),
            (2, 0, "data", "content"),
            ("delta", "text"),
            ("delta", "reasoning"),
            ("params", "data", 0, "delta", "text"),
            ("params", "data", 0, "delta", "reasoning"),
            *(
                (*message, "content", 0, name)
                for message in (("data", "chunk"), (0,), (1, 0), ("data", 0), (2, 0))
                for name in ("text", "thinking", "reasoning")
            ),
        ),
        ignored=(("params", "timestamp"), ("seq",)),
    )

    def __init__(self) -> None:
        self._graph = GraphModes()
        self._runs = ChainEvents(self._graph)
        self._outputs = ChainOutputs(self._graph)
        self._envelopes = GraphProtocol(self._graph)
        self._begun = self._known = False

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return the highest score of the messages. If another protocol's messages occur, only `messages`
        events count.

        Home-made servers begin with `metadata` too; then only pieces in the mode `messages` decide.
        """
        messages = head_messages(head)
        scores = [score_of(message.value, message.event) for message in messages]
        if None in scores:
            scores = [
                score for score, found in zip(scores, messages, strict=True) if found.event == "messages"
            ]
        return max((score for score in scores if score), default=0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        data = frame.data.strip()
        if data == b"[DONE]" or (not data and frame.event in _ENDS):
            return self._done()
        if not data:
            return ()
        if not self._begun:
            self._begun = True
            self._graph = GraphModes(self.room)
            self._runs = ChainEvents(self._graph, self.room)
            self._outputs = ChainOutputs(self._graph)
            self._envelopes = GraphProtocol(self._graph)
        if LF in data and not frame.is_json:
            return chain.from_iterable(map(self.decode, _lines_of(frame)))
        return self._read(frame.event or "", unpacked(frame.json()))

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._graph.messages.summary

    def close(self) -> Iterator[Event]:
        """Yield the end of the body if it was proper: an event was read, no message, call or run is open."""
        yield from self._runs.close()
        if self.complete or self._graph.waits or (self._known and not self._is_open):
            yield from self._end()

    @property
    def _is_open(self) -> bool:
        return self._runs.is_open or self._graph.messages.is_open or self._envelopes.is_open

    def _end(self) -> Iterator[Event]:
        graph = self._graph
        yield from graph.messages.start_calls()
        yield SessionEnd("suspended" if graph.waits else "completed", summary=graph.messages.summary or None)

    def _done(self) -> Iterable[Event]:
        """Note that the server has finished; the run is complete if no message, call or run is open."""
        self.complete = self.complete or (self._known and not self._is_open)
        return ()

    def _read(self, event: str, value: Any) -> Iterator[Event]:
        mode, _, namespace = event.partition("|")
        if is_protocol_event(value):
            yield from self._enveloped(value)
        elif is_chain_event(event):
            fields = value if isinstance(value, dict) else {"data": value}
            yield from self._run(event, fields)
        elif mode in MODES:
            yield from self._mode(mode, namespace, value)
        elif event == "error":
            yield _failure(value if isinstance(value, dict) else {"error": value})
        elif event in _ASKS:
            yield from self._asked(value if isinstance(value, dict) else {"value": value})
        elif event in _SILENT:
            return
        elif event in _ENDS and not isinstance(value, list):
            yield from self._ended(value if isinstance(value, dict) else {})
        elif event == "metadata" and isinstance(value, dict):
            yield from self._start(value)
        elif isinstance(value, list):
            yield from self._listed(value)
        elif isinstance(value, dict):
            yield from self._object(event, value)
        else:
            yield custom(event or "message", value)

    def _mode(self, mode: str, namespace: str, value: Any) -> Iterator[Event]:
        self._known = True
        return self._graph.read(mode, namespace, value)

    def _run(self, event: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        self._known = True
        named = text_of(fields.get("event"))
        yield from self._runs.read(named if is_chain_event(named) else event, fields)
        self.complete = self._runs.is_over

    def _listed(self, value: list[Any]) -> Iterator[Event]:
        """Yield the events of a graph's list: with mode, namespace or both, or a message with metadata."""
        match value:
            case [str(mode), part] if mode in MODES:
                yield from self._mode(mode, "", part)
            case [list() as names, str(mode), part] if mode in MODES:
                yield from self._mode(mode, "|".join(map(text_of, names)), part)
            case [list() as names, part] if all(isinstance(name, str) for name in names):
                yield from self._part("|".join(names), part)
            case [str("error"), failure]:
                yield _failure(failure if isinstance(failure, dict) else {"error": failure})
            case [message, dict(beside)] if is_message(message) and not is_message(beside):
                yield from self._mode("messages", "", value)
            case [str(event), dict(fields)] if is_chain_event(event):
                yield from self._run(event, fields)
            case _ if value and all(map(is_message, value)):
                yield from self._mode("messages/complete", "", value)
            case _:
                yield custom("message", value)

    def _part(self, namespace: str, part: Any) -> Iterator[Event]:
        """Yield the events of a value without a mode, of a graph or a subgraph; its shape shows the mode."""
        match part:
            case [message, dict()] if is_message(message):
                yield from self._mode("messages", namespace, part)
            case dict() if has_messages(part):
                yield from self._mode("values", namespace, part)
            case dict() if is_update(part) or INTERRUPT in part:
                yield from self._mode("updates", namespace, part)
            case dict() if (mode := mode_of_shape(part)) is not None:
                yield from self._mode(mode, namespace, part)
            case _:
                yield from self._mode("custom", namespace, part)

    def _object(self, event: str, fields: dict[str, Any]) -> Iterator[Event]:
        """Yield the events of an object without an event name, by its shape."""
        name = next((found for key in _NAMES if isinstance(found := fields.get(key), str)), "")
        payload = next((key for key in _PAYLOADS if key in fields), None)
        read = self._of_library(name, payload, fields)
        if read is None:
            read = self._of_server(name, fields)
        if read is not None:
            yield from read
        elif has_messages(fields) or is_update(fields) or INTERRUPT in fields:
            yield from self._part("", fields)
        elif payload is not None and (inner := _wrapped(fields[payload])) is not None:
            yield from self._read("", inner)
            if rest := leftover(fields, (payload, *_NAMES)):
                yield custom(name or "message", rest)
        else:
            yield custom(name or event or "message", fields)

    def _of_library(self, name: str, payload: str | None, fields: dict[str, Any]) -> Iterator[Event] | None:
        """Return the events of a message of LangChain or LangGraph themselves; None for any other name."""
        if "lc" in fields or is_message(fields):
            self._known = True
            return self._graph.messages.read(fields)
        if is_chain_event(name):
            return self._run(name, fields)
        if is_block_event(fields) and name != "error":
            self._known = True
            return self._graph.read_block(fields, {})
        if mode_of_shape(fields) is not None:
            return self._part("", fields)
        if name.partition("|")[0] in MODES and payload is not None:
            return self._stream_part(name, payload, fields)
        return None

    def _of_server(self, name: str, fields: dict[str, Any]) -> Iterator[Event] | None:
        """Return the events of a server's message about its stream; None for any other name."""
        if name == "error" or (not name and (fields.get("error") or fields.keys() == {"detail"})):
            return iter([_failure(fields)])
        if name in _ASKS:
            return self._asked(fields)
        if name in _SILENT:
            return iter(())
        if name in _ENDS:
            return self._ended(fields)
        return self._start(fields) if name == "metadata" else None

    def _enveloped(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        self._known = True
        yield from self._envelopes.read(fields)
        self.complete = self._envelopes.is_over

    def _stream_part(self, name: str, payload: str, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a mode's value that comes with the namespace of the subgraph."""
        mode, _, namespace = name.partition("|")
        names = next((found for key in _NAMESPACES if (found := fields.get(key))), namespace)
        namespace = "|".join(map(text_of, names)) if isinstance(names, list) else text_of(names)
        yield from self._mode(mode, namespace, fields[payload])
        if interrupts := fields.get("interrupts"):
            yield from self._graph.ask(interrupts)
        if rest := leftover(fields, (payload, "interrupts", *_NAMES, *_NAMESPACES)):
            yield custom(mode, rest)

    def _start(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        ids = self._graph.ids
        for name in ("run_id", "thread_id"):
            if isinstance(fields.get(name), str):
                ids[name] = short_id(fields[name])
        rest = leftover(fields, ("run_id", "thread_id", *_NAMES))
        yield SessionStart(meta=meta_of(**ids, extra=rest))

    def _asked(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the questions to a person that a server has found in the graph's state."""
        names = (*_ASKS, "value", "data", "payload", "content")
        found = next((fields[name] for name in names if name in fields and name not in _NAMES), None)
        is_interrupt = found is None or "id" in fields or "interrupt_id" in fields
        asked = leftover(fields, _NAMES) if is_interrupt else found
        yield from self._graph.ask(asked or {})
        if not is_interrupt and (rest := leftover(fields, (*_NAMES, *names))):
            yield custom("interrupt", rest)

    def _ended(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        if rest := leftover(fields, _NAMES):
            yield custom("end", rest)
        self._done()


def _lines_of(frame: Frame) -> Iterator[Frame]:
    """Yield the lines of a block that holds several messages, sent by servers without blank lines."""
    return (Frame(line, frame.event) for line in frame.data.split(b"\n") if line.strip())


def _wrapped(value: Any) -> Any:
    """Return the value that a server has wrapped in an object; None if the form of the object is unknown."""
    value = unpacked(value)
    match value:
        case dict() if is_message(value) or is_update(value) or has_messages(value) or INTERRUPT in value:
            return value
        case {"event": event} if is_chain_event(event):
            return value
        case [message, dict()] if is_message(message):
            return value
        case [str(mode), _] | [list(), str(mode), _] if mode in MODES:
            return value
    return None


def _failure(fields: Mapping[str, Any]) -> Event:
    """Return the event of a failure, in any of the shapes that servers use."""
    inner = next((found for key in ("error", "data") if isinstance(found := fields.get(key), dict)), fields)
    code = next((found for key in _CODES if isinstance(found := inner.get(key), str)), None)
    if code is None and inner is not fields and isinstance(inner.get("type"), str):
        code = inner["type"]
    status = next(
        (found for key in ("status_code", "status", "code") if type(found := inner.get(key)) is int), None
    )
    return upstream_error(text_in(inner, *_MESSAGES), code=code, status=status)
