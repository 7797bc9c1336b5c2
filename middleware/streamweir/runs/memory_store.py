"""Runs and named values in the memory of one process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import anyio

from streamweir.errors import ConfigurationError, StreamweirError
from streamweir.metadata import unix_milliseconds
from streamweir.options.run_defaults import STORE_BYTES, STORE_RUNS
from streamweir.options.sizes import parse_size
from streamweir.runs.eager_append import Stored
from streamweir.runs.line_blocks import LineBlocks
from streamweir.runs.memory_values import MemoryValues
from streamweir.runs.store import MAX_FOUND, PAGE_EVENTS, RunLost, RunState, Signals, StoreFull, page_of

__all__ = ["MemoryStore"]

_RUN_BYTES: Final = 1_500
"""The memory that a run takes in addition to its events."""


class MemoryStore:
    """Keeps runs and values in memory, for one process; they end with the process.

    If it is full, it first evicts values (least recently used first), then ended runs (earliest end first).
    It evicts a running run only after its lease and its `ttl` have expired.

    Args:
        max_bytes: the most bytes that all runs and values may take: a number, or text such as `"256MiB"`.
        max_runs: the most runs, running and ended.

    Raises:
        ConfigurationError: an option has an invalid value.
    """

    lease: float = 6.0

    def __init__(self, *, max_bytes: int | str = STORE_BYTES, max_runs: int = STORE_RUNS) -> None:
        if isinstance(max_runs, bool) or not isinstance(max_runs, int) or max_runs < 1:
            raise ConfigurationError(f"max_runs must be a number of 1 or more, not {max_runs!r}")
        self._max_bytes: Final = parse_size(max_bytes, name="max_bytes")
        self._max_runs: Final = max_runs
        self._bytes = 0
        """The bytes that all runs take."""
        self._values: Final = MemoryValues()
        self._runs: dict[str, _StoredRun] = {}
        self._running: OrderedDict[str, None] = OrderedDict()  # least recently owned first
        self._over: OrderedDict[str, None] = OrderedDict()  # ended or gone, in the order of their ends
        self._found: dict[str, dict[str, None]] = {}  # a key's runs, oldest first
        self._waiting: dict[str, tuple[anyio.Event, int]] = {}  # by run: its event, and how many wait for it

    async def claim(self, run: str, token: str, about: bytes, *, ttl: float) -> bool:
        """See `RunStore.claim`."""
        stored = self._run(run)
        if stored is not None:
            return stored.token == token
        self._drop_expired()
        size = _RUN_BYTES + len(about)
        self._evict(size, runs=1)
        self._runs[run] = stored = _StoredRun(token, about, size)
        self._bytes += size
        stored.touched_at = now = time.monotonic()
        self._own(run, stored, ttl, now)
        return True

    async def append(
        self, run: str, token: str, at: int, events: Sequence[bytes], *, ttl: float, ends: bool = False
    ) -> None:
        """See `RunStore.append`."""
        answers: list[StreamweirError | None] = []
        self.append_soon(run, token, at, events, ttl=ttl, ends=ends, stored=answers.append)
        (error,) = answers
        if error is not None:
            raise error

    def append_soon(
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
        """See `EagerStore`; the append is done when this returns."""
        now = time.monotonic()
        known = self._runs.get(run)
        if known is None or known.token != token or known.gone or now >= known.expires:
            stored(RunLost())
            return
        if known.ended_at is not None or at != known.events.total:
            is_done = known.ends_with(at, events) and ends == (known.ended_at is not None)
            stored(None if is_done else RunLost())
            return
        try:
            self._store(run, known, events)
        except StoreFull as error:
            stored(error)
            return
        if ends:
            self._end(run, known, ttl)
        else:
            known.owned_until = owned_until = now + self.lease
            known.expires = owned_until + ttl
            self._running.move_to_end(run)
        if run in self._waiting:
            self._wake(run)
        stored(None)

    async def renew(self, run: str, token: str, *, ttl: float) -> Signals:
        """See `RunStore.renew`."""
        stored, now = self._owned(run, token), time.monotonic()
        self._own(run, stored, ttl, now)
        return Signals(stored.cancelled, now - stored.touched_at)

    async def discard(self, run: str, token: str, *, ttl: float) -> None:
        """See `RunStore.discard`."""
        stored = self._run(run)
        if stored is not None and stored.gone and stored.token == token:
            return
        stored = self._owned(run, token)
        freed = stored.free()
        self._bytes -= freed
        self._finish(run, stored, ttl)
        self._wake(run)

    async def look(self, run: str) -> RunState | None:
        """See `RunStore.look`."""
        stored = self._run(run)
        if stored is None:
            return None
        if stored.gone:
            return RunState(stored.about, 0, "gone", False, None)
        running = stored.ended_at is None
        owned = running and time.monotonic() < stored.owned_until
        state: Final = "running" if running else "ended"
        return RunState(stored.about, stored.events.total, state, owned, stored.ended_at)

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        """See `RunStore.read`."""
        stored = self._run(run)
        return [] if stored is None else page_of(stored.events.between(at, at + PAGE_EVENTS), 0)

    async def wait(self, run: str, at: int, seconds: float) -> None:
        """See `RunStore.wait`."""
        with anyio.move_on_after(seconds), self._listening(run):
            while (stored := self._run(run)) is not None and stored.is_running and stored.events.total <= at:
                await self._waiting[run][0].wait()

    async def seize(self, run: str, at: int, events: Sequence[bytes], *, ttl: float) -> bool:
        """See `RunStore.seize`."""
        stored = self._run(run)
        if stored is None or not stored.is_running or stored.events.total != at:
            return False
        if time.monotonic() < stored.owned_until:
            return False
        self._store(run, stored, events)
        stored.token = None
        self._end(run, stored, ttl)
        self._wake(run)
        return True

    async def ask_to_cancel(self, run: str) -> None:
        """See `RunStore.ask_to_cancel`."""
        stored = self._run(run)
        if stored is not None:
            stored.cancelled = True

    async def touch(self, run: str) -> None:
        """See `RunStore.touch`."""
        stored = self._run(run)
        if stored is not None:
            stored.touched_at = time.monotonic()

    async def forget(self, run: str) -> None:
        """See `RunStore.forget`."""
        if run in self._runs:
            self._remove(run)

    async def index(self, run: str, keys: Sequence[str], *, ttl: float) -> None:  # noqa: ARG002 (as long as the run)
        """See `RunStore.index`."""
        stored = self._run(run)
        if stored is None:
            return
        for key in keys:
            if key not in stored.keys:
                stored.keys.append(key)
                self._found.setdefault(key, {})[run] = None

    async def find(self, key: str) -> Sequence[str]:
        """See `RunStore.find`."""
        newest = reversed(list(self._found.get(key, ())))
        return list(islice((run for run in newest if self._run(run) is not None), MAX_FOUND))

    async def put(self, name: str, value: bytes, *, ttl: float) -> None:
        """See `RunStore.put`."""
        size = MemoryValues.size_of(value)
        self._values.drop(name)
        if size > self._max_bytes:
            raise StoreFull
        if self._is_over(size):
            self._evict(size)
        self._values.put(name, bytes(value), ttl)

    async def get(self, name: str, *, ttl: float) -> bytes | None:
        """See `RunStore.get`."""
        return self._values.get(name, ttl)

    async def get_many(self, names: Sequence[str], *, ttl: float) -> Sequence[bytes | None]:
        """See `ManyValuesStore.get_many`."""
        return [self._values.get(name, ttl) for name in names]

    async def drop(self, name: str) -> None:
        """See `RunStore.drop`."""
        self._values.drop(name)

    async def aclose(self) -> None:
        """See `RunStore.aclose`."""

    def _run(self, run: str) -> _StoredRun | None:
        stored = self._runs.get(run)
        if stored is not None and time.monotonic() >= stored.expires:
            self._remove(run)
            return None
        return stored

    def _owned(self, run: str, token: str) -> _StoredRun:
        stored = self._run(run)
        if stored is None or stored.token != token or not stored.is_running:
            raise RunLost
        return stored

    def _own(self, run: str, stored: _StoredRun, ttl: float, now: float) -> None:
        stored.owned_until = now + self.lease
        stored.expires = stored.owned_until + ttl
        self._running[run] = None
        self._running.move_to_end(run)

    def _store(self, run: str, stored: _StoredRun, events: Sequence[bytes]) -> None:
        size = LineBlocks.memory_of(events)
        if self._bytes + self._values.size + size > self._max_bytes:  # `_is_over`, without a call per event
            self._evict(size, keeping=run)
        stored.events.extend(events, size)
        stored.size += size
        self._bytes += size

    def _end(self, run: str, stored: _StoredRun, ttl: float) -> None:
        stored.ended_at = unix_milliseconds()
        self._finish(run, stored, ttl)

    def _finish(self, run: str, stored: _StoredRun, ttl: float) -> None:
        stored.keep(ttl)
        del self._running[run]
        self._over[run] = None

    def _evict(self, size: int, *, runs: int = 0, keeping: str = "") -> None:
        while (is_over := self._is_over(size)) or len(self._runs) + runs > self._max_runs:
            if is_over and self._values.drop_oldest():
                continue
            oldest = next((run for run in self._over if run != keeping), None)
            if oldest is not None:
                self._remove(oldest)
            elif not self._drop_abandoned(keeping):
                raise StoreFull

    def _is_over(self, size: int) -> bool:
        """Return whether `size` further bytes would exceed the limit of the store."""
        return self._bytes + self._values.size + size > self._max_bytes

    def _drop_abandoned(self, keeping: str) -> bool:
        """Drop the run whose owner was seen least recently, if the run has expired; return whether it had."""
        longest = next(iter(self._running), keeping)
        return longest != keeping and self._run(longest) is None

    def _drop_expired(self) -> None:
        """Drop expired runs: for each new run at most two ended and two abandoned runs."""
        for run in (*islice(self._over, 2), *islice(self._running, 2)):
            self._run(run)

    def _remove(self, run: str) -> None:
        stored = self._runs.pop(run)
        self._running.pop(run, None)
        self._over.pop(run, None)
        self._bytes -= stored.size
        for key in stored.keys:
            found = self._found[key]
            del found[run]
            if not found:
                del self._found[key]
        self._wake(run)

    @contextmanager
    def _listening(self, run: str) -> Iterator[None]:
        event, waiting = self._waiting.get(run) or (anyio.Event(), 0)
        self._waiting[run] = event, waiting + 1
        try:
            yield
        finally:
            event, waiting = self._waiting.pop(run)
            if waiting > 1:
                self._waiting[run] = event, waiting - 1

    def _wake(self, run: str) -> None:
        if run in self._waiting:
            event, waiting = self._waiting[run]
            self._waiting[run] = anyio.Event(), waiting
            event.set()


@dataclass(slots=True, eq=False)
class _StoredRun:
    token: str | None
    about: bytes
    size: int
    events: LineBlocks = field(default_factory=LineBlocks)
    keys: list[str] = field(default_factory=list)
    gone: bool = False
    cancelled: bool = False
    ended_at: int | None = None
    owned_until: float = 0.0
    touched_at: float = 0.0
    expires: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.ended_at is None and not self.gone

    def ends_with(self, at: int, events: Sequence[bytes]) -> bool:
        return at + len(events) == self.events.total and self.events.between(at, at + len(events)) == [
            *events
        ]

    def keep(self, seconds: float) -> None:
        self.expires = time.monotonic() + seconds

    def free(self) -> int:
        """Drop the events; return the number of bytes that they took."""
        freed = self.events.memory
        self.events = LineBlocks()
        self.size -= freed
        self.gone = True
        return freed
