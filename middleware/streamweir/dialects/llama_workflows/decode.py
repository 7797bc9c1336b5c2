"""Reads a workflow's events: the type, the types that it is derived from, and the fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import (
    arguments,
    custom,
    leftover,
    meta_of,
    named_data,
    objects_in,
    text_in,
    text_of,
    tool_error,
    upstream_error,
)
from streamweir.codec.message_template import TextFields
from streamweir.events import (
    Content,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    State,
    Status,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
)
from streamweir.framing import Frame

__all__ = ["LlamaWorkflowsDecoder"]

_ENVELOPE: Final = ("value", "qualified_name", "type", "types", "__is_pydantic")
_FAILURES: Final = frozenset({"WorkflowFailedEvent", "WorkflowTimedOutEvent"})
_KNOWN: Final = (
    *("ToolCall", "ToolCallResult", "WorkflowCancelledEvent", "StopEvent", "InputRequiredEvent"),
    *("StepStateChanged", "AgentInput", "AgentOutput", "AgentStream", *_FAILURES),
)
_DELTA: Final = ("delta", "response", "current_agent_name", "raw", "tool_calls", "thinking_delta")
_OUTPUT: Final = ("response", "current_agent_name", "raw", "tool_calls", "retry_messages")
_STATES: Final[Mapping[str, State]] = {"preparing": "started", "running": "running", "in_progress": "running"}


class LlamaWorkflowsDecoder(Decoder):
    """Reads one run. An event that stops the workflow, or that asks a person, ends the stream."""

    text_fields: ClassVar = TextFields(texts=(("value", "delta"),))

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Return a high score for an envelope of this server."""
        del event
        match fields:
            case {"value": dict(), "qualified_name": str(), "type": str()}:
                return 0.95
            case {"value": dict(), "qualified_name": str(), "__is_pydantic": True}:
                return 0.95
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events of `frame`."""
        if not frame.data.strip():
            return ()
        message = _with_type(frame.json())
        match message:
            case {"type": str(name), "value": dict(value)}:
                found = self._read(_kind(name, message.get("types")), name, value, frame.id)
                rest = leftover(message, _ENVELOPE)
                return (custom(name, rest), *found) if rest else found
        return (custom("message", message),)

    def _read(self, kind: str, name: str, value: dict[str, Any], frame_id: str | None) -> Iterable[Event]:
        """Return the events of a known kind; an unknown kind is read by its fields."""
        match kind:
            case "ToolCall":
                return (_call(value),)
            case "ToolCallResult":
                return (_result(value),)
            case "InputRequiredEvent":
                return _question(value, self.given, frame_id)
            case "StopEvent":
                return _stop(value)
            case "WorkflowCancelledEvent":
                return (SessionEnd("cancelled"),)
            case "StepStateChanged":
                return (_step(value),)
            case "AgentInput" | "AgentOutput":
                return (*_texts(value.get("response")), _agent(kind, value))
            case _ if kind in _FAILURES:
                return (_failure(kind, value),)
            case _ if isinstance(value.get("delta"), str):
                return _delta(value)
        return (custom(name, value),)


def _with_type(message: Any) -> Any:
    """Return the envelope with the type of its event; servers up to 2.2 send only the path of its class."""
    match message:
        case {"__is_pydantic": True, "qualified_name": str(path)} if "type" not in message:
            return {**message, "type": path.rpartition(".")[2]}
    return message


def _kind(name: str, types: Any) -> str:
    """Return the first known name among an event's own name and its bases; else its own name."""
    bases = types if isinstance(types, list) else []
    return next((base for base in (name, *bases) if isinstance(base, str) and base in _KNOWN), name)


def _delta(value: Mapping[str, Any]) -> Iterator[Event]:
    """Yield a piece of the answer; `response`, which repeats all earlier pieces, is left out."""
    agent = text_of(value.get("current_agent_name")) or None
    rest = leftover(value, _DELTA)
    meta = meta_of(node_name=agent, extra=rest)
    if thought := text_of(value.get("thinking_delta")):
        yield Thinking(thought, "reasoning", meta=meta)
    if (text := text_of(value["delta"])) or (rest and not thought):
        yield Content(text, meta=meta)


