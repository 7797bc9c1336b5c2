"""Reads calls and their outputs. Only the end of the response shows which side runs a call.

    state of a call   entered by                              left by
    ───────────────   ─────────────────────────────────────   ─────────────────────────────────────
    begun             `output_item.added`, or a first piece   its end, with the whole arguments
    open              its end                                 its output, or the end of the response
    run               its output                              -
    asked             the end of the response                 -

The client is asked to run an open call only at the end, because an agent that runs its own functions puts
their outputs into the same response.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import and_extra, arguments, leftover, objects_in, text_of, tool_error
from streamweir.codec.room import Room
from streamweir.dialects.openai_responses.decode_pieces import ArgumentText
from streamweir.dialects.openai_responses.decode_tools import (
    call_id_of,
    client_call,
    is_client_call,
    name_of,
    opaque_id,
    output_of,
)
from streamweir.events import (
    Event,
    Interaction,
    Opaque,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.ids import short_id

__all__ = ["BegunCall", "Calls"]

_MOST_OPEN: Final = 1000
_MOST_DECLARED: Final = 1000
_CALL: Final = 512
"""The bytes of a call in addition to its arguments."""


class BegunCall(msgspec.Struct):
    """A call, or an output, whose end has not arrived.

    `is_client`: the client is to run the call, unless the response has its output. `is_declared`: the request
    has a function of this name, so that the client certainly has to run it. `opaque`: the id of the call's
    item, if calls have opaque values.
    """

    tool_id: str
    name: str
    is_client: bool = False
    is_declared: bool = False
    arguments: ArgumentText | None = None
    opaque: Opaque | None = None


class Calls:
    """The calls of one response. The table at the top of this file lists their states.

    Attributes:
        room: the room for the arguments of calls that have begun.
        have_opaque: whether calls have the ids of their items as opaque values.
    """

    def __init__(self, room: Room) -> None:
        self.room = room
        self.have_opaque = False
        self._declared: frozenset[str] = frozenset()
        self._open: dict[str, str] = {}
        """The names of open calls, by id."""
        self._unnamed: deque[str] = deque(maxlen=_MOST_OPEN)
        """The ids of calls of the server that have no `call_id`; their outputs come in this order."""
        self._approvals: dict[str, str] = {}
        """The names of calls that wait for an approval, by the id of the request for approval."""

    @property
    def called(self) -> bool:
        """Whether a call is for the client to run, because the response has no output of it."""
        return bool(self._open)

    @property
    def waits(self) -> bool:
        """Whether the response pauses until the client answers or runs a call."""
        return self.called or bool(self._approvals)

    def declare(self, tools: Any) -> None:
        """Note the functions of the request, which the response repeats."""
        names = [short_id(name) for tool in objects_in(tools) if isinstance(name := tool.get("name"), str)]
        self._declared = frozenset(names[:_MOST_DECLARED])

    def begin(self, item: Mapping[str, Any]) -> BegunCall:
        """Return the call, or the output, that begins."""
        name = name_of(item)
        is_declared = item.get("type") == "function_call" and name in self._declared
        self.room.take(_CALL)
        opaque = opaque_id(item) if self.have_opaque else None
        return BegunCall(call_id_of(item), name, is_client_call(item), is_declared, opaque=opaque)

    def piece(self, call: BegunCall, kind: str, message: Mapping[str, Any], text: str) -> Iterable[Event]:
        """Return the event of a piece of the arguments of a call.

        Args:
            call: the call.
            kind: the type of the event.
            message: the event.
            text: the `delta` of the event.
        """
        if call.arguments is None:
            call.arguments = ArgumentText()
        before = call.arguments.size
        if kind == "response.shell_call_command.delta":
            piece = call.arguments.command(text, message.get("command_index"))
        elif kind == "response.apply_patch_call_operation_diff.delta":
            piece = call.arguments.diff(text)
        elif kind == "response.custom_tool_call_input.delta":
            piece = call.arguments.input(text)
        else:
            piece = call.arguments.json(text)
        self.room.take(call.arguments.size - before)
        return (self._delta(call, piece),)

    def finish(self, item: Mapping[str, Any], call: BegunCall | None) -> Iterator[Event]:
        """Yield the start of a complete call. An incomplete call is not opened, because its arguments may be
        cut off.

        Args:
            item: the call. If its end was left out, it has no fields.
            call: the call from its beginning; None if the beginning was left out.
        """
        known = call.arguments if call else None
        if call and known:
            if last := known.last(item):
                yield self._delta(call, last)
            self.room.give_back(known.size)
        start = client_call(item, arguments(known.whole) if known and not item.get("arguments") else None)
        is_client = is_client_call(item) if item else call is not None and call.is_client
        if call:
            start.tool_id, start.tool_name = call.tool_id or start.tool_id, _name(item, call)
        start.for_client = is_client or None
        yield self.marked(start, item)
        if is_client and item.get("status") != "incomplete" and len(self._open) < _MOST_OPEN:
            self._open[start.tool_id] = start.tool_name

    def output(self, item: Mapping[str, Any]) -> Iterable[Event]:
        """Return the result of a call. It shows that the server has run the call."""
        end = output_of(item)
        if self._unnamed and not item.get("call_id"):
            end.tool_id = self._unnamed.popleft()
        self._open.pop(end.tool_id, None)
        return (end,)

    def await_output(self, item: Mapping[str, Any]) -> None:
        """Note a call of the server whose output names no call, because the call has no `call_id`."""
        if not item.get("call_id"):
            self._unnamed.append(call_id_of(item))

    def output_piece(self, call: BegunCall | None, delta: Any) -> Iterable[Event]:
        """Return the event of a piece of a shell's output."""
        text = delta if isinstance(delta, str) else ""
        if isinstance(delta, dict):
            text = "".join(text_of(delta.get(name)) for name in ("stdout", "stderr"))
        return (ToolCallProgress(call.tool_id, message=text),) if call and text else ()

    def ask_approval(self, item: Mapping[str, Any]) -> Iterator[Event]:
        """Yield a call of an MCP server that a person has to approve."""
        request_id, name = short_id(text_of(item.get("id"))), text_of(item.get("name")) or "unknown"
        rest = leftover(item, ("id", "type", "name", "arguments"))
        given = arguments(item.get("arguments"))
        meta = and_extra(None, rest)
        yield self.marked(ToolCallStart(request_id, name, arguments=given, meta=meta), item)
        if len(self._approvals) < _MOST_OPEN:
            self._approvals[request_id] = name
        asked = {"approval_request_id": item.get("id"), "arguments": item.get("arguments")}
        yield Interaction(request_id, "approval", title=name, resume=asked)

    def approval(self, item: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the answer to a request for approval, if the request is a part of the same response."""
        request_id = short_id(text_of(item.get("approval_request_id")))
        if self._approvals.pop(request_id, None) is None:
            return
        yield Interaction(request_id, "approval", "resolved")
        if item.get("approve") is True:
            yield ToolCallEnd(request_id)
        else:
            error = tool_error("The call was not approved.")
            yield ToolCallEnd(request_id, "failed", error=error, for_users=True)

    def ask(self) -> Iterator[Event]:
        """Yield the requests to the client to run the calls that are open at the end of the response."""
        for tool_id, name in self._open.items():
            yield Interaction(tool_id, "tool", title=name)

    def marked(self, event: Event, item: Mapping[str, Any]) -> Event:
        """Return the event of a call; a start gets the id of its item, if calls have opaque values."""
        if self.have_opaque and isinstance(event, ToolCallStart):
            event.opaque = opaque_id(item)
        return event

    def _delta(self, call: BegunCall, piece: str) -> Event:
        return ToolCallDelta(
            call.tool_id,
            call.name or None,
            piece,
            for_client=call.is_declared or None,
            may_run=call.is_client or None,
            opaque=call.opaque,
        )


def _name(item: Mapping[str, Any], call: BegunCall) -> str:
    return (name_of(item) if item else "") or call.name or "unknown"
