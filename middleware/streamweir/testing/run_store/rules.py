"""The store, clock and events with which the rules for stores of runs are tested."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import anyio

from streamweir.runs.store import RunLost, RunState, RunStore

__all__ = [
    "ABOUT",
    "TTL",
    "RunStoreRules",
    "all_events",
    "at_once",
    "claimed",
    "in_event_loop",
    "is_lost",
    "new_run",
    "state_of",
]

TTL = 60.0
ABOUT = b'{"endpoint":"/chat"}'


def in_event_loop(test: Callable[[Any], Awaitable[None]]) -> Callable[[Any], None]:
    """Wrap a test so that it runs in a separate event loop."""

    @wraps(test)
    def run(self: Any) -> None:
        anyio.run(test, self)

    return run


class RunStoreRules:
    """The base class of the rules for stores of runs; see `RunStoreConformance`."""

    async def make_store(self) -> RunStore:
        """Return a new store for one test; it is closed afterwards."""
        raise NotImplementedError

    async def make_two_stores(self) -> tuple[RunStore, RunStore]:
        """Return two stores that keep one set of runs, as two processes; by default one store, twice."""
        store = await self.make_store()
        return store, store

    @asynccontextmanager
    async def _store(self) -> AsyncIterator[RunStore]:
        store = await self.make_store()
        try:
            yield store
        finally:
            await store.aclose()

    @asynccontextmanager
    async def _two_stores(self) -> AsyncIterator[tuple[RunStore, RunStore]]:
        stores = await self.make_two_stores()
        try:
            yield stores
        finally:
            for store in stores:
                await store.aclose()


def new_run() -> str:
    """Return the name of a run that does not exist."""
    return secrets.token_hex(16)


async def claimed(store: RunStore) -> str:
    """Begin a run with the token `t`, and return its name."""
    run = new_run()
    assert await store.claim(run, "t", ABOUT, ttl=TTL)
    return run


async def state_of(store: RunStore, run: str) -> RunState:
    """Return the state of a run that exists."""
    state = await store.look(run)
    assert state is not None
    return state


async def all_events(store: RunStore, run: str, at: int = 0) -> Sequence[bytes]:
    """Return the events of a run from position `at` on, page by page."""
    events: list[bytes] = []
    while page := await store.read(run, at + len(events)):
        events.extend(page)
    return events


async def at_once(waiting: Awaitable[None]) -> None:
    """Wait for an operation, which must end quickly."""
    with anyio.fail_after(5):
        await waiting


async def is_lost(operation: Awaitable[object]) -> None:
    """Check that an operation raises `RunLost`."""
    try:
        await operation
    except RunLost:
        return
    raise AssertionError("it should have raised RunLost")
