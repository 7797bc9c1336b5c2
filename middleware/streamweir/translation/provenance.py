"""What an upstream really sent, beside what it means: `metadata.source`, for endpoints that ask for it.

Source: the standard protocol 1.1, section 1. The safety stage takes it off errors, warnings and failed steps.
"""

from __future__ import annotations

from typing import Any

import msgspec

from streamweir.errors import MalformedEvent
from streamweir.events import Error, Event, Meta, Status, ToolCallEnd, Warning
from streamweir.framing import Frame

__all__ = ["is_failure", "with_source"]


def is_failure(event: Event) -> bool:
    """Whether `event` reports a failure; the frame that holds it is then shown with none of its events."""
    match event:
        case Error() | Warning() | ToolCallEnd(status="failed") | Status(state="failed"):
            return True
    return False


def with_source(event: Event, frame: Frame, dialect: str) -> Event:
    """Return `event` with the frame that it was read from."""
    try:
        raw = frame.json()
    except MalformedEvent:
        raw = frame.text
    name = frame.event or (raw.get("type") or raw.get("event") if isinstance(raw, dict) else None)
    source: dict[str, Any] = {"dialect": dialect, "raw": raw}
    if isinstance(name, str) and name:
        source["event"] = name
    meta: Meta = {**(event.meta or {}), "source": source}
    return msgspec.structs.replace(event, meta=meta)
