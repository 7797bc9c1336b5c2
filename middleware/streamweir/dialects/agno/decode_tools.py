"""Reads tool calls. Each call gets one start and one end, even if the server reports it several times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, milliseconds, text_of, tool_error
from streamweir.dialects.agno.decode_place import Place
from streamweir.events import Event, Meta, ToolCallEnd, ToolCallStart
from streamweir.ids import RecentIds, short_id

__all__ = ["Calls", "result_of"]

_TOOL: Final = (
    *("tool_call_id", "tool_name", "tool_args", "tool_call_error", "result", "content", "metrics"),
    *("created_at", "role", "stop_after_tool_call", "requires_confirmation", "confirmed"),
    *("confirmation_note", "requires_user_input", "user_input_schema", "user_feedback_schema", "answered"),
    *("external_execution_required", "external_execution_silent", "approval_type", "approval_id"),
)
_ENDED: Final = ""
"""The value for a call that has ended, in place of its id."""


class Calls:
    """The calls of one stream, by the run that makes them, because models number their calls from zero in
    each run.

    Args:
        room: the number of bytes, roughly, that may be remembered.
    """

    def __init__(self, room: int) -> None:
        self._calls: RecentIds[str] = RecentIds(room // 2)
        """For each run and call id of the server: the id in the events, or `_ENDED`."""
        self._taken: RecentIds[str] = RecentIds(room // 2)
        """For each id of an open call in the events: the run that makes the call."""

    def start(self, tool: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield the start of a call, unless it has started."""
        own = short_id(text_of(tool.get("tool_call_id")))
        key = _key(place.run_id, own)
        if own and self._calls.get(key):
            return
        name = text_of(tool.get("tool_name")) or "unknown"
        meta = and_extra(place.meta, leftover(tool, _TOOL))
        yield ToolCallStart(
            self._open(own, key, place), name, arguments=arguments(tool.get("tool_args")), meta=meta
        )

    def end(self, tool: Mapping[str, Any], place: Place, error: Any = None) -> Iterator[Event]:
        """Yield the end of a call, after its start if it has not started; nothing if it has ended."""
        own = short_id(text_of(tool.get("tool_call_id")))
        key = _key(place.run_id, own)
        if own and self._calls.get(key) == _ENDED:
            return
        if own and key not in self._calls:
            yield from self.start(tool, place)
        tool_id = (own and self._calls.get(key)) or own
        if own:
            self._calls.add(key, _ENDED)
            self._taken.discard(tool_id)
        name = text_of(tool.get("tool_name")) or None
        result = result_of(tool)
        meta = _timed(place.meta, tool.get("metrics"))
        if error or tool.get("tool_call_error"):
            failure = tool_error(error or result)
            yield ToolCallEnd(tool_id, "failed", error=failure, tool_name=name, meta=meta)
            return
        yield ToolCallEnd(tool_id, result=result, tool_name=name, meta=and_extra(meta, leftover(tool, _TOOL)))

    def has_ended(self, tool_id: str, place: Place) -> bool:
        """Return whether the call has ended."""
        return self._calls.get(_key(place.run_id, tool_id)) == _ENDED

    def id_of(self, own: str, place: Place) -> str:
        """Return the id that the call has in the events."""
        return self._calls.get(_key(place.run_id, own)) or own

    def _open(self, own: str, key: str, place: Place) -> str:
        """Return an id that no open call of another run has."""
        if not own:
            return own
        owner = self._taken.get(own)
        tool_id = own if owner in (None, place.run_id) else short_id(f"{own}:{place.run_id}")
        self._calls.add(key, tool_id)
        self._taken.add(tool_id, place.run_id)
        return tool_id


def result_of(tool: Mapping[str, Any]) -> Any:
    """Return the result of a call; None if it has no result yet."""
    result = tool.get("result")
    return tool.get("content") if result is None else result


def _key(run_id: str, tool_id: str) -> str:
    return f"{run_id}/{tool_id}"


def _timed(meta: Meta | None, metrics: Any) -> Meta | None:
    seconds = metrics.get("duration", metrics.get("time")) if isinstance(metrics, dict) else None
    duration = milliseconds(seconds, scale=1000)
    return meta if duration is None else {**(meta or {}), "duration_ms": duration}
