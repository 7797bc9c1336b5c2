"""What every store of runs has to keep, as tests that its author inherits."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import anyio

from streamweir.runs.store import MAX_FOUND, RunLost, RunState, RunStore

__all__ = ["RunStoreConformance"]

_TTL = 60.0
_ABOUT = b'{"endpoint":"/chat"}'


def _in_event_loop(test: Callable[[Any], Awaitable[None]]) -> Callable[[Any], None]:
    @wraps(test)
    def run(self: Any) -> None:
        anyio.run(test, self)

    return run


class RunStoreConformance:
    """Inherit it as `class TestAcmeStore(RunStoreConformance)`, give it `make_store`; pytest does the rest.

    Each test runs in an event loop of its own. A store with a short `lease` makes them short: some wait for
    its end.
    """

    async def make_store(self) -> RunStore:
        """Return a store of its own for one test; it is closed afterwards."""
        raise NotImplementedError

    async def make_two_stores(self) -> tuple[RunStore, RunStore]:
        """Return two stores that keep the same runs, as two processes would; by default one, twice."""
        store = await self.make_store()
        return store, store

    @_in_event_loop
    async def test_an_unknown_run_is_nothing(self) -> None:
        """Nothing is known of it, nothing is read, nobody waits for it, nothing can be done with it."""
        async with self._store() as store:
            run = _run()
            assert await store.look(run) is None
            assert list(await store.read(run, 0)) == []
            await _at_once(store.wait(run, 0, 30))
            assert not await store.seize(run, 0, [b"{}"], ttl=_TTL)
            await store.ask_to_cancel(run)
            await store.touch(run)
            await store.forget(run)
            assert await store.look(run) is None
            for lost in (
                store.append(run, "t", 0, [b"{}"], ttl=_TTL),
                store.renew(run, "t", ttl=_TTL),
                store.discard(run, "t", ttl=_TTL),
            ):
                await _is_lost(lost)

    @_in_event_loop
    async def test_of_many_claims_one_holds(self) -> None:
        """At once or later: one token has the run, and has it again when it asks again."""
        async with self._store() as store:
            run = _run()
            claimed: list[str] = []

            async def claim(token: str) -> None:
                if await store.claim(run, token, _ABOUT, ttl=_TTL):
                    claimed.append(token)

            async with anyio.create_task_group() as claims:
                for i in range(20):
                    claims.start_soon(claim, f"token-{i}")
            (winner,) = claimed
            assert await store.claim(run, winner, _ABOUT, ttl=_TTL)
            assert not await store.claim(run, "late", _ABOUT, ttl=_TTL)
            assert await store.look(run) == RunState(_ABOUT, 0, "running", True, None)

    @_in_event_loop
    async def test_events_are_read_in_the_order_of_their_positions(self) -> None:
        """Whatever they are and however many come at once; pages join to the whole."""
        async with self._store() as store:
            run = await _claimed(store)
            written = [b'{"n":%d,"text":"%s"}' % (i, "哈".encode() * (i % 50)) for i in range(2500)]
            at = 0
            for size in (1, 2, 700, 1, 1796):
                await store.append(run, "t", at, written[at : at + size], ttl=_TTL)
                at += size
            assert await _all(store, run) == written
            assert await _all(store, run, 2490) == written[2490:]
            assert list(await store.read(run, 2500)) == list(await store.read(run, 9999)) == []
            state = await store.look(run)
            assert state is not None
            assert (state.events, state.state) == (2500, "running")

    @_in_event_loop
    async def test_a_page_is_bounded(self) -> None:
        """At most 256 events or 256 KiB, but one event at least."""
        async with self._store() as store:
            run = await _claimed(store)
            large = b'"' + b"x" * 100_000 + b'"'
            await store.append(run, "t", 0, [large] * 5 + [b"1"] * 300 + [large * 4], ttl=_TTL)
            assert list(await store.read(run, 0)) == [large] * 2
            assert list(await store.read(run, 5)) == [b"1"] * 256
            assert list(await store.read(run, 305)) == [large * 4]

    @_in_event_loop
    async def test_an_append_repeated_is_done_already(self) -> None:
        """An answer may get lost: the same events at one position are stored once; others are refused."""
        async with self._store() as store:
            run = await _claimed(store)
            await store.append(run, "t", 0, [b"1", b"2"], ttl=_TTL)
            await store.append(run, "t", 0, [b"1", b"2"], ttl=_TTL)
            assert await _all(store, run) == [b"1", b"2"]
            await _is_lost(store.append(run, "t", 0, [b"1", b"3"], ttl=_TTL))
            await _is_lost(store.append(run, "t", 1, [b"3"], ttl=_TTL))
            await _is_lost(store.append(run, "t", 3, [b"3"], ttl=_TTL))
            await store.append(run, "t", 2, [b"3"], ttl=_TTL, ends=True)
            await store.append(run, "t", 2, [b"3"], ttl=_TTL, ends=True)
            await _is_lost(store.append(run, "t", 3, [b"4"], ttl=_TTL))
            assert await _all(store, run) == [b"1", b"2", b"3"]

    @_in_event_loop
    async def test_another_token_changes_nothing(self) -> None:
        """Append, renew, end and discard are the owner's."""
        async with self._store() as store:
            run = await _claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=_TTL)
            for ends in (False, True):
                await _is_lost(store.append(run, "other", 1, [b"2"], ttl=_TTL, ends=ends))
            await _is_lost(store.renew(run, "other", ttl=_TTL))
            await _is_lost(store.discard(run, "other", ttl=_TTL))
            assert await _all(store, run) == [b"1"]
            assert (await _state(store, run)).state == "running"

    @_in_event_loop
    async def test_an_end_is_the_end(self) -> None:
        """Nothing is appended, renewed, seized or discarded after it; it has its time."""
        async with self._store() as store:
            run = await _claimed(store)
            before = time.time_ns() // 1_000_000
            await store.append(run, "t", 0, [b"1", b"2"], ttl=_TTL, ends=True)
            state = await _state(store, run)
            assert (state.about, state.events, state.state, state.owned) == (_ABOUT, 2, "ended", False)
            assert state.ended_at is not None
            assert before - 5_000 <= state.ended_at <= time.time_ns() // 1_000_000 + 5_000
            await _is_lost(store.renew(run, "t", ttl=_TTL))
            await _is_lost(store.discard(run, "t", ttl=_TTL))
            await _is_lost(store.append(run, "t", 2, [b"3"], ttl=_TTL))
            assert not await store.seize(run, 2, [b"3"], ttl=_TTL)
            assert await _all(store, run) == [b"1", b"2"]

    @_in_event_loop
    async def test_what_has_ended_is_kept_for_its_time(self) -> None:
        """And not longer; then the handle is free."""
        async with self._store() as store:
            run = await _claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=0.4, ends=True)
            assert await _all(store, run) == [b"1"]
            await anyio.sleep(0.7)
            assert await store.look(run) is None
            assert list(await store.read(run, 0)) == []
            assert await store.claim(run, "next", _ABOUT, ttl=_TTL)
            assert (await _state(store, run)).events == 0

    @_in_event_loop
    async def test_a_running_run_does_not_expire(self) -> None:
        """Its time to live counts from its end, however short it is."""
        async with self._store() as store:
            run = _run()
            assert await store.claim(run, "t", _ABOUT, ttl=0.05)
            until = time.monotonic() + store.lease * 1.5
            at = 0
            while time.monotonic() < until:
                await store.append(run, "t", at, [b"1"], ttl=0.05)
                await store.renew(run, "t", ttl=0.05)
                at += 1
                await anyio.sleep(store.lease / 4)
            assert (await _state(store, run)).owned
            assert len(await _all(store, run)) == at

    @_in_event_loop
    async def test_a_lease_ends_and_is_kept(self) -> None:
        """Appending and renewing keep it; an owner that was only slow goes on where nobody seized the run."""
        async with self._store() as store:
            run = await _claimed(store)
            await anyio.sleep(store.lease * 0.6)
            await store.renew(run, "t", ttl=_TTL)
            await anyio.sleep(store.lease * 0.6)
            assert (await _state(store, run)).owned
            await store.append(run, "t", 0, [b"1"], ttl=_TTL)
            await anyio.sleep(store.lease * 0.6)
            assert (await _state(store, run)).owned
            await anyio.sleep(store.lease * 0.8)
            assert not (await _state(store, run)).owned
            await store.append(run, "t", 1, [b"2"], ttl=_TTL)
            assert (await _state(store, run)).owned

    @_in_event_loop
    async def test_only_what_nobody_owns_is_seized_and_once(self) -> None:
        """At the right position, by one of many; after it the owner of before is refused."""
        async with self._store() as store:
            run = await _claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=_TTL)
            assert not await store.seize(run, 1, [b"end"], ttl=_TTL)
            await anyio.sleep(store.lease * 1.2)
            assert not await store.seize(run, 0, [b"end"], ttl=_TTL)
            assert not await store.seize(run, 2, [b"end"], ttl=_TTL)
            seized: list[int] = []

            async def seize(i: int) -> None:
                if await store.seize(run, 1, [b'"end %d"' % i, b"over"], ttl=_TTL):
                    seized.append(i)

            async with anyio.create_task_group() as seizures:
                for i in range(20):
                    seizures.start_soon(seize, i)
            (winner,) = seized
            assert await _all(store, run) == [b"1", b'"end %d"' % winner, b"over"]
            state = await _state(store, run)
            assert (state.state, state.owned, state.events) == ("ended", False, 3)
            await _is_lost(store.append(run, "t", 1, [b"2"], ttl=_TTL))
            await _is_lost(store.append(run, "t", 3, [b"2"], ttl=_TTL))
            await _is_lost(store.renew(run, "t", ttl=_TTL))
            await _is_lost(store.discard(run, "t", ttl=_TTL))

    @_in_event_loop
    async def test_the_owner_learns_of_a_cancel_and_of_readers(self) -> None:
        """With its next renewal, from any process; a run that is over takes no word."""
        async with self._two_stores() as (store, other):
            run = await _claimed(store)
            signals = await store.renew(run, "t", ttl=_TTL)
            assert not signals.cancelled
            assert 0 <= signals.unread_for < 5
            await anyio.sleep(0.4)
            assert 0.3 <= (await store.renew(run, "t", ttl=_TTL)).unread_for < 5
            await other.touch(run)
            assert (await store.renew(run, "t", ttl=_TTL)).unread_for < 0.3
            await other.ask_to_cancel(run)
            await other.ask_to_cancel(run)
            assert (await store.renew(run, "t", ttl=_TTL)).cancelled
            await store.append(run, "t", 0, [b"1"], ttl=_TTL)
            assert (await store.renew(run, "t", ttl=_TTL)).cancelled
            await store.append(run, "t", 1, [b"2"], ttl=_TTL, ends=True)
            await other.ask_to_cancel(run)
            assert (await _state(other, run)).state == "ended"

    @_in_event_loop
    async def test_what_is_discarded_is_gone_for_its_time(self) -> None:
        """Its events are freed, its handle stays taken; once more is done already."""
        async with self._store() as store:
            run = await _claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=_TTL)
            await store.discard(run, "t", ttl=0.5)
            await store.discard(run, "t", ttl=0.5)
            assert (await _state(store, run)).state == "gone"
            assert list(await store.read(run, 0)) == []
            await _is_lost(store.append(run, "t", 1, [b"2"], ttl=_TTL))
            await _is_lost(store.renew(run, "t", ttl=_TTL))
            assert not await store.claim(run, "next", _ABOUT, ttl=_TTL)
            assert not await store.seize(run, 1, [b"2"], ttl=_TTL)
            await anyio.sleep(0.8)
            assert await store.look(run) is None

    @_in_event_loop
    async def test_what_is_forgotten_never_was(self) -> None:
        """Running or ended; its owner is refused, its handle is free."""
        async with self._store() as store:
            for ends in (False, True):
                run = await _claimed(store)
                await store.append(run, "t", 0, [b"1"], ttl=_TTL, ends=ends)
                await store.forget(run)
                assert await store.look(run) is None
                assert list(await store.read(run, 0)) == []
                await _is_lost(store.append(run, "t", 1, [b"2"], ttl=_TTL))
                assert await store.claim(run, "next", _ABOUT, ttl=_TTL)
                assert (await _state(store, run)).events == 0

    @_in_event_loop
    async def test_waiting_ends_with_what_is_waited_for(self) -> None:
        """The event, the end, gone or forgotten: at once, from any process; else when the time is over."""
        async with self._two_stores() as (store, other):
            for change in ("append", "end", "discard", "forget"):
                run = await _claimed(store)
                await store.append(run, "t", 0, [b"1"], ttl=_TTL)
                await _at_once(other.wait(run, 0, 30))
                async with anyio.create_task_group() as waiting:
                    for reader in (store, other):
                        waiting.start_soon(_at_once, reader.wait(run, 1, 30))
                    await anyio.sleep(0.2)
                    if change == "discard":
                        await store.discard(run, "t", ttl=_TTL)
                    elif change == "forget":
                        await other.forget(run)
                    else:
                        await store.append(run, "t", 1, [b"2"], ttl=_TTL, ends=change == "end")
                await _at_once(other.wait(run, 1, 30))
            run = await _claimed(store)
            for reader in (store, other):
                began = time.monotonic()
                await reader.wait(run, 0, 0.3)
                assert 0.25 <= time.monotonic() - began < 5

    @_in_event_loop
    async def test_nothing_is_missed_between_looking_and_waiting(self) -> None:
        """Readers in another process that look, read and wait in turns get every event in its order."""
        async with self._two_stores() as (store, other):
            run = await _claimed(store)
            read: list[list[bytes]] = [[] for _ in range(5)]

            async def follow(into: list[bytes]) -> None:
                while True:
                    into.extend(await other.read(run, len(into)))
                    state = await _state(other, run)
                    if state.state == "ended" and state.events == len(into):
                        return
                    with anyio.fail_after(10):
                        await other.wait(run, len(into), 20)

            async with anyio.create_task_group() as readers:
                for into in read:
                    readers.start_soon(follow, into)
                for i in range(300):
                    await store.append(run, "t", i, [b"%d" % i], ttl=_TTL, ends=i == 299)
                    if i % 7 == 0:
                        await anyio.sleep(0.001)
            assert all(into == [b"%d" % i for i in range(300)] for into in read)

    @_in_event_loop
    async def test_runs_are_found_by_their_keys(self) -> None:
        """Newest first, 100 at most; what is forgotten is not found or not there."""
        async with self._store() as store:
            key, other_key = secrets.token_hex(16), secrets.token_hex(16)
            assert list(await store.find(key)) == []
            runs = []
            for _ in range(MAX_FOUND + 5):
                runs.append(await _claimed(store))
                await store.index(runs[-1], [key, other_key], ttl=_TTL)
            await store.index(runs[0], [key], ttl=_TTL)
            newest = list(reversed(runs))[:MAX_FOUND]
            assert list(await store.find(key)) == list(await store.find(other_key)) == newest
            await store.forget(newest[0])
            found = await store.find(key)
            assert [run for run in found if await store.look(run) is not None] == [
                run for run in found if run != newest[0]
            ]

    @_in_event_loop
    async def test_runs_do_not_touch_each_other(self) -> None:
        """Many at once, by many owners: each has its own events and its own end."""
        async with self._store() as store:
            runs = {_run(): i for i in range(50)}

            async def own(run: str, i: int) -> None:
                assert await store.claim(run, f"token-{i}", b"%d" % i, ttl=_TTL)
                for at in range(20):
                    await store.append(run, f"token-{i}", at, [b"[%d,%d]" % (i, at)], ttl=_TTL, ends=at == 19)

            async with anyio.create_task_group() as owners:
                for run, i in runs.items():
                    owners.start_soon(own, run, i)
            for run, i in runs.items():
                assert await _all(store, run) == [b"[%d,%d]" % (i, at) for at in range(20)]
                state = await _state(store, run)
                assert (state.about, state.events, state.state) == (b"%d" % i, 20, "ended")

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


def _run() -> str:
    return secrets.token_hex(16)


async def _claimed(store: RunStore) -> str:
    run = _run()
    assert await store.claim(run, "t", _ABOUT, ttl=_TTL)
    return run


async def _state(store: RunStore, run: str) -> RunState:
    state = await store.look(run)
    assert state is not None
    return state


async def _all(store: RunStore, run: str, at: int = 0) -> Sequence[bytes]:
    events: list[bytes] = []
    while page := await store.read(run, at + len(events)):
        events.extend(page)
    return events


async def _at_once(waiting: Awaitable[None]) -> None:
    with anyio.fail_after(5):
        await waiting


async def _is_lost(operation: Awaitable[object]) -> None:
    try:
        await operation
    except RunLost:
        return
    raise AssertionError("it should have raised RunLost")
