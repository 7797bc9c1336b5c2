"""The events of the standard protocol 1.1, one small class each.

Source: the standard agent-event protocol, version 1.1, sections 1 and 2. Events are read-only. Request id,
sequence and timestamp exist on the wire only (`Stamp`). An absent field is `None`. *Hints* are fields that
are never sent: they give the stages facts that are not on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypedDict, final, get_args

import msgspec

from streamweir.errors import ErrorType, Reason
from streamweir.metadata import META_FIELDS, META_IDS, META_TIMES, Meta, failure_meta, ids_of

__all__ = [
    "EVENT_TYPES",
    "FINISH_REASONS",
    "META_FIELDS",
    "META_IDS",
    "META_TIMES",
    "PROTOCOL_VERSION",
    "WIRE_FIELDS",
    "Content",
    "Data",
    "Error",
    "Event",
    "Interaction",
    "Meta",
    "Opaque",
    "Payload",
    "Reference",
    "SessionEnd",
    "SessionStart",
    "Stamp",
    "Status",
    "Thinking",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallProgress",
    "ToolCallStart",
    "Unknown",
    "Warning",
    "failure_meta",
    "ids_of",
    "wire_data",
    "wire_message",
    "wire_metadata",
]

PROTOCOL_VERSION: Final = "1.1"
Whole = Literal["snapshot", "repeat", "copy"]
"""The relation of a text to its message, if the text is not just the next piece.

`snapshot`: the message up to this point (a cumulative frame). `repeat`: the whole message, or its text since
the last tool call, again at the end (`final_answer` after `token`s); the option `full_text` decides how it is
treated. `copy`: a whole message, which may repeat one that came in pieces under another id."""

Opaque = Mapping[str, Mapping[str, Any]]
"""Values that only the upstream that made them can read, by dialect; not shown, redacted or counted."""


class Payload(msgspec.Struct, kw_only=True):
    """The base class of all events: the `type` on the wire, and the metadata of the event."""

    type: ClassVar[str]
    hints: ClassVar[frozenset[str]] = frozenset()
    nullable: ClassVar[frozenset[str]] = frozenset()
    meta: Meta | None = None


@final
class SessionStart(Payload):
    """The stream begins. The ids are filled in if the upstream has none.

    `upstream`: the name or URL of the upstream, to which opaque values are bound for other clients.
    """

    type = "session_start"
    hints = frozenset({"upstream"})

    session_id: str | None = None
    request_id: str | None = None
    protocol: str = PROTOCOL_VERSION
    upstream: str | None = None


@final
class Thinking(Payload):
    """A piece of the model's reasoning. `opaque` belongs to all pieces since the previous `opaque`."""

    type = "thinking"
    hints = frozenset({"whole"})

    content: str
    stage: Literal["reasoning", "planning", "analyzing"] | None = None
    whole: Whole | None = None
    opaque: Opaque | None = None

    def with_text(self, text: str) -> Thinking:
        """Return a piece that differs from this one only in its text."""
        return Thinking(text, self.stage, meta=self.meta)


class ToolCallStart(Payload):
    """A tool is called, with its complete arguments. A call with an empty `tool_id` gets an id.

    `for_client`: the client may have to run the tool; it must if an `Interaction` asks for that.
    """

    type = "tool_call_start"
    hints = frozenset({"for_client"})

    tool_id: str
    tool_name: str
    description: str | None = None
    arguments: dict[str, Any] = {}
    for_client: bool | None = None
    opaque: Opaque | None = None


class ToolCallDelta(Payload):
    """A piece of the JSON text of a call's arguments; a `ToolCallStart` with all arguments follows.

    Pieces without an id belong to the call that began with their `index`. `for_client`: the client has to run
    the call, so that it may get the pieces before the call is complete. `may_run`: the client has to run the
    call unless the result arrives, so that the pieces may only be shown. `opaque`: the opaque value of the
    call, if known before the call is complete.
    """

    type = "tool_call_delta"
    hints = frozenset({"index", "for_client", "may_run", "opaque"})

    tool_id: str
    tool_name: str | None = None
    arguments_delta: str = ""
    index: Any = None
    for_client: bool | None = None
    may_run: bool | None = None
    opaque: Opaque | None = None


