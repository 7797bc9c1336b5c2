"""Appends to a store without making the caller wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias, cast

from streamweir.errors import StreamweirError
from streamweir.runs.defined_together import defines_together
from streamweir.runs.store import RunLost, RunStore, StoreUnavailable

__all__ = ["AppendSoon", "EagerStore", "Stored", "append_soon_of"]

logger = logging.getLogger("streamweir")

Stored: TypeAlias = Callable[[StreamweirError | None], None]
"""Called once with the outcome of an append: None for success, `StoreUnavailable` or `RunLost`."""


class AppendSoon(Protocol):
    """A function that appends without making the caller wait."""

    def __call__(
        self,
        run: str,
        token: str,
        at: int,
        events: Sequence[bytes],
        *,
        ttl: float,
        ends: bool,
        stored: Stored,
    ) -> None:
        """Append like `RunStore.append`; call `stored` with the outcome, possibly before this returns."""


class EagerStore(RunStore, Protocol):
    """A store that can append without making the caller wait."""

    append_soon: AppendSoon


def append_soon_of(store: RunStore) -> AppendSoon:
    """Return a function that appends to `store` without waiting: the store's own, or one that starts a task
    per append.
    """
    if defines_together(store, "append", "append_soon"):
        return cast("EagerStore", store).append_soon
    return _AppendTasks(store)


class _AppendTasks:
    """Appends to any store, in a task per append."""

    def __init__(self, store: RunStore) -> None:
        self._store: Final = store
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(
        self,
        run: str,
        token: str,
        at: int,
        events: Sequence[bytes],
        *,
        ttl: float,
        ends: bool,
        stored: Stored,
    ) -> None:
        async def append() -> None:
            try:
                await self._store.append(run, token, at, events, ttl=ttl, ends=ends)
            except (RunLost, StoreUnavailable) as error:
                stored(error)
            except Exception:
                logger.exception("appending to a run failed")
                stored(StoreUnavailable())
            else:
                stored(None)

        task = asyncio.create_task(append())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
