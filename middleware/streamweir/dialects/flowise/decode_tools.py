"""Reads lists of calls that have been run; each list may repeat the calls of earlier lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import arguments, custom, leftover, meta_of, text_of, tool_error
from streamweir.errors import LimitExceeded
from streamweir.events import Event, ToolCallEnd, ToolCallStart
from streamweir.ids import made_call_id
from streamweir.jsontext import json_digest

__all__ = ["UsedTools"]

_CALL: Final = ("tool", "toolInput", "toolOutput", "error", "sourceDocuments", "artifacts")
_MOST: Final = 10_000


class UsedTools:
    """The calls that have been read, by name, input and the number of equal calls before them in a list.

    Attributes:
        request_id: the request id of the stream.
    """

    def __init__(self) -> None:
        self.request_id = ""
        self._ids: dict[bytes, str] = {}
        self._ended: set[bytes] = set()

    def read(self, value: Any) -> Iterator[Event]:
        """Yield the new calls and the new results of a list."""
        alike: Counter[bytes] = Counter()
        for call in value if isinstance(value, list) else [value]:
            if isinstance(call, dict) and call.get("tool"):
                key = _key(call)
                alike[key] += 1
                yield from self._call(key + b"%d" % alike[key], call)
            elif call:
                yield custom("tool", call)

    def read_asked(self, value: Any) -> Iterator[Event]:
        """Yield the calls that the model asks for; an empty result means that it has not been run."""
        calls = value if isinstance(value, list) else [value]
        return self.read([_asked(call) if isinstance(call, dict) else call for call in calls])

    def _call(self, key: bytes, call: Mapping[str, Any]) -> Iterator[Event]:
        if key not in self._ids:
            if len(self._ids) >= _MOST:
                raise LimitExceeded("an answer has more calls than allowed")
            self._ids[key] = made_call_id(self.request_id, len(self._ids) + 1)
            rest = leftover(call, _CALL)
            given, name = arguments(call.get("toolInput")), text_of(call["tool"])
            yield ToolCallStart(self._ids[key], name, arguments=given, meta=meta_of(extra=rest))
        has_result = "toolOutput" in call or bool(call.get("error"))
        if has_result and key not in self._ended:
            self._ended.add(key)
            yield _end(self._ids[key], call)


def _end(tool_id: str, call: Mapping[str, Any]) -> Event:
    if call.get("error"):
        return ToolCallEnd(tool_id, "failed", error=tool_error(call["error"]))
    return ToolCallEnd(tool_id, result=call.get("toolOutput"))


def _asked(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call without its empty result; a call in LangChain's form gets Flowise's field names."""
    match call:
        case {"name": str(name), "args": given, **rest} if "tool" not in call:
            return {"tool": name, "toolInput": given, **(leftover(rest, ("type",)) or {})}
        case {"toolOutput": "" | None, **rest}:
            return rest
    return call


def _key(call: Mapping[str, Any]) -> bytes:
    return json_digest([call["tool"], call.get("toolInput")])