class ToolCallProgress(Payload):
    """The progress of a running call: 0..1, or `None` if only the message is known."""

    type = "tool_call_progress"
    hints = frozenset({"tool_name"})
    nullable = frozenset({"progress"})

    tool_id: str
    progress: float | None = None
    message: str | None = None
    tool_name: str | None = None


class ToolError(TypedDict):
    """Why a tool call failed."""

    code: str
    message: str


class ToolCallEnd(Payload):
    """A call has ended. An empty `tool_id` means the last open call of `tool_name`, or of all tools."""

    type = "tool_call_end"
    hints = frozenset({"tool_name", "for_users"})

    tool_id: str
    status: Literal["success", "failed"] = "success"
    result: Any = None
    error: ToolError | None = None
    tool_name: str | None = None
    for_users: bool | None = None


@final
class Content(Payload):
    """A piece of the answer, or of another channel. With `opaque` the text may be empty."""

    type = "content"
    hints = frozenset({"whole"})

    content: str
    format: Literal["markdown", "text", "html"] | None = None
    is_complete: Literal[True] | None = None
    op: Literal["append", "replace"] | None = None
    channel: str | None = None
    whole: Whole | None = None
    opaque: Opaque | None = None

    def with_text(self, text: str) -> Content:
        """Return a further piece of this message with another text."""
        return Content(text, self.format, channel=self.channel, meta=self.meta)


DataType = Literal["dataframe", "chart", "image", "audio", "file", "state", "state_delta", "custom"]


@final
class Data(Payload):
    """Structured data: a table, a chart, a file, a state, or an upstream's event (`custom`: name, value)."""

    type = "data"
    hints = frozenset({"is_answer", "unknown"})

    data_type: DataType
    data: dict[str, Any] | list[Any]
    metadata: dict[str, Any] | None = None
    unknown: bool | None = None
    """No rule of the dialect knows the event."""
    is_answer: bool | None = None
    """Whether this custom data is the answer of the endpoint."""


class Reference(Payload):
    """The sources of the answer; each citation has some of id, title, url, snippet, document_id, score."""

    type = "reference"

    citations: list[dict[str, Any]]


Scope = Literal["session", "workflow", "node", "phase", "model", "skill", "queue"]
State = Literal["started", "running", "finished", "failed", "suspended", "resumed", "connected"]


class Status(Payload):
    """A step of the run changes its state."""

    type = "status"

    scope: Scope
    state: State
    name: str | None = None
    detail: Any = None


@final
class Warning(Payload):  # noqa: A001 (the protocol's own word)
    """A problem that does not end the run. `detail` is sent only with `debug`.

    `is_not_understood`: the warning reports a stream without an answer, of which no rule knew some events.
    """

    type = "warning"
    hints = frozenset({"for_users", "is_not_understood"})

    message: str
    message_code: str | None = None
    message_params: dict[str, Any] | None = None
    detail: Any = None
    for_users: bool | None = None
    is_not_understood: bool | None = None


class Interaction(Payload):
    """A person, or the client, is asked for an answer."""

    type = "interaction"

    interaction_id: str
    kind: Literal["form", "questions", "approval", "tool", "handoff", "continue"]
    state: Literal["requested", "cancelled", "resolved"] = "requested"
    title: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    ui: dict[str, Any] | None = None
    questions: list[dict[str, Any]] | None = None
    resume: dict[str, Any] | None = None


