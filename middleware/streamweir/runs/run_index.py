"""What a run can be found by, told to the store as it becomes known.

Source: the contract of resumable streams, section 3 (`find`).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from streamweir.events import SessionStart
from streamweir.runs.event_log import Batch
from streamweir.runs.handles import run_name
from streamweir.runs.run_description import about_of
from streamweir.runs.run_reader import About
from streamweir.runs.store import RunState, RunStore, StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun
from streamweir.translation.items import TextRun

__all__ = ["KINDS", "IndexedRun", "RunIndex", "index_key", "indexed_runs"]

KINDS: Final = ("thread_id", "session_id", "request_id")
"""What a run can be found by."""

_LOOKS: Final = 200
"""In so many first events ids are looked for: who names a thread does so at the beginning."""


def index_key(key: str | None, kind: str, value: str) -> str:
    """Return the name under which the store finds runs: nothing of it can be read from that.

    Args:
        key: the name of the key that the runs belong to.
        kind: one of `KINDS`.
        value: the id.
    """
    text = f"{key or ''}\0{kind}\0{value}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class IndexedRun(NamedTuple):
    """A run that was found."""

    handle: str
    name: str
    state: RunState
    about: About


async def indexed_runs(store: RunStore, key: str | None, kind: str, value: str) -> AsyncIterator[IndexedRun]:
    """Yield the runs of a key that are found by an id, newest first.

    Raises:
        StoreUnavailable: the store is out of reach.
    """
    for name in await store.find(index_key(key, kind, value)):
        state = await store.look(name)
        if state is None or state.state == "gone":
            continue
        try:
            about = about_of(state)
        except UnreadableRun:
            continue
        if about.handle is not None and run_name(key, about.handle) == name:
            yield IndexedRun(about.handle, name, state, about)


class RunIndex:
    """The ids of one run.

    Args:
        store: keeps the run.
        name: of the run in the store.
        key: the name of the key that it belongs to.
        ttl: seconds for which it is kept after its end.
    """

    def __init__(self, store: RunStore, name: str, key: str | None, *, ttl: float) -> None:
        self._store: Final = store
        self._name: Final = name
        self._key: Final = key
        self._ttl: Final = ttl
        self._known: set[str] = set()

    def looks_at(self, batch: Batch) -> bool:
        """Ids are looked for in it."""
        return batch.at < _LOOKS

    async def note(self, batch: Batch) -> None:
        """Look for ids in what the run says."""
        if not self.looks_at(batch) or batch.items is None:
            return
        found = {}
        for stamp, item in batch.items:
            event = item.event if isinstance(item, TextRun) else item
            found[index_key(self._key, "request_id", stamp.request_id)] = True
            if isinstance(event, SessionStart) and event.session_id:
                found[index_key(self._key, "session_id", event.session_id)] = True
            for kind in ("thread_id", "session_id"):
                if value := (event.meta or {}).get(kind):
                    found[index_key(self._key, kind, str(value))] = True
        new = [key for key in found if key not in self._known]
        if not new:
            return
        try:
            await self._store.index(self._name, new, ttl=self._ttl)
        except StoreUnavailable:
            return
        self._known.update(new)
