"""The rules for named values: kept for a time, prolonged by reading, dropped, separate from runs."""

from __future__ import annotations

import secrets

import anyio

from streamweir.runs.many_values import get_values
from streamweir.testing.run_store.rules import TTL, RunStoreRules, claimed, in_event_loop, new_run, state_of

__all__ = ["ValueRules"]


class ValueRules(RunStoreRules):
    """The rules for named values: kept for a time, prolonged by reading, dropped, separate from runs."""

    @in_event_loop
    async def test_a_value_is_the_bytes_that_were_put_last(self) -> None:
        """Check that any bytes can be put, read by any process, and replaced by a later `put`."""
        async with self._two_stores() as (store, other):
            values = [b"", b"{}", bytes(range(256)), b"\r\n$-1\r\n", secrets.token_bytes(1 << 20)]
            for value in values:
                name = new_run()
                assert await store.get(name, ttl=TTL) is None
                await store.put(name, b"before", ttl=TTL)
                await other.put(name, value, ttl=TTL)
                assert await store.get(name, ttl=TTL) == value
                assert await other.get(name, ttl=TTL) == value

    @in_event_loop
    async def test_a_dropped_value_is_unknown(self) -> None:
        """Check that dropping an unknown value is not an error, and that a dropped name may be used again."""
        async with self._two_stores() as (store, other):
            name = new_run()
            await store.drop(name)
            await store.put(name, b"1", ttl=TTL)
            await other.drop(name)
            await other.drop(name)
            assert await store.get(name, ttl=TTL) is None
            await store.put(name, b"2", ttl=TTL)
            assert await other.get(name, ttl=TTL) == b"2"

    @in_event_loop
    async def test_a_value_expires_after_its_last_use(self) -> None:
        """Check that each `get` and each `put` restarts the time of a value."""
        async with self._store() as store:
            used, unused = new_run(), new_run()
            for name in (used, unused):
                await store.put(name, b"1", ttl=1.0)
            for _ in range(3):
                await anyio.sleep(0.5)
                assert await store.get(used, ttl=1.0) == b"1"
            assert await store.get(unused, ttl=1.0) is None
            await store.put(used, b"2", ttl=1.0)
            await anyio.sleep(0.5)
            assert await store.get(used, ttl=0.3) == b"2"
            await anyio.sleep(0.6)
            assert await store.get(used, ttl=1.0) is None

    @in_event_loop
    async def test_many_values_come_in_the_order_of_their_names(self) -> None:
        """Check: unknown values are None, a name may occur twice, and each value is kept from then on."""
        async with self._store() as store:
            names = [new_run() for _ in range(600)]
            for name in names[::2]:
                await store.put(name, name.encode(), ttl=TTL)
            asked = [*names, names[0], names[1]]
            expected = [name.encode() if names.index(name) % 2 == 0 else None for name in asked]
            assert await get_values(store, asked, ttl=TTL) == expected
            assert await get_values(store, [], ttl=TTL) == []
            short = new_run()
            await store.put(short, b"1", ttl=0.6)
            assert await get_values(store, [short], ttl=TTL) == [b"1"]
            await anyio.sleep(0.9)
            assert await store.get(short, ttl=TTL) == b"1"

    @in_event_loop
    async def test_a_value_and_a_run_of_one_name_are_two_things(self) -> None:
        """Check that operations on a value do not change the run with its name, and the reverse."""
        async with self._store() as store:
            run = await claimed(store)
            assert await store.get(run, ttl=TTL) is None
            await store.put(run, b"value", ttl=TTL)
            await store.append(run, "t", 0, [b"1"], ttl=TTL)
            await store.forget(run)
            assert await store.get(run, ttl=TTL) == b"value"
            assert await store.claim(run, "next", b"{}", ttl=TTL)
            await store.drop(run)
            assert (await state_of(store, run)).events == 0
