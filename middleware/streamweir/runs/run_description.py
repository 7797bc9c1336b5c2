"""What is said of a run in JSON.

Source: the contract of resumable streams, section 3 (`run`).
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from streamweir.events import Event, SessionEnd
from streamweir.runs.run_reader import About, all_lines
from streamweir.runs.store import RunState, RunStore
from streamweir.runs.stored_event import EventReader, UnreadableRun
from streamweir.translation.fold import Fold
from streamweir.translation.items import TextRun

__all__ = ["about_of", "folded_run", "run_description", "until_ended"]


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


async def folded_run(
    store: RunStore, name: str, handle: str, state: RunState, about: About
) -> dict[str, Any]:
    """Return what a run has said so far as one result, with its description.

    Raises:
        UnreadableRun: what is stored is no run.
        StoreUnavailable: it cannot be read.
    """
    fold = Fold(about.request_id)
    lines = (await all_lines(store, name))[: state.events]
    for _, item in EventReader().items(lines):
        for event in item if isinstance(item, TextRun) else (item,):
            fold.add(event)
    result = fold.result()
    if state.state == "running":
        result["status"] = "running"
    result["run"] = await run_description(store, name, handle, state, about)
    return result


async def until_ended(store: RunStore, name: str, state: RunState, seconds: float) -> None:
    """Return when a run has ended, or after `seconds`.

    Raises:
        StoreUnavailable: it is out of reach.
    """
    until = time.monotonic() + seconds
    while state.state == "running" and (left := until - time.monotonic()) > 0:
        await store.wait(name, state.events, left)
        looked = await store.look(name)
        if looked is None:
            return
        state = looked


async def _end_of(store: RunStore, name: str, events: int) -> SessionEnd | None:
    lines = await store.read(name, max(0, events - 1))
    try:
        items: list[Event | TextRun] = [item for _, item in EventReader().items(lines[-1:])]
    except UnreadableRun:
        return None
    return items[0] if items and isinstance(items[0], SessionEnd) else None
