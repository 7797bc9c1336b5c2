"""The rules for stored events: they are in order, stored once, appended only by the owner, and separate
for each run.
"""

from __future__ import annotations

from contextlib import suppress

import anyio

from streamweir.runs.eager_append import append_soon_of
from streamweir.runs.store import RunLost, RunState
from streamweir.testing.run_store.rules import (
    ABOUT,
    TTL,
    RunStoreRules,
    all_events,
    claimed,
    in_event_loop,
    is_lost,
    new_run,
    state_of,
)

__all__ = ["EventRules"]


class EventRules(RunStoreRules):
    """The rules for stored events: they are in order, stored once, appended only by the owner, and
    separate for each run.
    """

    @in_event_loop
    async def test_of_many_claims_one_holds(self) -> None:
        """Check that one token gets a run, by claims at once or later; its repeated claim succeeds."""
        async with self._store() as store:
            run = new_run()
            claimed: list[str] = []

            async def claim(token: str) -> None:
                if await store.claim(run, token, ABOUT, ttl=TTL):
                    claimed.append(token)

            async with anyio.create_task_group() as claims:
                for i in range(20):
                    claims.start_soon(claim, f"token-{i}")
            (winner,) = claimed
            assert await store.claim(run, winner, ABOUT, ttl=TTL)
            assert not await store.claim(run, "late", ABOUT, ttl=TTL)
            assert await store.look(run) == RunState(ABOUT, 0, "running", True, None)

    @in_event_loop
    async def test_events_are_read_in_the_order_of_their_positions(self) -> None:
        """Check that events of any size in batches of any length are all read again, page by page."""
        async with self._store() as store:
            run = await claimed(store)
            written = [b'{"n":%d,"text":"%s"}' % (i, "哈".encode() * (i % 50)) for i in range(2500)]
            at = 0
            for size in (1, 2, 700, 1, 1796):
                await store.append(run, "t", at, written[at : at + size], ttl=TTL)
                at += size
            assert await all_events(store, run) == written
            assert await all_events(store, run, 2490) == written[2490:]
            assert list(await store.read(run, 2500)) == list(await store.read(run, 9999)) == []
            state = await store.look(run)
            assert state is not None
            assert (state.events, state.state) == (2500, "running")

    @in_event_loop
    async def test_a_page_is_bounded(self) -> None:
        """Check that a page has at most 256 events or 256 KiB, but at least one event."""
        async with self._store() as store:
            run = await claimed(store)
            large = b'"' + b"x" * 100_000 + b'"'
            await store.append(run, "t", 0, [large] * 5 + [b"1"] * 300 + [large * 4], ttl=TTL)
            assert list(await store.read(run, 0)) == [large] * 2
            assert list(await store.read(run, 5)) == [b"1"] * 256
            assert list(await store.read(run, 305)) == [large * 4]

    @in_event_loop
    async def test_an_append_repeated_is_done_already(self) -> None:
        """Check that a repeated append stores nothing twice, as answers get lost; others are refused."""
        async with self._store() as store:
            run = await claimed(store)
            await store.append(run, "t", 0, [b"1", b"2"], ttl=TTL)
            await store.append(run, "t", 0, [b"1", b"2"], ttl=TTL)
            assert await all_events(store, run) == [b"1", b"2"]
            await is_lost(store.append(run, "t", 0, [b"1", b"3"], ttl=TTL))
            await is_lost(store.append(run, "t", 0, [b"1", b"2", b"3"], ttl=TTL))
            await is_lost(store.append(run, "t", 1, [b"3"], ttl=TTL))
            await is_lost(store.append(run, "t", 3, [b"3"], ttl=TTL))
            await store.append(run, "t", 2, [b"3"], ttl=TTL, ends=True)
            await store.append(run, "t", 2, [b"3"], ttl=TTL, ends=True)
            await is_lost(store.append(run, "t", 3, [b"4"], ttl=TTL))
            assert await all_events(store, run) == [b"1", b"2", b"3"]

    @in_event_loop
    async def test_of_many_appends_at_one_position_one_holds(self) -> None:
        """Check that one of several different appends at one time succeeds, and the others are refused."""
        async with self._store() as store:
            run = await claimed(store)
            stored: list[bytes] = []

            async def append(event: bytes) -> None:
                with suppress(RunLost):
                    await store.append(run, "t", 0, [event], ttl=TTL)
                    stored.append(event)

            async with anyio.create_task_group() as appends:
                for i in range(20):
                    appends.start_soon(append, b"%d" % i)
            assert len(stored) == 1
            assert await all_events(store, run) == stored

    @in_event_loop
    async def test_another_token_changes_nothing(self) -> None:
        """Check that only the owner's token can append, renew, end and discard."""
        async with self._store() as store:
            run = await claimed(store)
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            for ends in (False, True):
                await is_lost(store.append(run, "other", 1, [b"2"], ttl=TTL, ends=ends))
            await is_lost(store.renew(run, "other", ttl=TTL))
            await is_lost(store.discard(run, "other", ttl=TTL))
            assert await all_events(store, run) == [b"1"]
            assert (await state_of(store, run)).state == "running"

    @in_event_loop
    async def test_runs_do_not_touch_each_other(self) -> None:
        """Check that many runs with many owners at one time keep separate events and ends."""
        async with self._store() as store:
            runs = {new_run(): i for i in range(50)}

            async def own(run: str, i: int) -> None:
                assert await store.claim(run, f"token-{i}", b"%d" % i, ttl=TTL)
                for at in range(20):
                    await store.append(run, f"token-{i}", at, [b"[%d,%d]" % (i, at)], ttl=TTL, ends=at == 19)

            async with anyio.create_task_group() as owners:
                for run, i in runs.items():
                    owners.start_soon(own, run, i)
            for run, i in runs.items():
                assert await all_events(store, run) == [b"[%d,%d]" % (i, at) for at in range(20)]
                state = await state_of(store, run)
                assert (state.about, state.events, state.state) == (b"%d" % i, 20, "ended")

    @in_event_loop
    async def test_what_is_appended_without_waiting_is_stored_in_its_order(self) -> None:
        """Check that each append without waiting gets one answer, as if it had been awaited; only for
        stores that can do this.
        """
        async with self._store() as store:
            append_soon = append_soon_of(store)
            run = await claimed(store)
            answers: list[type[Exception] | None] = []
            for token, at, ends in (("t", 0, False), ("other", 1, True), ("t", 2, True), ("t", 1, True)):
                is_answered = anyio.Event()

                def stored(error: Exception | None, is_answered: anyio.Event = is_answered) -> None:
                    answers.append(None if error is None else type(error))
                    is_answered.set()

                append_soon(run, token, at, [b"%d" % at], ttl=TTL, ends=ends, stored=stored)
                with anyio.fail_after(5):
                    await is_answered.wait()
            assert answers == [None, RunLost, RunLost, None]
            assert await all_events(store, run) == [b"0", b"1"]
            assert (await state_of(store, run)).state == "ended"
