"""Writes AG-UI in the form that the clients of 1.0 and of earlier versions accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from streamweir.codec.base import Encoder
from streamweir.codec.frame_template import Number
from streamweir.codec.opaque_values import OPAQUE_OPTION, seal_of
from streamweir.codec.open_interactions import OpenInteractions
from streamweir.dialects.ag_ui.encode_ending import interrupt, run_cancelled, run_error, run_finished
from streamweir.dialects.ag_ui.encode_steps import OpenSteps
from streamweir.dialects.ag_ui.encode_texts import OpenTexts, Reasoning, encrypted_value
from streamweir.dialects.ag_ui.encode_tools import call_result, is_patch, lasting_id
from streamweir.dialects.ag_ui.shared_metadata import is_chunk, with_metadata
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Opaque,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    wire_data,
)
from streamweir.framing import Frame
from streamweir.ids import RecentIds
from streamweir.jsontext import write_json, write_json_text

__all__ = ["AgUiEncoder"]

Message = dict[str, Any]


class AgUiEncoder(Encoder):
    """Writes AG-UI. An event that AG-UI lacks becomes a `CUSTOM` event under the standard's name.

    All messages, calls and steps are closed before the run ends. No event follows `RUN_ERROR`, which ends the
    run for clients.

    Options:
        reasoning: `thinking` for clients before 0.0.45, which end a run at a `REASONING_START`; `drop` leaves
            reasoning out.
        version: `0.0` for clients before 1.0, which end a run at an outcome that they do not know: a
            cancelled run is an error then.
        opaque: `off` leaves out opaque values, which the upstream expects back in the next request.
    """

    streams_arguments = True
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "reasoning": ("reasoning", "thinking", "drop"),
        "version": ("1.0", "0.0"),
        **OPAQUE_OPTION,
    }

    request_names: ClassVar = {"thread": "threadId", "run": "runId"}

    def __init__(self) -> None:
        super().__init__()
        self._request_id = ""
        self._ids = 0
        self._run: Message = {}
        self._reasoning: Reasoning | None = None

    @cached_property
    def _texts(self) -> OpenTexts:
        return OpenTexts(self.room // 4)

    @cached_property
    def _steps(self) -> OpenSteps:
        return OpenSteps(self.room // 4)

    @cached_property
    def _in_pieces(self) -> RecentIds[bool]:
        """For each open call: whether a piece of its arguments has been written."""
        return RecentIds(self.room // 8)

    @cached_property
    def _asked(self) -> OpenInteractions:
        return OpenInteractions(self.room // 2)

    @property
    def carries_opaque(self) -> bool:
        """Whether opaque values are written: clients of the form `thinking` have no event for them."""
        return super().carries_opaque and self.option("reasoning") != "thinking"

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames for `event`; an empty list if the protocol has no frame for it."""
        self._request_id = stamp.request_id
        return [Frame(write_json(message)) for message in self._messages(event)]

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return an empty mapping, because pieces of a message differ only in their text."""
        del event, texts, stamp
        return {}

    def _messages(self, event: Event) -> list[Message]:
        match event:
            case Content():
                return self._content(event)
            case Thinking():
                return self._thinking(event)
            case ToolCallStart() | ToolCallDelta():
                return self._call(event)
            case ToolCallProgress():
                return [_custom(msgspec.structs.replace(event, tool_id=self._tool_id(event.tool_id)))]
            case ToolCallEnd():
                return [call_result(event, self._made_id(), self._tool_id(event.tool_id))]
            case Data():
                return [_data(event)]
            case Status():
                return self._steps.write(event) or [_custom(event)]
            case Interaction():
                return self._interaction(event)
            case SessionStart():
                return [self._run_started(event)]
            case Error(terminal=True):
                return [*(() if self.is_shown else self._close_all()), run_error(event)]
            case SessionEnd():
                return self._end(event)
        return [_custom(event)]

    # The run

    def _run_started(self, event: SessionStart) -> Message:
        meta = event.meta or {}
        self._run = {
            "threadId": self.names.thread or meta.get("thread_id") or event.session_id or self._request_id,
            "runId": self.names.run or meta.get("run_id") or self._request_id,
        }
        is_current = self.option("version") == "1.0" and self.option("reasoning") == "reasoning"
        version = {"protocolVersion": "1.0"} if is_current else {}
        started = {"type": "RUN_STARTED", **self._run, **version}
        return with_metadata(started, event, request_id=self._request_id, session_id=event.session_id)

    def _interaction(self, event: Interaction) -> list[Message]:
        """Return the messages of a question: one at once, and one at the end of the run."""
        if event.kind == "tool":
            return [] if event.state == "requested" else [_custom(event)]
        if event.state != "requested":
            self._asked.discard(event.interaction_id)
        else:
            self._asked.add(event)
        return [_custom(event)]

    def _interrupts(self, event: SessionEnd) -> list[Message]:
        if event.status != "suspended":
            return []
        return [interrupt(asked, self._tool_id(asked.interaction_id)) for asked in self._asked]

    def _end(self, event: SessionEnd) -> list[Message]:
        if event.status == "error":
            return []
        if event.status == "cancelled" and self.option("version") != "1.0":
            return [*self._close_all(), run_cancelled(event)]
        finished = run_finished(event, self._run, self._interrupts(event))
        if self.option("version") != "1.0":
            del finished["outcome"]
        return [*self._close_all(), finished]

    def _close_all(self) -> list[Message]:
        return [*self._close_texts(), *self._close_reasoning(), *self._steps.close()]

    # Text

    def _content(self, event: Content) -> list[Message]:
        if self.is_shown and is_chunk(event):
            return []
        if not (event.content or event.opaque):
            return self._texts.end(event) if event.is_complete else []
        written = self._texts.write(event, self._new_id) if event.content else []
        if event.opaque is not None:
            written += self._texts.value(event, seal_of(event.opaque, "text", self.upstream), self._new_id)
        if self._reasoning is not None:
            written = [*self._close_reasoning(), *written]
        return [*written, *self._texts.end(event)] if event.is_complete else written

    def _thinking(self, event: Thinking) -> list[Message]:
        form = self.option("reasoning")
        if form == "drop" or not (event.content or event.opaque):
            return []
        written = self._close_texts()
        if self._reasoning is None or self._reasoning.stage != event.stage:
            written += self._close_reasoning()
            self._reasoning = Reasoning(form, self._new_id(event), event.stage)
            written += self._reasoning.begin(event)
        if event.content:
            written.append(self._reasoning.piece(event.content))
        return written if event.opaque is None else [*written, *self._sign_reasoning(event.opaque)]

    def _sign_reasoning(self, opaque: Opaque) -> list[Message]:
        """Return the messages that end the reasoning with its opaque value, one for each message."""
        assert self._reasoning is not None, "reasoning is open when its value is written"
        value = self._reasoning.value(seal_of(opaque, "thinking", self.upstream))
        return [value, *self._close_reasoning()]

    def _close_texts(self) -> list[Message]:
        return self._texts.end_all()

    def _close_reasoning(self) -> list[Message]:
        closed = self._reasoning.end() if self._reasoning else []
        self._reasoning = None
        return closed

    # Calls

    def _call(self, event: ToolCallStart | ToolCallDelta) -> list[Message]:
        """Return the messages of a call with its arguments, in pieces or whole. Later text begins a new
        message.
        """
        tool_id = self._tool_id(event.tool_id)
        if isinstance(event, ToolCallDelta):
            return self._pieces(event, tool_id)
        has_pieces = self._in_pieces.get(event.tool_id)
        self._in_pieces.discard(event.tool_id)
        begin = self._begin_call(event, tool_id) if has_pieces is None else []
        whole = [] if has_pieces else [_piece(tool_id, write_json_text(event.arguments))]
        value = [] if event.opaque is None else [self._call_value(event.opaque, tool_id)]
        return [*begin, *whole, *value, {"type": "TOOL_CALL_END", "toolCallId": tool_id}]

    def _call_value(self, opaque: Opaque, tool_id: str) -> Message:
        return encrypted_value("tool-call", tool_id, seal_of(opaque, "call", self.upstream))

    def _pieces(self, event: ToolCallDelta, tool_id: str) -> list[Message]:
        """Return the messages of a piece of arguments; an empty list while the call's name is unknown."""
        has_pieces = self._in_pieces.get(event.tool_id)
        if has_pieces is None and not event.tool_name:
            return []
        begin = self._begin_call(event, tool_id) if has_pieces is None else []
        self._in_pieces.add(event.tool_id, bool(has_pieces or event.arguments_delta))
        return [*begin, _piece(tool_id, event.arguments_delta)] if event.arguments_delta else begin

    def _begin_call(self, event: ToolCallStart | ToolCallDelta, tool_id: str) -> list[Message]:
        start = {"type": "TOOL_CALL_START", "toolCallId": tool_id, "toolCallName": event.tool_name}
        more = {"description": event.description} if isinstance(event, ToolCallStart) else {}
        return [*self._close_texts(), *self._close_reasoning(), with_metadata(start, event, **more)]

    # Ids

    def _new_id(self, event: Event) -> str:
        """Return the id of the message that begins with `event`."""
        own = event.meta.get("message_id") if self.is_shown and event.meta else None
        return own or self._made_id()

    def _made_id(self) -> str:
        """Return a new id for a message, which no other message of the conversation has."""
        self._ids += 1
        return f"{self._request_id}-{self._ids}"

    def _tool_id(self, tool_id: str) -> str:
        return tool_id if self.is_shown else self.client_call_id(tool_id, self._request_id)

    @classmethod
    def client_call_id(cls, tool_id: str, request_id: str) -> str:
        """Return an id that no call of an earlier run on the page has."""
        return lasting_id(tool_id, request_id)


def _piece(tool_id: str, arguments: str) -> Message:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": tool_id, "delta": arguments}


def _data(event: Data) -> Message:
    match event:
        case Data(data_type="state", data=dict(state), metadata=None):
            return with_metadata({"type": "STATE_SNAPSHOT", "snapshot": state}, event)
        case Data(data_type="state_delta", data=list(patch), metadata=None) if is_patch(patch):
            return with_metadata({"type": "STATE_DELTA", "delta": patch}, event)
        case Data(data_type="custom", data={"name": str(name), "value": value}, metadata=None):
            return with_metadata({"type": "CUSTOM", "name": name, "value": value}, event)
    return _custom(event)


def _custom(event: Event) -> Message:
    return with_metadata({"type": "CUSTOM", "name": event.type, "value": wire_data(event)}, event)
