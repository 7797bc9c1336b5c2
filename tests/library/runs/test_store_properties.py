"""Any operations of several owners, in any order, leave one sequence of events with one end."""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redis_servers import redis_binaries, redis_server
from streamweir.runs import MemoryStore, RedisStore, RunLost, RunStore
from streamweir.runs.redis_scripts import Script

_OWNERS = ("a", "b", "c")
_ABOUT = b"{}"

_steps = st.one_of(
    st.tuples(st.just("claim"), st.sampled_from(_OWNERS)),
    st.tuples(st.just("append"), st.sampled_from(_OWNERS), st.integers(-2, 1), st.integers(0, 3)),
    st.tuples(st.just("end"), st.sampled_from(_OWNERS), st.integers(-1, 1)),
    st.tuples(st.just("renew"), st.sampled_from(_OWNERS)),
    st.tuples(st.just("seize"), st.integers(-1, 1)),
    st.tuples(st.just("discard"), st.sampled_from(_OWNERS)),
    st.tuples(st.sampled_from(["cancel", "touch", "look", "lapse", "forget"])),
)


_DROP_LEASE: Final = Script("return redis.call('DEL', KEYS[3])")


class _LapsingMemoryStore(MemoryStore):
    def lapse(self, run: str) -> None:
        if run in self._runs:
            self._runs[run].owned_until = 0.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with redis_server(redis_binaries()[0]) as server:
        yield server.url


@given(st.lists(_steps, max_size=30))
@settings(max_examples=300)
def test_memory_store_after_any_operations_holds_one_sequence(steps: list[tuple[object, ...]]) -> None:
    store = _LapsingMemoryStore()

    async def lapse(run: str) -> None:
        store.lapse(run)

    anyio.run(_Play(store, lapse).all, steps)


@given(st.lists(_steps, max_size=30))
@settings(max_examples=100)
def test_redis_store_after_any_operations_holds_one_sequence(
    url: str, steps: list[tuple[object, ...]]
) -> None:
    async def play() -> None:
        store = RedisStore(url)

        async def lapse(run: str) -> None:
            await store._commands.call(_DROP_LEASE, store._names(run))

        try:
            await _Play(store, lapse).all(steps)
        finally:
            await store.aclose()

    anyio.run(play)


class _Play:
    """Performs the steps, and checks the answers of the store against the rules of a run."""

    def __init__(self, store: RunStore, lapse: Callable[[str], Awaitable[None]]) -> None:
        self.store = store
        self.lapse = lapse
        self.run = secrets.token_hex(16)
        self.state = "none"
        self.owner: str | None = None
        self.owned = False
        self.events: list[bytes] = []
        self.cancelled = False
        self.last: tuple[int, list[bytes], bool] | None = None

    async def all(self, steps: list[tuple[object, ...]]) -> None:
        for name, *arguments in steps:
            await getattr(self, f"_{name}")(*arguments)
            await self._compare()

    async def _compare(self) -> None:
        found = await self.store.look(self.run)
        if self.state == "none":
            assert found is None
            return
        assert found is not None
        assert (found.state, found.about) == (self.state, _ABOUT)
        assert found.events == len(self.events)
        assert list(await self.store.read(self.run, 0)) == self.events
        assert found.owned is (self.owned and self.state == "running")

    async def _claim(self, owner: str) -> None:
        claimed = await self.store.claim(self.run, owner, _ABOUT, ttl=60)
        assert claimed is (self.state == "none" or self.owner == owner)
        if self.state == "none":
            self.state, self.owner, self.owned = "running", owner, True
            self.events, self.cancelled, self.last = [], False, None

    async def _append(self, owner: str, offset: int, count: int, *, ends: bool = False) -> None:
        at = max(0, len(self.events) + offset)
        events = [secrets.token_hex(4).encode() for _ in range(count)]
        repeated = self.last is not None and self.last[0] == at and offset < 0
        if repeated and self.last is not None:
            _, events, ends = self.last
        holds = self.state == "running" and self.owner == owner and at == len(self.events)
        done_already = (
            repeated
            and self.owner == owner
            and self.state == ("ended" if ends else "running")
            and at + len(events) == len(self.events)
        )
        await self._expect(holds or done_already, self._appending(owner, at, events, ends))
        if holds:
            self.events += events
            self.owned = True
            self.last = (at, events, ends)
            self.state = "ended" if ends else "running"

    async def _appending(self, owner: str, at: int, events: list[bytes], ends: bool) -> None:
        await self.store.append(self.run, owner, at, events, ttl=60, ends=ends)

    async def _end(self, owner: str, offset: int) -> None:
        await self._append(owner, offset, 1, ends=True)

    async def _renew(self, owner: str) -> None:
        holds = self.state == "running" and self.owner == owner
        signals = await self._expect(holds, self.store.renew(self.run, owner, ttl=60))
        if holds:
            self.owned = True
            assert signals.cancelled is self.cancelled

    async def _seize(self, offset: int) -> None:
        at = max(0, len(self.events) + offset)
        seized = await self.store.seize(self.run, at, [b"lost"], ttl=60)
        assert seized is (self.state == "running" and not self.owned and at == len(self.events))
        if seized:
            self.events.append(b"lost")
            self.state, self.owner = "ended", None

    async def _discard(self, owner: str) -> None:
        holds = self.state in ("running", "gone") and self.owner == owner
        await self._expect(holds, self.store.discard(self.run, owner, ttl=60))
        if holds:
            self.state, self.events = "gone", []

    async def _cancel(self) -> None:
        await self.store.ask_to_cancel(self.run)
        self.cancelled = True

    async def _touch(self) -> None:
        await self.store.touch(self.run)

    async def _look(self) -> None:
        await self.store.wait(self.run, len(self.events), 0.001)

    async def _lapse(self) -> None:
        await self.lapse(self.run)
        self.owned = False

    async def _forget(self) -> None:
        await self.store.forget(self.run)
        self.state, self.owner, self.owned = "none", None, False

    async def _expect(self, holds: bool, operation: Awaitable[Any]) -> Any:
        try:
            done = await operation
        except RunLost:
            assert not holds
            return None
        assert holds
        return done
