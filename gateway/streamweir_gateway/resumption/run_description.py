"""What is said of a run in JSON.

Source: the contract of resumable streams, section 3 (`run`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from streamweir.events import Event, SessionEnd
from streamweir.runs.run_reader import About
from streamweir.runs.store import RunState, RunStore
from streamweir.runs.stored_event import EventReader, UnreadableRun
from streamweir.translation.items import TextRun

__all__ = ["about_of", "run_description"]


def about_of(state: RunState) -> About:
    """Return what a run was claimed with.

    Raises:
        UnreadableRun: that is nothing of ours.
    """
    try:
        return msgspec.json.decode(state.about, type=About)
    except msgspec.MsgspecError as error:
        raise UnreadableRun from error


async def run_description(
    store: RunStore, name: str, handle: str, state: RunState, about: About
) -> dict[str, Any]:
    """Return what a client is told of a run.

    Raises:
        StoreUnavailable: it cannot be read.
    """
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
        items: list[Event | TextRun] = [item for _, item in EventReader().items(lines[-1:])]
    except UnreadableRun:
        return None
    return items[0] if items and isinstance(items[0], SessionEnd) else None