@final
class Error(Payload):
    """The run failed (`terminal`), or a part of it failed and the run continues.

    Between the stages, `message` may contain an upstream's own text: the sanitizer keeps it only if it was
    written for users. `reason` is the reason that `session_end` will have. An error that `precedes_end` is
    sent at once, and the stream ends when the upstream's own end has come. `is_overload`: the upstream
    reports that it is overloaded, so another attempt may succeed.
    """

    type = "error"
    hints = frozenset({"for_users", "reason", "precedes_end", "is_overload"})

    error_type: ErrorType
    code: str
    message: str
    recoverable: bool
    message_code: str | None = None
    message_params: dict[str, Any] | None = None
    terminal: bool = True
    retry_after_ms: int | None = None
    details: Any = None
    for_users: bool | None = None
    reason: Reason | None = None
    precedes_end: bool | None = None
    is_overload: bool | None = None


FINISH_REASONS: Final = ("stop", "length", "content_filter", "tool_calls")
"""The words of `summary.finish_reason`."""


@final
class SessionEnd(Payload):
    """The stream is over. A decoder yields this as the dialect's evidence that the run ended."""

    type = "session_end"

    status: Literal["completed", "error", "cancelled", "suspended"] = "completed"
    reason: Reason | None = None
    summary: dict[str, Any] | None = None


Event = (
    SessionStart
    | Thinking
    | ToolCallStart
    | ToolCallDelta
    | ToolCallProgress
    | ToolCallEnd
    | Content
    | Data
    | Reference
    | Status
    | Warning
    | Interaction
    | Error
    | SessionEnd
)

EVENT_TYPES: Final[dict[str, type[Event]]] = {cls.type: cls for cls in get_args(Event)}

WIRE_FIELDS: Final[dict[type[Event], tuple[str, ...]]] = {
    cls: tuple(name for name in cls.__struct_fields__ if name != "meta" and name not in cls.hints)
    for cls in EVENT_TYPES.values()
}
"""The keys of `data` on the wire, per class: its fields without hints and metadata."""

_VALUES: Final = {cls: attrgetter(*names, names[0]) for cls, names in WIRE_FIELDS.items()}
"""For each class, a function that returns the values of `WIRE_FIELDS` and one more, always as a tuple."""

_TIMED: Final = frozenset({ToolCallEnd, Status, SessionEnd})


class Unknown(msgspec.Struct):
    """The data of a received event whose type or shape this version does not know.

    Decoders never yield this class: they make such an event `data{custom}`.
    """

    type: str
    data: Any = None


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """The stream's request id, the event's sequence number, and the time in Unix milliseconds."""

    request_id: str
    sequence: int
    timestamp: int


def wire_data(event: Event) -> dict[str, Any]:
    """Return the `data` object of `event` for the wire, without hints and absent fields.

    Of usual data, calls and results the fields are named here: that takes a fifth of the time.
    """
    if type(event) is Data and event.metadata is None:
        return {"data_type": event.data_type, "data": event.data}
    if type(event) is ToolCallStart and event.description is None and event.opaque is None:
        return {"tool_id": event.tool_id, "tool_name": event.tool_name, "arguments": event.arguments}
    if type(event) is ToolCallEnd and event.result is not None and event.error is None:
        return {"tool_id": event.tool_id, "status": event.status, "result": event.result}
    cls = type(event)
    fields = zip(WIRE_FIELDS[cls], _VALUES[cls](event), strict=False)
    if cls.nullable:
        return {name: value for name, value in fields if value is not None or name in cls.nullable}
    return {name: value for name, value in fields if value is not None}


def wire_metadata(event: Event) -> dict[str, Any]:
    """Return the `metadata` for the wire, without the stamp; a duration without a field is in `extra`."""
    metadata: dict[str, Any] = {**(event.meta or {})}
    metadata.pop("private", None)
    if "duration_ms" in metadata and type(event) not in _TIMED:
        metadata["extra"] = {**metadata.get("extra", {}), "duration_ms": metadata.pop("duration_ms")}
    return metadata


def wire_message(event: Event, stamp: Stamp) -> dict[str, Any]:
    """Return `event` as one message of the wire."""
    ours = {"request_id": stamp.request_id, "timestamp": stamp.timestamp, "sequence": stamp.sequence}
    return {"type": event.type, "data": wire_data(event), "metadata": {**ours, **wire_metadata(event)}}
