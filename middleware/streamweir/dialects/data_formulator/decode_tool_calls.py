"""Reads `tool_start`, `tool_result` and `actions`, of agents and of the loading chat.

The server sends no call ids, because it works on one call at a time. The encoder of this library adds a
`tool_id`, which the pages ignore. If a result was no object, the encoder notes in `stdout_holds` how the
result was put into the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from streamweir.codec.coerce import arguments, leftover, named_data, text_in, text_of, tool_error
from streamweir.dialects.data_formulator.decode_plain_events import extra_of
from streamweir.dialects.data_formulator.shared_vocabulary import DETACHED_ARGUMENTS, ENVELOPE, STATES
from streamweir.events import Event, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id
from streamweir.jsontext import json_digest
from streamweir.optional_json import json_or

__all__ = ["Actions", "OpenCalls", "tool_result", "tool_start"]

K = TypeVar("K")

_START: Final = ("tool", "name", "tool_id", "args", "arguments", *DETACHED_ARGUMENTS)
_MAX_ACTIONS: Final = 10_000
_MAX_OPEN: Final = 1000


def tool_start(message: Mapping[str, Any]) -> ToolCallStart:
    """Return the start of a call; some or all of its arguments are next to the tool's name."""
    given = arguments(message.get("args", message.get("arguments")))
    detached = {
        name: message[name]
        for name in DETACHED_ARGUMENTS
        if name not in given and message.get(name) is not None
    }
    return ToolCallStart(
        tool_id=text_of(message.get("tool_id")),
        tool_name=text_in(message, "tool", "name") or "unknown",
        arguments={**given, **detached},
        meta=extra_of(message, _START),
    )


def tool_result(message: Mapping[str, Any]) -> Event:
    """Return a result, whose keys are next to the tool's name. Its error may be the text of an exception."""
    status = message.get("status")
    state = STATES.get(status) if isinstance(status, str) else None
    known = ENVELOPE if state is None else {*ENVELOPE, "status"}
    if message.get("type") != "tool_result":
        known = known - {"type"}  # it is the tool's own
    error = message.get("error")
    failed = state == "failed" or bool(error)
    if state == "failed" and _is_failure_alone(message):
        known, error = {*known, "stdout"}, message["stdout"]
    iteration = {"iteration": message.get("iteration")}
    return ToolCallEnd(
        tool_id=text_of(message.get("tool_id")),
        status="failed" if failed else "success",
        result=_output({key: value for key, value in message.items() if key not in known}, message),
        error=tool_error(error) if failed else None,
        tool_name=text_of(message.get("tool")) or None,
        meta=extra_of(iteration, ()),
    )


def _is_failure_alone(message: Mapping[str, Any]) -> bool:
    """Return whether the output of a failed call only repeats its error, as for skills."""
    output = message.get("stdout")
    return bool(output) and "stdout_holds" not in message and message.get("error") in (None, "", output)


def _output(fields: dict[str, Any], message: Mapping[str, Any]) -> Any:
    match message:
        case {"stdout_holds": "text", "stdout": str(output)}:
            return output
        case {"stdout_holds": "json", "stdout": str(output)}:
            return json_or(output, output)
    return fields or None


class OpenCalls:
    """The calls without a result. Calls without an id are distinguished by their names.

    If there are too many, the oldest ones are forgotten.
    """

    def __init__(self) -> None:
        self._all: dict[int, tuple[str, str]] = {}
        """The name and the id of each open call, by the number that the call got at its start."""
        self._by_name: dict[str, dict[int, None]] = {}
        self._by_name_and_id: dict[tuple[str, str], dict[int, None]] = {}
        self._without_id: dict[int, None] = {}
        self._begun = 0

    def begin(self, start: ToolCallStart) -> None:
        """Note the start of a call."""
        if len(self._all) >= _MAX_OPEN:
            self._forget(next(iter(self._all)))
        self._begun += 1
        call = short_id(start.tool_name), short_id(start.tool_id)
        self._all[self._begun] = call
        self._by_name.setdefault(call[0], {})[self._begun] = None
        self._by_name_and_id.setdefault(call, {})[self._begun] = None
        if not call[1]:
            self._without_id[self._begun] = None

    def end(self, name: str, tool_id: str = "") -> bool:
        """Remove the last call with this name and id (or only this name); return whether there was one."""
        name, tool_id = short_id(name), short_id(tool_id)
        calls = self._by_name_and_id.get((name, tool_id)) if tool_id else self._by_name.get(name)
        if not calls:
            return False
        self._forget(next(reversed(calls)))
        return True

    def has(self, name: Any) -> bool:
        """Return whether a call with this name is open."""
        return isinstance(name, str) and bool(self._by_name.get(short_id(name)))

    def last(self) -> str:
        """Return the name of the last open call without an id; an empty text if there is none."""
        return self._all[next(reversed(self._without_id))][0] if self._without_id else ""

    def end_all(self) -> list[str]:
        """Forget all calls; return the names of those without an id."""
        names = [self._all[number][0] for number in self._without_id]
        for number in [*self._all]:
            self._forget(number)
        return names

    def _forget(self, number: int) -> None:
        call = self._all.pop(number)
        self._without_id.pop(number, None)
        _remove(self._by_name, call[0], number)
        _remove(self._by_name_and_id, call, number)


def _remove(calls: dict[K, dict[int, None]], key: K, number: int) -> None:
    """Remove one call from the calls of a key, and the key if it has no more calls."""
    del calls[key][number]
    if not calls[key]:
        del calls[key]


class Actions:
    """The actions of the loading chat, each passed on once: `actions` repeats the actions in tool results."""

    def __init__(self) -> None:
        self._shown: set[bytes] = set()

    def note(self, result: Mapping[str, Any]) -> None:
        """Remember the actions that are sent as part of a tool's result."""
        for _ in self._new(result):
            pass

    def events(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the actions that no tool result contained; each event is named for the type of its action."""
        for action in self._new(message):
            name = action.get("type") if isinstance(action, dict) else None
            yield named_data(name if isinstance(name, str) and name else "action", action)
        if rest := leftover(message, ("type", "actions")):
            yield named_data("actions", rest)

    def _new(self, holder: Mapping[str, Any]) -> Iterator[Any]:
        actions = holder.get("actions")
        for action in actions if isinstance(actions, list) else ():
            digest = json_digest(action)
            if digest not in self._shown:
                if len(self._shown) < _MAX_ACTIONS:
                    self._shown.add(digest)
                yield action
