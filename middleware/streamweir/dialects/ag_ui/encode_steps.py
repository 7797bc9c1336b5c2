"""Writes the steps of a run. At most one step of a name is open, and all are closed when the run ends."""

from __future__ import annotations

from typing import Any, Final

from streamweir.dialects.ag_ui.shared_metadata import with_metadata
from streamweir.events import Status

__all__ = ["OpenSteps"]

Message = dict[str, Any]

MAX_OPEN: Final = 1000
_STEP: Final = 4096
"""The most bytes that an open step takes, for its id and its name."""

_NOT_STEPS: Final = frozenset({"session", "queue"})
_ENDS: Final = frozenset({"finished", "failed"})


class OpenSteps:
    """The steps that have begun and not ended. Above the limit a step is not opened, and only its state is
    written.

    Args:
        room: the number of bytes, roughly, of open steps that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._most = min(MAX_OPEN, max(1, room // _STEP))
        self._open: dict[tuple[str, str], str] = {}

    def write(self, event: Status) -> list[Message]:
        """Return the start or the end of a step; an empty list if `event` is no status of a step."""
        if event.scope in _NOT_STEPS:
            return []
        key = event.scope, (event.meta or {}).get("node_id") or _name(event)
        if event.state == "started" and key not in self._open and len(self._open) < self._most:
            self._open[key] = self._free(_name(event))
            return [_step("STEP_STARTED", self._open[key], event)]
        if event.state in _ENDS and key in self._open:
            return [_step("STEP_FINISHED", self._open.pop(key), event)]
        return []

    def close(self) -> list[Message]:
        """Return the ends of all open steps."""
        ended = [{"type": "STEP_FINISHED", "stepName": name} for name in self._open.values()]
        self._open.clear()
        return ended

    def _free(self, name: str) -> str:
        """Return `name`, with a number added if a step with this name is open."""
        taken = {*self._open.values()}
        numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
        return next(free for free in (name, *numbered) if free not in taken)


def _name(event: Status) -> str:
    meta = event.meta or {}
    return event.name or meta.get("node_name") or meta.get("node_id") or event.scope


def _step(kind: str, name: str, event: Status) -> Message:
    words = {"scope": event.scope, "state": event.state, "name": event.name, "detail": event.detail}
    return with_metadata({"type": kind, "stepName": name}, event, **words)
