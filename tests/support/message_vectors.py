"""Streams of canonical events, and the message that they fold to: `tests/vectors/messages.json`.

Beside the corpus of `tests/canonical/` there are streams that show where a part of a message begins and ends.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from streams import canonical_streams, events_of
from streamweir import MessageState, MessageStreamHandler, Translator
from streamweir.events import wire_data
from streamweir.translation.message_parts import (
    DataPart,
    InteractionPart,
    ReferencePart,
    StatusPart,
    ToolPart,
)
from streamweir.translation.tool_call import ToolCall

__all__ = ["message_vectors", "state_of"]

FIRST_TIME = 1_790_000_000_000
STEP = 250
"""Milliseconds between two lines of a stream of the corpus."""

Wire = dict[str, Any]


def message_vectors() -> list[Wire]:
    """Return the streams by name, each with the state that Python folds them to."""
    corpus = {name: [list(_canonical(body))] for name, body in canonical_streams().items()}
    return [
        {"name": name, "streams": streams, "state": state_of(streams)}
        for name, streams in {**corpus, **_made()}.items()
    ]


def state_of(streams: Iterable[Iterable[Wire]]) -> Wire:
    """Return the message of `streams` as the TypeScript client has it, without ids of its own."""
    handler = MessageStreamHandler()
    for events in streams:
        for event in events:
            handler.handle_event(event)
    return _state(handler.message)


def _canonical(body: bytes) -> Iterator[Wire]:
    """Yield the events of a stream of the corpus, line by line, each a quarter of a second after the last."""
    now = FIRST_TIME
    translator = Translator(
        speaks="standard", framing="ndjson", request_id="req_1", session_id="sess_1", clock=lambda: now
    )
    for line in body.splitlines(keepends=True):
        yield from events_of(translator.feed(line))
        now += STEP
    yield from events_of(translator.close())


def _state(message: MessageState) -> Wire:
    own = (
        *("message_id", "role", "thinking_content", "main_content", "channels", "is_streaming", "has_error"),
        *("error_code", "error_type", "error_message", "recoverable", "retry_after_ms", "status", "reason"),
        "summary",
    )
    lists = ("data_blocks", "references", "interactions", "warnings", "statuses")
    return {
        **{_camel(name): getattr(message, name) for name in own},
        "toolCalls": [_call(call) for call in message.tool_calls],
        **{_camel(name): [wire_data(event) for event in getattr(message, name)] for name in lists},
        "metadata": {_camel(name): value for name, value in msgspec.to_builtins(message.metadata).items()},
        "parts": [_part(part, message.tool_calls) for part in message.parts],
    }


def _call(call: ToolCall) -> Wire:
    """A call without its opaque value, which the state in the browser does not have."""
    fields: Wire = msgspec.to_builtins(call)
    return {name: value for name, value in fields.items() if name != "opaque"}


def _part(part: Any, calls: list[ToolCall]) -> Wire:
    fields = {name: getattr(part, name) for name in part.__struct_fields__}
    match part:
        case ToolPart():
            fields["call"] = next(index for index, call in enumerate(calls) if call is part.call)
        case StatusPart() | InteractionPart() | ReferencePart():
            fields[part.type] = wire_data(fields[part.type])
        case DataPart():
            del fields["block"]
    return {"type": part.type, **{_camel(name): value for name, value in fields.items()}}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class _Stream:
    """Writes the events of one stream: numbered, a second apart."""

    def __init__(self, *, at: int = FIRST_TIME) -> None:
        self.events: list[Wire] = []
        self._at = at

    def add(self, kind: str, data: Wire | None = None, **metadata: Any) -> "_Stream":
        """Add an event; `metadata` stands beside request id, time and sequence."""
        number = len(self.events)
        stamp = {"request_id": "req_1", "timestamp": self._at + 1000 * number, "sequence": number}
        self.events.append({"type": kind, "data": data or {}, "metadata": {**stamp, **metadata}})
        return self

    def start(self, **metadata: Any) -> "_Stream":
        """Add the start of the stream."""
        return self.add(
            "session_start", {"session_id": "s", "request_id": "req_1", "protocol": "1.1"}, **metadata
        )

    def text(self, content: str, *, metadata: Wire | None = None, **data: Any) -> "_Stream":
        """Add a piece of text."""
        return self.add("content", {"content": content, **data}, **(metadata or {}))

    def think(self, content: str, *, stage: str | None = None, **metadata: Any) -> "_Stream":
        """Add a piece of reasoning."""
        return self.add("thinking", {"content": content, **({"stage": stage} if stage else {})}, **metadata)

    def call(self, tool_id: str, name: str = "search", **metadata: Any) -> "_Stream":
        """Add the start of a call."""
        return self.add(
            "tool_call_start", {"tool_id": tool_id, "tool_name": name, "arguments": {"q": 1}}, **metadata
        )

    def result(self, tool_id: str, result: Any = None, **metadata: Any) -> "_Stream":
        """Add the end of a call that succeeded."""
        return self.add(
            "tool_call_end", {"tool_id": tool_id, "status": "success", "result": result}, **metadata
        )

    def status(self, state: str, name: str = "n", scope: str = "node", **metadata: Any) -> "_Stream":
        """Add a step."""
        return self.add("status", {"scope": scope, "state": state, "name": name}, **metadata)

    def ask(self, interaction_id: str, state: str = "requested") -> "_Stream":
        """Add a question, or its next state."""
        return self.add("interaction", {"interaction_id": interaction_id, "kind": "approval", "state": state})

    def end(self, status: str = "completed", reason: str = "done") -> list[Wire]:
        """Add the end, and return the stream."""
        return self.add("session_end", {"status": status, "reason": reason}).events


def _start(**metadata: Any) -> _Stream:
    return _Stream().start(**metadata)


def _made() -> dict[str, list[list[Wire]]]:
    """Streams by what they show."""
    one, two = {"message_id": "m1"}, {"message_id": "m2"}
    node_a = {"run_id": "r1", "node_name": "a"}
    node_b = {"run_id": "r2", "node_name": "b"}
    later = FIRST_TIME + 60_000
    patch = [{"op": "add", "path": "/n", "value": 2}]
    signed = {"anthropic": {"signature": "c2ln"}}
    return {
        "opaque values": [
            _start()
            .add("thinking", {"content": "Let me see."}, **one)
            .add("thinking", {"content": "", "opaque": signed}, **one)
            .add("thinking", {"content": "And again.", "opaque": signed}, **one)
            .add("content", {"content": "Hi", "opaque": signed}, **one)
            .add("content", {"content": "", "opaque": signed}, **one)
            .add(
                "tool_call_start",
                {"tool_id": "t1", "tool_name": "t", "arguments": {}, "opaque": signed},
                **one,
            )
            .result("t1", 1)
            .end()
        ],
        "text of two nodes side by side": [
            _start()
            .text("A", metadata=node_a)
            .text("B", metadata=node_b)
            .text("a", metadata=node_a)
            .text("b", metadata=node_b)
            .end()
        ],
        "a call between two texts of a message": [
            _start()
            .text("Before. ", metadata=one)
            .call("t1", **one)
            .result("t1", 1, duration_ms=5)
            .text("After.", metadata=one)
            .text("", metadata=one, is_complete=True)
            .end()
        ],
        "a result between two pieces begins no part": [
            _start().call("t1").text("One ").result("t1", [1]).text("text.").end()
        ],
        "thinking between two texts with the same ids": [
            _start().text("A").think("hm", stage="planning").text("B").think("oh").end()
        ],
        "thinking of another run does not part a text": [
            _start().text("A", metadata=node_a).think("hm", **node_b).text("B", metadata=node_a).end()
        ],
        "a channel beside the answer": [
            _start().text("A").text("# R", channel="report").text("B").text("eport", channel="report").end()
        ],
        "a complete message is followed by another": [
            _start()
            .text("A", is_complete=True)
            .text("B", format="text")
            .text("", is_complete=True)
            .think("x")
            .text("C")
            .end()
        ],
        "an empty piece begins no message": [
            _start()
            .text("", is_complete=True)
            .text("", metadata=two)
            .text("A", metadata=one)
            .think("y", **one)
            .text("B", metadata=two)
            .think("x")
            .text("C")
            .end()
        ],
        "thinking ends with its message": [
            _start().think("x", **one).text("A", metadata=one, is_complete=True).think("y", **one).end()
        ],
        "a text that replaces": [
            _start()
            .text("A", metadata=one)
            .call("t1")
            .result("t1")
            .text("B", metadata=one)
            .text("C", metadata=two)
            .text("All of it", metadata=one, op="replace")
            .text("!", metadata=one)
            .text("", metadata=one, is_complete=True)
            .end()
        ],
        "a text that replaces what was complete": [
            _start().text("A").text("", is_complete=True).text("B", op="replace", is_complete=True).end()
        ],
        "a text that replaces nothing": [_start().text("", op="replace").text("B", op="replace").end()],
        "a text that is emptied": [
            _start().text("A").text("", op="replace").text("B").text("", is_complete=True).end()
        ],
        "one that replaces in its channel alone": [
            _start().text("A").text("R", channel="r").text("S", channel="r", op="replace").text("B").end()
        ],
        "steps": [
            _start()
            .status("started", node_id="1")
            .text("A")
            .status("running", node_id="1")
            .text("B")
            .status("finished", node_id="1", duration_ms=3000)
            .status("started", node_id="1")
            .status("failed", name="other")
            .end()
        ],
        "questions": [
            _start().ask("i1").ask("i2").ask("i1", "cancelled").end("suspended", "interaction"),
            _Stream(at=later).start().ask("i2", "resolved").text("Thanks.").end(),
        ],
        "a state and its changes": [
            _start()
            .add("data", {"data_type": "state_delta", "data": patch})
            .add("data", {"data_type": "state", "data": {"m": 1}, "metadata": {"description": "d"}})
            .add("data", {"data_type": "custom", "data": {"name": "x", "value": 1}})
            .add("data", {"data_type": "state_delta", "data": patch})
            .add("data", {"data_type": "state_delta", "data": [{"op": "remove", "path": "/gone"}]})
            .end()
        ],
        "a patch with names of a prototype": [
            _start()
            .add("data", {"data_type": "state", "data": {"a": {}}})
            .add(
                "data",
                {
                    "data_type": "state_delta",
                    "data": [{"op": "add", "path": "/__proto__", "value": {"b": 1}}],
                },
            )
            .add(
                "data",
                {"data_type": "state_delta", "data": [{"op": "add", "path": "/constructor/x", "value": 1}]},
            )
            .end()
        ],
        "a run that goes on after a question": [
            _start(thread_id="th").text("A").call("t1").call("t2").end("suspended", "interaction"),
            _Stream(at=later).start().result("t1", "yes").text("B").end(),
        ],
        "a stream that ends with a call": [_start().call("t1").text("A").end()],
        "a stream that is stopped with a call": [
            _start().call("t1").result("t1").call("t2").end("cancelled", "cancelled")
        ],
        "a call without a start": [
            _start()
            .add("tool_call_progress", {"tool_id": "t1", "progress": 0.25, "message": "a quarter"})
            .call("t1", "late")
            .result("t1")
            .call("t1", "again")
            .end()
        ],
        "a failed call": [
            _start()
            .call("t1")
            .add(
                "tool_call_end",
                {"tool_id": "t1", "status": "failed", "error": {"code": "TOOL_FAILED", "message": "No."}},
                duration_ms=7,
            )
            .end()
        ],
        "times of the upstream": [
            _start()
            .call("t1", upstream_time=FIRST_TIME - 5000)
            .result("t1", upstream_time=FIRST_TIME - 4000)
            .text("A", metadata={"upstream_time": FIRST_TIME - 3000})
            .text("B", metadata={"upstream_time": FIRST_TIME - 2500})
            .end()
        ],
        "a failure": [
            _start()
            .add(
                "error",
                {"error_type": "execution", "code": "PART_FAILED", "message": "A part failed."}
                | {"recoverable": True, "terminal": False},
            )
            .text("On.")
            .add(
                "error",
                {"error_type": "execution", "code": "RATE_LIMITED", "message": "Wait.", "recoverable": True}
                | {"terminal": True, "retry_after_ms": 2000},
            )
            .end("error", "upstream_error")
        ],
        "a failure, and a second attempt": [
            _start()
            .text("A", is_complete=True)
            .add(
                "error",
                {"error_type": "system", "code": "UPSTREAM_TRUNCATED", "message": "It broke off."}
                | {"recoverable": True, "terminal": True},
            )
            .end("error", "truncated"),
            _Stream(at=later).start(thread_id="th").text("B", metadata=one).end(),
        ],
        "protocol 1.0": [
            _Stream()
            .add("session_start", {"session_id": "s", "request_id": "req_1"})
            .add("tool_call_start", {"tool_id": "t1", "tool_name": "a"})
            .add("tool_call_end", {"tool_id": "t1", "status": "success"})
            .add("error", {"error_type": "timeout", "message": "Too slow.", "recoverable": True})
            .add("session_end", {"status": "error"})
            .events
        ],
        "a stream that goes on": [_start().think("x").text("A").call("t1").events],
        "types that nobody knows": [
            _start().add("hologram", {"beam": 1}).add("status", {"scope": "moon", "state": "started"}).end()
        ],
        "a message of two streams": [
            _start().text("A", metadata=one).text("B").end(),
            _Stream(at=later)
            .start()
            .text("a", metadata=one)
            .text("b")
            .text("X", metadata=one, op="replace")
            .end(),
        ],
    }
