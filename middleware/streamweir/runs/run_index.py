"""The ids by which a run can be found; they are put into the store as they become known.

Source: the contract of resumable streams, section 3 (`find`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final

from streamweir.events import SessionStart
from streamweir.runs.event_log import Batch
from streamweir.runs.found_run import FoundRun, about_of
from streamweir.runs.handles import run_name
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun
from streamweir.translation.items import TextRun

__all__ = ["KINDS", "RunIndex", "index_key", "indexed_runs"]

KINDS: Final = ("thread_id", "session_id", "request_id")
"""The kinds of ids."""

_LOOKS: Final = 200
"""The number of first events that are searched for ids: upstreams name the thread at the beginning."""


def index_key(key: str | None, kind: str, value: str) -> str:
    """Return the key under which the store finds runs; it reveals neither name nor id.

    Args:
        key: the name of the API key that the runs belong to.
        kind: one of `KINDS`.
        value: the id.
    """
    text = f"{key or ''}\0{kind}\0{value}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


async def indexed_runs(store: RunStore, key: str | None, kind: str, value: str) -> AsyncIterator[FoundRun]:
    """Yield the runs of an API key that have this id, newest first.

    Raises:
        StoreUnavailable: the store does not answer.
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
            yield FoundRun(about.handle, name, state, about)


class RunIndex:
    """Indexes one run by its ids.

    Args:
        store: keeps the run.
        name: the name of the run in the store.
        key: the name of the API key that the run belongs to.
        ttl: seconds for which the run is kept after its end.
    """

    def __init__(self, store: RunStore, name: str, key: str | None, *, ttl: float) -> None:
        self._store: Final = store
        self._name: Final = name
        self._key: Final = key
        self._ttl: Final = ttl
        self._known: set[str] = set()
        self._lease: Final = store.lease
        self._indexed_at = 0.0

    async def note_request(self, request_id: str, names: Mapping[str, str]) -> None:
        """Make the run findable by the ids of its request and of its conversation.

        Args:
            request_id: the id of the request.
            names: the conversation's ids, by their kind.
        """
        named = {"request_id": request_id, **names}
        await self._add([index_key(self._key, kind, value) for kind, value in named.items()])

    async def renew(self) -> None:
        """Index the ids again before the store forgets them, for long runs."""
        if self._known and time.monotonic() - self._indexed_at >= self._ttl / 2:
            await self._index(sorted(self._known))

    async def end(self) -> None:
        """Shorten the life of the index to that of the run, which has ended."""
        if self._known:
            await self._index(sorted(self._known), has_ended=True)

    def looks_at(self, batch: Batch) -> bool:
        """Return whether a batch is searched for ids."""
        return batch.at < _LOOKS

    async def note(self, batch: Batch) -> None:
        """Index the ids in the events of a batch."""
        if not self.looks_at(batch) or batch.items is None:
            return
        found: dict[str, None] = {}
        for stamp, item in batch.items:
            event = item.event if isinstance(item, TextRun) else item
            found[index_key(self._key, "request_id", stamp.request_id)] = None
            if isinstance(event, SessionStart) and event.session_id:
                found[index_key(self._key, "session_id", event.session_id)] = None
            for kind in ("thread_id", "session_id"):
                if value := (event.meta or {}).get(kind):
                    found[index_key(self._key, kind, str(value))] = None
        await self._add(found)

    async def _add(self, keys: Iterable[str]) -> None:
        new = [key for key in keys if key not in self._known]
        if new and await self._index(new):
            self._known.update(new)

    async def _index(self, keys: Sequence[str], *, has_ended: bool = False) -> bool:
        ttl = self._ttl if has_ended else self._ttl + self._lease
        try:
            await self._store.index(self._name, keys, ttl=ttl)
        except StoreUnavailable:
            return False
        self._indexed_at = time.monotonic()
        return True
