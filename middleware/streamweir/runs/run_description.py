"""The description of a run as JSON for its clients.

Source: the contract of resumable streams, section 3 (`run`).
"""

from __future__ import annotations

from typing import Any

from streamweir.events import Event, SessionEnd
from streamweir.runs.found_run import FoundRun
from streamweir.runs.store import RunStore
from streamweir.runs.stored_event import EventReader, UnreadableRun
from streamweir.translation.items import TextRun

__all__ = ["run_description"]


async def run_description(store: RunStore, found: FoundRun) -> dict[str, Any]:
    """Return the JSON object that describes a run to its clients.

    Raises:
        StoreUnavailable: the description cannot be read.
    """
    handle, name, state, about = found
    described: dict[str, Any] = {
        "id": handle,
        "state": "running" if state.state == "running" else "ended",
        "events": state.events,
        "endpoint": about.endpoint,
        "protocol": about.protocol,
        "request_id": about.request_id,
        "started_at": about.started_at,
    }
    if state.ended_at is not None:
        described["ended_at"] = state.ended_at
        described["expires_at"] = state.ended_at + round(about.ttl * 1000)
        end = await _end_of(store, name, state.events)
        if end is not None:
            described["status"] = end.status
            if end.reason is not None:
                described["reason"] = end.reason
    return described


async def _end_of(store: RunStore, name: str, events: int) -> SessionEnd | None:
    lines = await store.read(name, max(0, events - 1))
    try:
        items: list[Event | TextRun] = [item for _, item in EventReader(begins=False).items(lines[-1:])]
    except UnreadableRun:
        return None
    return items[0] if items and isinstance(items[0], SessionEnd) else None
