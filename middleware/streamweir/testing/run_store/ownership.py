"""The rules for the ownership of a run: its lease, ends by other processes, and notices to the owner."""

from __future__ import annotations

from contextlib import suppress

import anyio

from streamweir.runs.store import RunLost
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
    """The rules for the ownership of a run: its lease, ends by other processes, and notices to the owner."""

    @in_event_loop
    async def test_a_lease_ends_and_is_kept(self) -> None:
        """Check that appending and renewing keep the lease, and that a slow owner continues unless the run
        was seized.
        """
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
            await anyio.sleep(store.lease * 1.2)
            await store.renew(run, "t", ttl=TTL)
            assert (await state_of(store, run)).owned

    @in_event_loop
    async def test_of_an_end_and_a_seizure_at_once_one_holds(self) -> None:
        """Check that one of two ends is stored if a slow owner and another process end the run at once."""
        async with self._two_stores() as (store, other):
            runs = [await claimed(store) for _ in range(20)]
            await anyio.sleep(store.lease * 1.2)
            held: dict[str, list[bytes]] = {run: [] for run in runs}

            async def end(run: str) -> None:
                with suppress(RunLost):
                    await store.append(run, "t", 0, [b"1"], ttl=TTL, ends=True)
                    held[run].append(b"1")

            async def seize(run: str) -> None:
                if await other.seize(run, 0, [b"2"], ttl=TTL):
                    held[run].append(b"2")

            async with anyio.create_task_group() as ends:
                for i, run in enumerate(runs):
                    for finish in (end, seize) if i % 2 else (seize, end):
                        ends.start_soon(finish, run)
            for run in runs:
                assert len(held[run]) == 1
                assert await all_events(store, run) == held[run]
                assert (await state_of(other, run)).state == "ended"

    @in_event_loop
    async def test_only_what_nobody_owns_is_seized_and_once(self) -> None:
        """Check that only one of many can seize a run without an owner, at the right position; the former
        owner is refused.
        """
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
        """Check that the owner learns of a cancel and readers when it renews; an ended run ignores both."""
        async with self._two_stores() as (store, other):
            run = await claimed(store)
            signals = await store.renew(run, "t", ttl=TTL)
            assert not signals.cancelled
            assert 0 <= signals.unread_for < 5
            await anyio.sleep(0.4)
            assert 0.3 <= (await store.renew(run, "t", ttl=TTL)).unread_for < 5
            await store.append(run, "t", 0, [b"0"], ttl=TTL)
            await anyio.sleep(0.2)
            assert 0.5 <= (await store.renew(run, "t", ttl=TTL)).unread_for < 5, "the owner is no reader"
            await other.touch(run)
            assert (await store.renew(run, "t", ttl=TTL)).unread_for < 0.3
            another = await claimed(store)
            await other.ask_to_cancel(run)
            await other.ask_to_cancel(run)
            assert (await store.renew(run, "t", ttl=TTL)).cancelled
            await store.append(run, "t", 1, [b"1"], ttl=TTL)
            assert (await store.renew(run, "t", ttl=TTL)).cancelled
            assert not (await store.renew(another, "t", ttl=TTL)).cancelled
            await store.append(run, "t", 2, [b"2"], ttl=TTL, ends=True)
            await other.ask_to_cancel(run)
            assert (await state_of(other, run)).state == "ended"
