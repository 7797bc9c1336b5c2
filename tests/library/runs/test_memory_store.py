"""`MemoryStore`: eviction, expiry and options."""

from typing import Any

import anyio
import pytest

from streamweir import ConfigurationError
from streamweir.runs import MemoryStore, RunStore, StoreFull
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
    store.lease = 0.05
    event = b'"' + b"x" * 6_000 + b'"'
    for run in ("left", "kept"):
        assert await store.claim(run, "t", b"{}", ttl=0.05)
        await store.append(run, "t", 0, [event], ttl=0.05)
    await store.renew("kept", "t", ttl=60)
    with pytest.raises(StoreFull):
        await _begin(store, "next", event)
    await anyio.sleep(0.15)
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


async def _begin(store: MemoryStore, run: str, event: bytes) -> None:
    await store.claim(run, "t", b"{}", ttl=60)
    await store.append(run, "t", 0, [event], ttl=60)


@pytest.mark.parametrize(
    "options", [{"max_bytes": "lots"}, {"max_bytes": 0}, {"max_runs": 0}, {"max_runs": True}]
)
def test_store_with_an_invalid_option_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        MemoryStore(**options)