def _call(value: Mapping[str, Any]) -> Event:
    rest = leftover(value, ("tool_id", "tool_name", "tool_kwargs"))
    return ToolCallStart(
        text_of(value.get("tool_id")),
        text_of(value.get("tool_name")) or "unknown",
        arguments=arguments(value.get("tool_kwargs")),
        meta=meta_of(extra=rest),
    )


def _result(value: Mapping[str, Any]) -> Event:
    """Return the end of a call; the tool's output tells whether it is an error."""
    output = value.get("tool_output", value.get("output"))
    known = ("tool_id", "tool_name", "tool_kwargs", "tool_output", "output", "return_direct")
    tool_id, name = text_of(value.get("tool_id")), text_of(value.get("tool_name")) or None
    meta = meta_of(extra=leftover(value, known))
    if isinstance(output, dict) and output.get("is_error") is True:
        error = tool_error(output.get("content"))
        return ToolCallEnd(tool_id, "failed", error=error, tool_name=name, meta=meta)
    return ToolCallEnd(tool_id, result=output, tool_name=name, meta=meta)


def _question(value: Mapping[str, Any], given: Mapping[str, str], frame_id: str | None) -> Iterator[Event]:
    """Yield the question to a person. The workflow waits; a later request continues after the last event."""
    names = ("prefix", "prompt", "question", "message")
    handler = text_of(value.get("handler_id")) or given.get("handler_id", "")
    resume = {"handler_id": handler} if handler else {}
    if frame_id:
        resume["after_sequence"] = frame_id
    yield Interaction(
        text_of(value.get("interaction_id")) or "input",
        "questions",
        questions=[{"text": text_in(value, *names), "response_type": "free_text"}],
        ui=leftover(value, (*names, "handler_id", "interaction_id")),
        resume=resume or None,
    )
    yield SessionEnd("suspended")


def _stop(value: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the result of the workflow: a text repeats the answer, another value is data."""
    result = value.get("result")
    if isinstance(result, dict) and "response" in result and "current_agent_name" in result:
        yield from _texts(result["response"])
        result = leftover(result, _OUTPUT)  # of its calls, what they failed with stays here
    if isinstance(result, str) and result:
        yield Content(result, whole="repeat")
    elif result not in (None, "", {}, []):
        yield named_data("result", result)
    if rest := leftover(value, ("result",)):
        yield named_data("StopEvent", rest)
    yield SessionEnd()


def _texts(response: Any) -> Iterator[Event]:
    """Yield the part of an agent's whole message that was not streamed in pieces."""
    blocks = objects_in(response.get("blocks")) if isinstance(response, dict) else []
    thoughts = [text_of(block.get("content")) for block in blocks if block.get("block_type") == "thinking"]
    texts = [text_of(block.get("text")) for block in blocks if block.get("block_type") == "text"]
    if thought := "".join(thoughts):
        yield Thinking(thought, "reasoning", whole="repeat")
    if text := "".join(texts):
        yield Content(text, whole="repeat")


def _failure(kind: str, value: Mapping[str, Any]) -> Event:
    exception = value.get("exception")
    exception = exception if isinstance(exception, dict) else value
    if kind == "WorkflowTimedOutEvent":
        return upstream_error(exception.get("exception_message"), status=504, details=dict(value))
    return upstream_error(
        exception.get("exception_message"), code=exception.get("exception_type"), details=dict(value)
    )


def _step(value: Mapping[str, Any]) -> Event:
    name = text_of(value.get("name")) or None
    state = _STATES.get(text_of(value.get("step_state")), "finished")
    meta: Meta | None = meta_of(node_name=name)
    return Status("node", state, name, leftover(value, ("name", "step_state")), meta=meta)


def _agent(kind: str, value: Mapping[str, Any]) -> Event:
    """Return the status of the start or the end of an agent's turn."""
    name = text_of(value.get("current_agent_name")) or None
    known = ("input", "structured_response", *_OUTPUT)
    state: State = "started" if kind == "AgentInput" else "finished"
    rest = leftover(value, known)
    return Status("node", state, name, rest, meta=meta_of(node_name=name))
