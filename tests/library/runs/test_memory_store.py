"""`MemoryStore`: eviction, expiry and options."""

import tracemalloc
from typing import Any

import anyio
import pytest

from streamweir import ConfigurationError
from streamweir.runs import MemoryStore, RunStore, StoreFull, StoreUnavailable
from streamweir.runs.many_values import get_values
from streamweir.runs.memory_values import MemoryValues
from streamweir.testing import RunStoreConformance

pytestmark = pytest.mark.anyio


class TestMemoryStore(RunStoreConformance):
    async def make_store(self) -> RunStore:
        store = MemoryStore()
        store.lease = 0.5
        return store


async def test_full_store_evicts_ended_runs_in_the_order_of_their_ends() -> None:
    store = MemoryStore(max_bytes="64KiB")
    event = b'"' + b"x" * 10_000 + b'"'
    for run in ("first", "second", "third"):
        assert await store.claim(run, "t", b"{}", ttl=60)
    for run in ("second", "first", "third"):
        await store.append(run, "t", 0, [event], ttl=60, ends=run != "third")
    for at in range(5):
        await store.append("third", "t", 1 + at, [event], ttl=60)
    assert await store.look("second") is None
    assert await store.look("first") is None
    assert len(await store.read("third", 0)) == 6
    with pytest.raises(StoreFull):
        await store.append("third", "t", 6, [event] * 2, ttl=60)
    assert len(await store.read("third", 0)) == 6, "all or none"


async def test_full_store_never_evicts_running_runs() -> None:
    store = MemoryStore(max_runs=2)
    for run in ("a", "b"):
        assert await store.claim(run, "t", b"{}", ttl=60)
    with pytest.raises(StoreFull):
        await store.claim("c", "t", b"{}", ttl=60)
    await store.append("a", "t", 0, [b"1"], ttl=60, ends=True)
    assert await store.claim("c", "t", b"{}", ttl=60)
    assert await store.look("a") is None
    assert await store.look("b") is not None


@pytest.mark.parametrize("options", [{"max_runs": 2}, {"max_bytes": "16KiB"}])
async def test_full_store_evicts_a_running_run_once_its_lease_and_ttl_have_expired(
    options: dict[str, Any],
) -> None:
    store = MemoryStore(**options)
    store.lease = 0.5
    event = b'"' + b"x" * 6_000 + b'"'
    for run in ("left", "kept"):
        assert await store.claim(run, "t", b"{}", ttl=0.5)
        await store.append(run, "t", 0, [event], ttl=0.5)
    await store.renew("kept", "t", ttl=60)
    with pytest.raises(StoreFull):
        await _begin(store, "next", event)
    await anyio.sleep(1.1)
    await _begin(store, "other", event)
    assert await store.look("left") is None
    assert len(await store.read("kept", 0)) == 1


async def test_expired_runs_leave_no_memory_behind() -> None:
    store = MemoryStore()
    for i in range(200):
        run = f"{i:032x}"
        await store.claim(run, "t", b"{}", ttl=60)
        await store.index(run, [f"{i % 3:032x}"], ttl=60)
        await store.append(run, "t", 0, [b"1"], ttl=0.01, ends=True)
    await anyio.sleep(0.02)
    for i in range(200, 320):
        await store.claim(f"{i:032x}", "t", b"{}", ttl=60)
    found = [run for key in range(3) for run in await store.find(f"{key:032x}")]
    assert found == []
    assert len(store._runs) == 120
    assert not store._over
    assert not store._found


async def test_full_store_evicts_the_values_used_longest_ago_and_then_ended_runs() -> None:
    store = MemoryStore(max_bytes=62_000)
    value = b"x" * 10_000
    event = b'"' + value + b'"'
    for run in ("ended", "running"):
        assert await store.claim(run, "t", b"{}", ttl=60)
        await store.append(run, "t", 0, [event], ttl=60, ends=run == "ended")
    for name in ("a", "b", "c"):
        await store.put(name, value, ttl=60)
    assert await store.get("a", ttl=60) == value
    await store.put("d", value, ttl=60)
    assert await store.get("b", ttl=60) is None
    for at in range(3):
        await store.append("running", "t", 1 + at, [event], ttl=60)
    assert [await store.get(name, ttl=60) for name in "acd"] == [None, None, None]
    assert await store.look("ended") is not None
    await store.put("e", value + value[:5_000], ttl=60)
    assert await store.look("ended") is None
    with pytest.raises(StoreFull):
        await store.put("f", value * 4, ttl=60)
    assert len(await store.read("running", 0)) == 4


async def test_value_larger_than_the_store_is_refused_and_evicts_nothing() -> None:
    store = MemoryStore(max_bytes="16KiB")
    await store.put("a", b"1", ttl=60)
    await store.put("b", b"before", ttl=60)
    with pytest.raises(StoreFull):
        await store.put("b", b"x" * 20_000, ttl=60)
    assert await store.get("a", ttl=60) == b"1"
    assert await store.get("b", ttl=60) is None, "an old value must not be taken for the new one"


@pytest.mark.parametrize("size", [0, 300, 20_000])
async def test_values_take_at_most_1_3_times_their_bytes_and_1_kb_each(size: int) -> None:
    store, count = MemoryStore(max_bytes="1GiB"), 2_000
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(count):
            await store.put(f"{i:032x}", b"%06d" % i + b"x" * size, ttl=60)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken <= count * (1.3 * (size + 6) + 1_000)
    assert taken <= store._values.size * 1.05, "max_bytes bounds the memory that is taken"


async def test_values_that_expired_leave_no_memory_behind() -> None:
    store = MemoryStore()
    for i in range(100):
        await store.put(f"{i:032x}", b"1", ttl=0.01)
    await anyio.sleep(0.02)
    for i in range(100, 160):
        await store.put(f"{i:032x}", b"1", ttl=60)
    assert store._values.size == 60 * MemoryValues.size_of(b"1")


class _OwnGet(MemoryStore):
    """A subclass that replaces `get` alone."""

    async def get(self, name: str, *, ttl: float) -> bytes | None:
        if name == "down":
            raise StoreUnavailable
        return (await super().get(name, ttl=ttl) or b"") + b"!"


async def test_get_values_asks_the_get_that_a_subclass_replaces() -> None:
    store = _OwnGet()
    await store.put("a", b"1", ttl=60)
    assert await get_values(store, ["a", "b"], ttl=60) == [b"1!", b"!"]
    with pytest.raises(StoreUnavailable):
        await get_values(store, ["a", "down", "down"], ttl=60)


async def _begin(store: MemoryStore, run: str, event: bytes) -> None:
    await store.claim(run, "t", b"{}", ttl=60)
    await store.append(run, "t", 0, [event], ttl=60)


@pytest.mark.parametrize(
    "options", [{"max_bytes": "lots"}, {"max_bytes": 0}, {"max_runs": 0}, {"max_runs": True}]
)
def test_store_with_an_invalid_option_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        MemoryStore(**options)
