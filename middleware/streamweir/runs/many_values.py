"""Reads many values of a store at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import anyio

from streamweir.runs.defined_together import defines_together
from streamweir.runs.store import RunStore, StoreUnavailable

__all__ = ["ManyValuesStore", "get_values"]


class ManyValuesStore(RunStore, Protocol):
    """A store that reads many values in one round trip."""

    async def get_many(self, names: Sequence[str], *, ttl: float) -> Sequence[bytes | None]:
        """Return the values of `names` in their order, as `RunStore.get` returns each."""


async def get_values(store: RunStore, names: Sequence[str], *, ttl: float) -> list[bytes | None]:
    """Return the values of `names` in their order, and keep each for `ttl` seconds from now.

    It takes one round trip if the store has `get_many`; else all are read at the same time.

    Args:
        store: that keeps the values.
        names: 32 hex digits each; a name may occur more than once.
        ttl: seconds.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    if defines_together(store, "get", "get_many"):
        return [*await cast("ManyValuesStore", store).get_many(names, ttl=ttl)]
    values: list[bytes | None] = [None] * len(names)
    errors: list[StoreUnavailable] = []

    async def get(index: int, name: str) -> None:
        try:
            values[index] = await store.get(name, ttl=ttl)
        except StoreUnavailable as error:
            errors.append(error)

    async with anyio.create_task_group() as reads:
        for index, name in enumerate(names):
            reads.start_soon(get, index, name)
    if errors:
        raise errors[0]
    return values
