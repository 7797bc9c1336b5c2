"""Appending to a store without waiting for it in the task that appends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias, cast

from streamweir.errors import StreamweirError
from streamweir.runs.store import RunLost, RunStore, StoreUnavailable

__all__ = ["AppendSoon", "EagerStore", "Stored", "append_soon_of"]

logger = logging.getLogger("streamweir")

Stored: TypeAlias = Callable[[StreamweirError | None], None]
"""Is given why an append failed, `StoreUnavailable` or `RunLost`; None where it did not."""


class AppendSoon(Protocol):
    """Appends, and does not wait."""

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
        """As `RunStore.append`; `stored` is called when it is done, perhaps before this returns."""
        ...


class EagerStore(RunStore, Protocol):
    """A store that can append without being waited for."""

    append_soon: AppendSoon


def append_soon_of(store: RunStore) -> AppendSoon:
    """Return what appends to `store` without waiting: of the store itself, else a task for each append."""
    return cast("EagerStore", store).append_soon if _is_eager(store) else _AppendTasks(store)


def _is_eager(store: RunStore) -> bool:
    """Whoever defines `append` defines this too: a subclass with another `append` has to be waited for."""
    if "append" in getattr(store, "__dict__", ()):
        return False
    for cls in type(store).__mro__:
        if "append" in vars(cls):
            return "append_soon" in vars(cls)
    return False


class _AppendTasks:
    """Appends in tasks, to any store."""

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
