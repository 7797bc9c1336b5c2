"""The rules for the lifetime of a run, from its claim to its end, and until it is forgotten."""

from __future__ import annotations

import time

import anyio

from streamweir.metadata import unix_milliseconds
from streamweir.testing.run_store.rules import (
    ABOUT,
    TTL,
    RunStoreRules,
    all_events,
    at_once,
    claimed,
    in_event_loop,
    is_lost,
    new_run,
    state_of,
)

__all__ = ["LifetimeRules"]


class LifetimeRules(RunStoreRules):
    """The rules for the lifetime of a run, from its claim to its end, and until it is forgotten."""

    @in_event_loop
    async def test_an_unknown_run_is_nothing(self) -> None:
        """Check that an unknown run has no state and no events, that waiting ends at once, and that no
        operation succeeds.
        """
        async with self._store() as store:
            run = new_run()
            assert await store.look(run) is None
            assert list(await store.read(run, 0)) == []
            await at_once(store.wait(run, 0, 30))
            assert not await store.seize(run, 0, [b"{}"], ttl=TTL)
            await store.ask_to_cancel(run)
            await store.touch(run)
            await store.forget(run)
            assert await store.look(run) is None
            for lost in (
                store.append(run, "t", 0, [b"{}"], ttl=TTL),
                store.renew(run, "t", ttl=TTL),
                store.discard(run, "t", ttl=TTL),
            ):
                await is_lost(lost)

    @in_event_loop
    async def test_an_end_is_the_end(self) -> None:
        """Check that an ended run cannot be appended to, renewed, seized or discarded, and keeps its time
        to live.
        """
        async with self._store() as store:
            run = await claimed(store)
            before = unix_milliseconds()
            await store.append(run, "t", 0, [b"1", b"2"], ttl=TTL, ends=True)
            state = await state_of(store, run)
            assert (state.about, state.events, state.state, state.owned) == (ABOUT, 2, "ended", False)
            assert state.ended_at is not None
            assert before - 5_000 <= state.ended_at <= unix_milliseconds() + 5_000
            await is_lost(store.renew(run, "t", ttl=TTL))
            await is_lost(store.discard(run, "t", ttl=TTL))
            await is_lost(store.append(run, "t", 2, [b"3"], ttl=TTL))
            assert not await store.seize(run, 2, [b"3"], ttl=TTL)
            assert await all_events(store, run) == [b"1", b"2"]

    @in_event_loop
    async def test_what_has_ended_is_kept_for_its_time(self) -> None:
        """Check that an ended run is kept for its time to live and not longer; then its handle is free."""
        async with self._store() as store:
            run = await claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=0.4, ends=True)
            assert await all_events(store, run) == [b"1"]
            await anyio.sleep(0.7)
            assert await store.look(run) is None
            assert list(await store.read(run, 0)) == []
            assert await store.claim(run, "next", ABOUT, ttl=TTL)
            assert (await state_of(store, run)).events == 0

    @in_event_loop
    async def test_a_running_run_does_not_expire(self) -> None:
        """Check that the time to live counts from the end of a run, however short it is."""
        async with self._store() as store:
            run = new_run()
            assert await store.claim(run, "t", ABOUT, ttl=0.05)
            until = time.monotonic() + store.lease * 1.5
            at = 0
            while time.monotonic() < until:
                await store.append(run, "t", at, [b"1"], ttl=0.05)
                await store.renew(run, "t", ttl=0.05)
                at += 1
                await anyio.sleep(store.lease / 4)
            assert (await state_of(store, run)).owned
            assert len(await all_events(store, run)) == at

    @in_event_loop
    async def test_what_is_discarded_is_gone_for_its_time(self) -> None:
        """Check that a discarded run has no events, a taken handle, and that a repeated discard succeeds."""
        async with self._store() as store:
            run = await claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            await store.discard(run, "t", ttl=0.5)
            await store.discard(run, "t", ttl=0.5)
            assert (await state_of(store, run)).state == "gone"
            assert list(await store.read(run, 0)) == []
            await is_lost(store.append(run, "t", 1, [b"2"], ttl=TTL))
            await is_lost(store.renew(run, "t", ttl=TTL))
            assert not await store.claim(run, "next", ABOUT, ttl=TTL)
            assert not await store.seize(run, 1, [b"2"], ttl=TTL)
            await anyio.sleep(0.8)
            assert await store.look(run) is None

    @in_event_loop
    async def test_what_is_forgotten_never_was(self) -> None:
        """Check that a forgotten run, running or ended, leaves its handle free and has its owner refused."""
        async with self._store() as store:
            for ends in (False, True):
                run = await claimed(store)
                await store.append(run, "t", 0, [b"1"], ttl=TTL, ends=ends)
                await store.forget(run)
                assert await store.look(run) is None
                assert list(await store.read(run, 0)) == []
                await is_lost(store.append(run, "t", 1, [b"2"], ttl=TTL))
                assert await store.claim(run, "next", ABOUT, ttl=TTL)
                assert (await state_of(store, run)).events == 0
