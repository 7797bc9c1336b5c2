"""The upstream's own message in the metadata of its events: `metadata.source`, an option of endpoints.

Source: the standard protocol 1.1, section 1. The sanitizer removes it from errors, warnings and failed steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from streamweir.errors import MalformedEvent
from streamweir.events import Data, Error, Event, Meta, SessionEnd, Status, ToolCallEnd, Warning
from streamweir.framing import Frame
from streamweir.stages.sanitizer import is_failed_report

__all__ = ["Provenance"]


class Provenance:
    """Adds the upstream's messages to the events of one stream.

    Args:
        dialect: the dialect of the upstream.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._has_failure = False

    def may_show(self, events: Sequence[Event]) -> bool:
        """Note the events of a frame; return whether the frame may be added to them as their source.

        It may not be added if it contains a failure, a new one or one repeated at the end of the stream.
        """
        has_failure = any(map(_is_failure, events))
        self._has_failure = self._has_failure or has_failure
        repeats = self._has_failure and any(type(event) is SessionEnd for event in events)
        return not (has_failure or repeats)

    def with_source(self, event: Event, frame: Frame) -> Event:
        """Return `event` with its frame in `metadata.source`."""
        try:
            raw = frame.json()
        except MalformedEvent:
            raw = frame.text
        name = frame.event or (raw.get("type") or raw.get("event") if isinstance(raw, dict) else None)
        source: dict[str, Any] = {"dialect": self._dialect, "raw": raw}
        if isinstance(name, str) and name:
            source["event"] = name
        meta: Meta = {**(event.meta or {}), "source": source}
        return msgspec.structs.replace(event, meta=meta)


def _is_failure(event: Event) -> bool:
    match event:
        case Error() | Warning() | ToolCallEnd(status="failed") | Status(state="failed"):
            return True
        case Data(data_type="custom", data=data):
            return is_failed_report(data)
    return False
