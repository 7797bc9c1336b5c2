"""Reads the events of one answer: the output of the runnable, the events or the log of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, upstream_error
from streamweir.codec.families.langchain_events import ChainEvents, is_chain_event
from streamweir.codec.families.langchain_forms import is_message
from streamweir.codec.families.langchain_outputs import ChainOutputs
from streamweir.codec.families.langgraph_modes import GraphModes
from streamweir.codec.head_messages import HeadMessage, head_messages
from streamweir.codec.message_template import TextFields
from streamweir.dialects.langserve.decode_log import RunLog
from streamweir.events import Event, SessionEnd, SessionStart
from streamweir.framing import Frame

__all__ = ["LangserveDecoder"]


class LangserveDecoder(Decoder):
    """Reads one answer. Only the event `end` ends a stream; a whole answer ends with its document."""

    text_fields: ClassVar = TextFields(
        texts=(("content",), ("answer",), ("output",), ("data", "chunk", "content"), ())
    )

    def __init__(self) -> None:
        self._begun = False
        self._set_up()

    def _set_up(self) -> None:
        self._graph = GraphModes(self.room)
        self._outputs = ChainOutputs(self._graph)
        self._runs = ChainEvents(self._graph, self.room)
        self._log = RunLog(self._runs, self.room)

    @classmethod
    def detect(cls, head: bytes) -> float:
        """Return a high score if the id of a run precedes data, or data has a form of this dialect alone."""
        messages = head_messages(head)
        return max((_score(messages, at) for at in range(min(len(messages), 3))), default=0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`; an unknown message becomes a custom event."""
        if frame.event == "end":
            return self._end()
        if not frame.data.strip():
            return ()
        if not self._begun:
            self._begun = True
            self._set_up()
        return self._read(frame.event or "", frame.json())

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return self._graph.messages.summary

    def close(self) -> Iterable[Event]:
        """Return the end of a body that is a whole answer; streams report their own end."""
        return self._end() if self.complete or self._graph.waits else ()

    def _end(self) -> Iterator[Event]:
        graph = self._graph
        yield from self._outputs.read_whole(self._log.final)
        yield from graph.messages.start_calls()
        yield from self._runs.close()
        yield SessionEnd("suspended" if graph.waits else "completed", summary=graph.messages.summary or None)

    def _read(self, event: str, value: Any) -> Iterator[Event]:
        match event, value:
            case "metadata", dict():
                yield _start(value)
            case "error", _:
                yield _failure(value if isinstance(value, dict) else {"message": value})
            case "data", {"ops": list(ops)}:
                yield from self._log.read(ops)
                if rest := leftover(value, ("ops",)):
                    yield custom("data", rest)
            case "data", {"event": str(name)} if is_chain_event(name):
                yield from self._runs.read(name, value)
            case "data", _:
                yield from self._outputs.read(value)
            case "", {"output": output}:
                yield from self._whole(output, value)
            case _:
                yield custom(event or "message", value)

    def _whole(self, output: Any, fields: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of the JSON body of `/invoke`."""
        self.complete = True
        described = fields.get("metadata")
        if isinstance(described, dict):
            yield _start(described)
        yield from self._outputs.read_whole(output)
        if rest := leftover(fields, ("output", "metadata", "callback_events")):
            yield custom("message", rest)


def _start(fields: Mapping[str, Any]) -> Event:
    return SessionStart(meta=meta_of(run_id=fields.get("run_id"), extra=leftover(fields, ("run_id",))))


def _failure(fields: Mapping[str, Any]) -> Event:
    status = fields.get("status_code")
    details = leftover(fields, ("status_code", "message"))
    return upstream_error(
        fields.get("message"), status=status if type(status) is int else None, details=details
    )


def _score(messages: Sequence[HeadMessage], at: int) -> float:
    """Return the score of the message at the index `at`."""
    message, before = messages[at], messages[at - 1] if at else None
    match message.event, message.value:
        case "error", {"status_code": int(), "message": str()} if at == 0 and len(message.fields) == 2:
            return 0.7
        case "metadata", {"run_id": str()} if at == 0 and "attempt" not in message.fields:
            return 0.45
        case "data", {"ops": [{"op": str(), "path": str()}, *_]}:
            return 0.95
        case "data", {"event": name, "run_id": str()} if is_chain_event(name):
            return 0.95
        case "data", _ if before is not None and _is_metadata(before):
            return 0.95
        case "error", {"status_code": int(), "message": _} if before is not None and _is_metadata(before):
            return 0.9
        case "data", value if at == 0 and (isinstance(value, str) or is_message(value)):
            return 0.5
        case None, {"output": _, "metadata": {"run_id": str()}}:
            return 0.7
    return 0.0


def _is_metadata(message: HeadMessage) -> bool:
    return message.event == "metadata" and isinstance(message.fields.get("run_id"), str)
