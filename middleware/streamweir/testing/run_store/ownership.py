"""Whose a run is: its lease, who may end it without its owner, and what its owner learns."""

from __future__ import annotations

import anyio

from streamweir.testing.run_store.rules import (
    TTL,
    RunStoreRules,
    all_events,
    claimed,
    in_event_loop,
    is_lost,
    state_of,
)

__all__ = ["OwnershipRules"]


class OwnershipRules(RunStoreRules):
    """Whose a run is: its lease, who may end it without its owner, and what its owner learns."""

    @in_event_loop
    async def test_a_lease_ends_and_is_kept(self) -> None:
        """Appending and renewing keep it; an owner that was only slow goes on where nobody seized the run."""
        async with self._store() as store:
            run = await claimed(store)
            await anyio.sleep(store.lease * 0.6)
            await store.renew(run, "t", ttl=TTL)
            await anyio.sleep(store.lease * 0.6)
            assert (await state_of(store, run)).owned
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            await anyio.sleep(store.lease * 0.6)
            assert (await state_of(store, run)).owned
            await anyio.sleep(store.lease * 0.8)
            assert not (await state_of(store, run)).owned
            await store.append(run, "t", 1, [b"2"], ttl=TTL)
            assert (await state_of(store, run)).owned

    @in_event_loop
    async def test_only_what_nobody_owns_is_seized_and_once(self) -> None:
        """At the right position, by one of many; after it the owner of before is refused."""
        async with self._store() as store:
            run = await claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            assert not await store.seize(run, 1, [b"end"], ttl=TTL)
            await anyio.sleep(store.lease * 1.2)
            assert not await store.seize(run, 0, [b"end"], ttl=TTL)
            assert not await store.seize(run, 2, [b"end"], ttl=TTL)
            seized: list[int] = []

            async def seize(i: int) -> None:
                if await store.seize(run, 1, [b'"end %d"' % i, b"over"], ttl=TTL):
                    seized.append(i)

            async with anyio.create_task_group() as seizures:
                for i in range(20):
                    seizures.start_soon(seize, i)
            (winner,) = seized
            assert await all_events(store, run) == [b"1", b'"end %d"' % winner, b"over"]
            state = await state_of(store, run)
            assert (state.state, state.owned, state.events) == ("ended", False, 3)
            await is_lost(store.append(run, "t", 1, [b"2"], ttl=TTL))
            await is_lost(store.append(run, "t", 3, [b"2"], ttl=TTL))
            await is_lost(store.renew(run, "t", ttl=TTL))
            await is_lost(store.discard(run, "t", ttl=TTL))

    @in_event_loop
    async def test_the_owner_learns_of_a_cancel_and_of_readers(self) -> None:
        """With its next renewal, from any process; a run that is over takes no word."""
        async with self._two_stores() as (store, other):
            run = await claimed(store)
            signals = await store.renew(run, "t", ttl=TTL)
            assert not signals.cancelled
            assert 0 <= signals.unread_for < 5
            await anyio.sleep(0.4)
            assert 0.3 <= (await store.renew(run, "t", ttl=TTL)).unread_for < 5
            await other.touch(run)
            assert (await store.renew(run, "t", ttl=TTL)).unread_for < 0.3
            await other.ask_to_cancel(run)
            await other.ask_to_cancel(run)
            assert (await store.renew(run, "t", ttl=TTL)).cancelled
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            assert (await store.renew(run, "t", ttl=TTL)).cancelled
            await store.append(run, "t", 1, [b"2"], ttl=TTL, ends=True)
            await other.ask_to_cancel(run)
            assert (await state_of(other, run)).state == "ended"
