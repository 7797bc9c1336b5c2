"""Keeps the turns of one endpoint in the store. If the store fails, requests go on without turns.

Source: the conversation contract, section 4.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

from streamweir.runs.many_values import get_values
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir_gateway.turns.stored_turn import StoredTurn, read_turn, write_turn

__all__ = ["KeptTurns"]

logger = logging.getLogger("streamweir.gateway")

T = TypeVar("T")
U = TypeVar("U")

_FAILED: Final = object()
"""The result of a call of the store that failed."""


class KeptTurns:
    """Stores, reads and drops turns.

    Attributes:
        max_bytes: the most bytes of one turn as JSON.

    Args:
        store: the store of runs and turns.
        keep: the seconds for which a turn is kept after its last use.
        max_bytes: becomes the attribute.
    """

    def __init__(self, store: RunStore, *, keep: float, max_bytes: int) -> None:
        self._store = store
        self._keep = keep
        self.max_bytes = max_bytes

    async def put(self, name: str, turn: StoredTurn) -> bool:
        """Store a turn; return whether this succeeded."""
        value = write_turn(name, turn)
        return await _tried(lambda: self._store.put(name, value, ttl=self._keep), _FAILED) is not _FAILED

    async def read(self, names: Iterable[str]) -> Mapping[str, StoredTurn]:
        """Return the turns with these names, in one round trip, and keep them for longer."""
        asked = [*dict.fromkeys(names)]
        if not asked:
            return {}
        none: list[bytes | None] = []
        values = await _tried(lambda: get_values(self._store, asked, ttl=self._keep), none)
        found = ((name, read_turn(name, value)) for name, value in zip(asked, values, strict=False))
        return {name: turn for name, turn in found if turn is not None}

    async def drop(self, name: str) -> None:
        """Forget a turn."""
        await _tried(lambda: self._store.drop(name), None)


async def _tried(call: Callable[[], Awaitable[T]], otherwise: U) -> T | U:
    """Return the result of a call to the store; `otherwise` if the store fails."""
    try:
        return await call()
    except StoreUnavailable:
        return otherwise
    except Exception:
        logger.exception("the store of turns failed")
        return otherwise
