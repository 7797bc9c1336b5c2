"""The rules for finding and following runs."""

from __future__ import annotations

import secrets
import time

import anyio

from streamweir.runs.store import MAX_FOUND
from streamweir.testing.run_store.rules import TTL, RunStoreRules, at_once, claimed, in_event_loop, state_of

__all__ = ["ReadingRules"]


class ReadingRules(RunStoreRules):
    """The rules for finding and following runs."""

    @in_event_loop
    async def test_waiting_ends_with_what_is_waited_for(self) -> None:
        """Check that waiting ends at once for an event, an end, a discard or a removal by any process,
        else after the time.
        """
        async with self._two_stores() as (store, other):
            for change in ("append", "end", "discard", "forget"):
                run = await claimed(store)
                await store.append(run, "t", 0, [b"1"], ttl=TTL)
                await at_once(other.wait(run, 0, 30))
                async with anyio.create_task_group() as waiting:
                    for reader in (store, other):
                        waiting.start_soon(at_once, reader.wait(run, 1, 30))
                    await anyio.sleep(0.2)
                    if change == "discard":
                        await store.discard(run, "t", ttl=TTL)
                    elif change == "forget":
                        await other.forget(run)
                    else:
                        await store.append(run, "t", 1, [b"2"], ttl=TTL, ends=change == "end")
                await at_once(other.wait(run, 1, 30))
            run = await claimed(store)
            for reader in (store, other):
                began = time.monotonic()
                await reader.wait(run, 0, 0.3)
                assert 0.25 <= time.monotonic() - began < 5

    @in_event_loop
    async def test_nothing_is_missed_between_looking_and_waiting(self) -> None:
        """Check that readers in another process that look, read and wait by turns get all events in order."""
        async with self._two_stores() as (store, other):
            run = await claimed(store)
            read: list[list[bytes]] = [[] for _ in range(5)]

            async def follow(into: list[bytes]) -> None:
                while True:
                    into.extend(await other.read(run, len(into)))
                    state = await state_of(other, run)
                    if state.state == "ended" and state.events == len(into):
                        return
                    with anyio.fail_after(10):
                        await other.wait(run, len(into), 20)

            async with anyio.create_task_group() as readers:
                for into in read:
                    readers.start_soon(follow, into)
                for i in range(300):
                    await store.append(run, "t", i, [b"%d" % i], ttl=TTL, ends=i == 299)
                    if i % 7 == 0:
                        await anyio.sleep(0.001)
            assert all(into == [b"%d" % i for i in range(300)] for into in read)

    @in_event_loop
    async def test_runs_are_found_by_their_keys(self) -> None:
        """Check that runs are found newest first, at most 100, and that a forgotten run is not found."""
        async with self._store() as store:
            key, other_key = secrets.token_hex(16), secrets.token_hex(16)
            assert list(await store.find(key)) == []
            runs = []
            for _ in range(MAX_FOUND + 5):
                runs.append(await claimed(store))
                await store.index(runs[-1], [key, other_key], ttl=TTL)
            await store.index(runs[0], [key], ttl=TTL)
            newest = list(reversed(runs))[:MAX_FOUND]
            assert list(await store.find(key)) == list(await store.find(other_key)) == newest
            await store.forget(newest[0])
            found = await store.find(key)
            assert [run for run in found if await store.look(run) is not None] == [
                run for run in found if run != newest[0]
            ]
