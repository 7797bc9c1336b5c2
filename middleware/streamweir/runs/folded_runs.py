"""The folded results of unfinished runs, for clients that poll them.

A poll folds only the events that were stored since the last poll of the same run. The event loop gets a turn
after each page of events, whatever store they come from.

Source: the contract of resumable streams, section 3.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from streamweir.runs.found_run import FoundRun
from streamweir.runs.run_description import run_description
from streamweir.runs.store import RunStore
from streamweir.runs.stored_event import EventReader
from streamweir.translation.fold import Fold
from streamweir.translation.items import TextRun

__all__ = ["FoldedRuns"]

MAX_KEPT_BYTES: Final = 16 << 20
"""The most bytes of stored events whose folds are kept."""

KEPT_SECONDS: Final = 60.0
"""The seconds for which an unused fold is kept; after that it is dropped at the next request for any fold."""

_Key: TypeAlias = tuple[str, str]
"""The name of a run in the store with its request id: a name may be used again after `remove`."""


class FoldedRuns:
    """Folds runs of one store, and keeps the folds that were used last.

    A fold in use is taken out of the cache: two simultaneous polls of one run make two folds.

    Args:
        store: keeps the runs.
    """

    def __init__(self, store: RunStore) -> None:
        self._store: Final = store
        self._kept: Final[OrderedDict[_Key, _FoldOfRun]] = OrderedDict()
        self._bytes = 0

    async def fold(self, found: FoundRun) -> dict[str, Any]:
        """Return the folded result of the stored events of a run, with the run's description in `run`.

        Raises:
            UnreadableRun: the stored lines are not events of a run.
            StoreUnavailable: the store does not answer.
        """
        self._drop_unused()
        key = found.name, found.about.request_id
        folded = self._kept.pop(key, None)
        if folded is None:
            folded = _FoldOfRun(found.about.request_id)
        else:
            self._bytes -= folded.bytes
        if folded.events > found.state.events:  # another poll was faster, and this one has an older state
            folded = _FoldOfRun(found.about.request_id)
        result = {**await folded.up_to(found, self._store)}
        self._keep(key, folded)
        if found.state.state == "running":
            result["status"] = "running"
        result["run"] = await run_description(self._store, found)
        return result

    def forget(self, name: str) -> None:
        """Drop the folds of a run that is removed from the store."""
        for key in [key for key in self._kept if key[0] == name]:
            self._bytes -= self._kept.pop(key).bytes

    def _drop_unused(self) -> None:
        now = time.monotonic()
        while self._kept and now - next(iter(self._kept.values())).used_at > KEPT_SECONDS:
            self._bytes -= self._kept.popitem(last=False)[1].bytes

    def _keep(self, key: _Key, folded: _FoldOfRun) -> None:
        folded.used_at = time.monotonic()
        other = self._kept.pop(key, None)
        self._kept[key] = folded
        self._bytes += folded.bytes - (0 if other is None else other.bytes)
        while self._bytes > MAX_KEPT_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].bytes


class _FoldOfRun:
    """The fold of the first events of one run.

    Attributes:
        events: the number of events that have been folded.
        bytes: the bytes of these events, in the form of the store.
        used_at: the `time.monotonic()` of its last use.
    """

    __slots__ = ("_fold", "_reader", "_result", "bytes", "events", "used_at")

    def __init__(self, request_id: str) -> None:
        self.events = 0
        self.bytes = 0
        self.used_at = 0.0
        self._fold = Fold(request_id)
        self._reader = EventReader()
        self._result: dict[str, Any] | None = None

    async def up_to(self, found: FoundRun, store: RunStore) -> dict[str, Any]:
        """Fold the events of a run that are not folded yet, and return the result."""
        last = found.state.events
        while self.events < last and (page := await store.read(found.name, self.events)):
            self._add(page[: last - self.events])
            await asyncio.sleep(0)
        if self._result is None:
            self._result = self._fold.result()
        return self._result

    def _add(self, lines: Sequence[bytes]) -> None:
        self._result = None
        for _, item in self._reader.items(lines):
            for event in item if isinstance(item, TextRun) else (item,):
                self._fold.add(event)
        self.events += len(lines)
        self.bytes += sum(map(len, lines))
