"""Reads tool calls: their arguments in pieces, their results, progress, and approvals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.argument_pieces import ArgumentPieces
from streamweir.codec.coerce import arguments, custom, leftover, meta_of, text_of, tool_error
from streamweir.errors import TOOL_CODES
from streamweir.events import (
    Event,
    Interaction,
    Meta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.ids import short_id

__all__ = ["Calls"]

MAX_WAITING: Final = 1000
"""The most calls without a result that are remembered. The stages end all other calls."""

_FLAGS: Final = frozenset(
    {
        *("type", "toolCallId", "toolName", "dynamic", "providerExecuted", "providerMetadata"),
        *("title", "toolMetadata", "inputEncoding", "preliminary"),
    }
)
"""The fields that name the call, or tell a page how to show it."""


class _Call(msgspec.Struct):
    """A call without a result."""

    name: str
    is_servers: bool = False
    """Whether the server runs the call, so that the client must not run it."""

    has_input: bool = False
    step: int = 0


class Calls:
    """The calls of one stream."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Call] = {}
        self._asked: set[str] = set()
        self._approvals: dict[str, str] = {}
        self._pieces = ArgumentPieces()
        self._step = 0

    def set_room(self, room: int) -> None:
        """Set the number of bytes, roughly, of arguments that may wait."""
        self._pieces = ArgumentPieces(room)

    def next_step(self) -> None:
        """Note that another step begins, to which the earlier calls do not belong."""
        self._step += 1

    def withdraw_step(self) -> list[Event]:
        """Return the failed ends of the open calls of the current step, and withdraw their approvals."""
        open_calls = [tool_id for tool_id, call in self._waiting.items() if call.step == self._step]
        events: list[Event] = []
        for tool_id in open_calls:
            del self._waiting[tool_id]
            if tool_id in self._asked:
                self._asked.discard(tool_id)
                events.append(Interaction(tool_id, "approval", "cancelled"))
            error = tool_error(TOOL_CODES["TOOL_INCOMPLETE"], code="TOOL_INCOMPLETE")
            events.append(ToolCallEnd(tool_id, "failed", error=error))
        return [*self._pieces.pass_on(events)]

    @property
    def has_asked(self) -> bool:
        """Whether a person has been asked and has not answered."""
        return bool(self._asked)

    def note_asked(self, event: Interaction) -> None:
        """Note a question, or an answer, that is not about the approval of a call."""
        if event.state != "requested":
            self._asked.discard(event.interaction_id)
        elif len(self._asked) < MAX_WAITING:
            self._asked.add(event.interaction_id)

    def for_client(self) -> list[tuple[str, str]]:
        """Return the ids and names of the calls that the client is to run."""
        return [
            (tool_id, call.name)
            for tool_id, call in self._waiting.items()
            if call.has_input and not call.is_servers and tool_id not in self._asked
        ]

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events of a chunk about a call."""
        tool_id = short_id(text_of(message.get("toolCallId")))
        match message["type"]:
            case "tool-input-start":
                yield from self._begin(message, tool_id)
            case "tool-input-delta":
                text = text_of(message.get("inputTextDelta"))
                yield from self._pass_on(
                    ToolCallDelta(tool_id, None, text, meta=_meta(message, "inputTextDelta"))
                )
            case "tool-input-available":
                yield from self._start(message, tool_id)
            case "tool-input-error":
                yield from self._start(message, tool_id)
                yield from self._end(message, tool_id)
            case "tool-output-available" | "tool-output-error" | "tool-output-denied":
                yield from self._end(message, tool_id)
            case "tool-approval-request":
                yield from self._ask(message, tool_id)
            case "tool-approval-response":
                yield from self._answer(message)
            case kind:
                yield custom(str(kind), leftover(message, ("type",)) or {})

    def _begin(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        call = self._call_of(message, tool_id)
        return self._pass_on(ToolCallDelta(tool_id, call.name, "", meta=_meta(message)))

    def _start(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        is_again = tool_id in self._waiting and self._waiting[tool_id].has_input
        call = self._call_of(message, tool_id)
        call.has_input = True
        if is_again:
            return ()
        given = arguments(message.get("input"))
        meta = _meta(message, "input", "errorText")
        return self._pass_on(ToolCallStart(tool_id, call.name, arguments=given, meta=meta))

    def _call_of(self, message: Mapping[str, Any], tool_id: str) -> _Call:
        name = short_id(text_of(message.get("toolName"))) or "unknown"
        call = self._waiting.get(tool_id) or _Call(name, step=self._step)
        if isinstance(flag := message.get("providerExecuted"), bool):
            call.is_servers = flag
        if len(self._waiting) < MAX_WAITING:
            self._waiting[tool_id] = call
        return call

    def _end(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        self._asked.discard(tool_id)
        output = message.get("output")
        if message["type"] == "tool-output-available" and message.get("preliminary") is True:
            progress = ToolCallProgress(tool_id, message=text_of(output), meta=_meta(message, "output"))
            return self._pass_on(progress)
        self._waiting.pop(tool_id, None)
        if message["type"] == "tool-output-available":
            return self._pass_on(ToolCallEnd(tool_id, result=output, meta=_meta(message, "output")))
        denied = message["type"] == "tool-output-denied"
        error = tool_error("The call was not approved." if denied else message.get("errorText"))
        meta = _meta(message, "errorText", "input")
        return self._pass_on(ToolCallEnd(tool_id, "failed", None, error, for_users=denied, meta=meta))

    def _ask(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        call = self._waiting.get(tool_id)
        asked = Interaction(
            tool_id,
            "approval",
            title=f"Run {call.name}?" if call else None,
            description=text_of(message.get("reason")) or None,
            resume={"approvalId": (approval := text_of(message.get("approvalId")))},
            meta=_meta(message, "approvalId", "reason", "isAutomatic", "signature"),
        )
        self.note_asked(asked)
        if approval and len(self._approvals) < MAX_WAITING:
            self._approvals[approval] = tool_id
        return self._pass_on(asked)

    def _answer(self, message: Mapping[str, Any]) -> Iterable[Event]:
        """Return the answered approval; an approval that was not requested in this stream is unknown data."""
        tool_id = self._approvals.pop(text_of(message.get("approvalId")), None)
        if tool_id is None:
            return (custom("tool-approval-response", leftover(message, ("type",)) or {}),)
        meta = _meta(message, "approvalId")
        answered = Interaction(tool_id, "approval", "resolved", meta=meta)
        self.note_asked(answered)
        return self._pass_on(answered)

    def _pass_on(self, event: Event) -> Iterable[Event]:
        return self._pieces.pass_on([event])


def _meta(message: Mapping[str, Any], *known: str) -> Meta | None:
    return meta_of(extra=leftover(message, {*_FLAGS, *known}))
