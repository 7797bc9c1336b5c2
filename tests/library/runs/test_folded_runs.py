"""Folding a run again and again costs what is new in it, and gives way to the event loop."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from streamweir.runs.event_log import EventLog
from streamweir.runs.folded_runs import FoldedRuns
from streamweir.runs.found_run import About, FoundRun, about_of
from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.stored_event import Source
from streamweir.translation.translator import Translator

pytestmark = pytest.mark.anyio

NAME = "0" * 32
ABOUT = About(endpoint="/chat", request_id="req_1", started_at=0)


class ReadStore(MemoryStore):
    """A store that keeps the positions that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_at: list[int] = []

    async def read(self, run: str, at: int) -> Sequence[bytes]:
        self.read_at.append(at)
        return await super().read(run, at)


class Writing:
    """A run that is being written."""

    def __init__(self, store: MemoryStore, request_id: str = "req_1") -> None:
        self.store = store
        self.about = msgspec.structs.replace(ABOUT, request_id=request_id)
        self.translator = Translator(speaks="legacy", request_id=request_id)
        self.log = EventLog(lambda: Source("legacy"))
        self.translator.write_to(self.log)
        self.events = 0

    async def claim(self) -> None:
        assert await self.store.claim(NAME, "t", msgspec.json.encode(self.about), ttl=60)

    async def write(self, texts: Sequence[str]) -> FoundRun:
        for text in texts:
            self.translator.feed(b'data: {"type":"token","content":"%b"}\n\n' % text.encode())
        batch = self.log.take()
        assert batch is not None
        await self.store.append(NAME, "t", batch.at, batch.stored, ttl=60, ends=False)
        state = await self.store.look(NAME)
        assert state is not None
        return FoundRun("run_1", NAME, state, about_of(state))


async def test_fold_of_a_run_reads_each_event_once_over_all_polls() -> None:
    store = ReadStore()
    run, folds = Writing(store), FoldedRuns(store)
    await run.claim()
    found = await run.write(["a", "b"])
    assert [(await folds.fold(found))["message"]["content"] for _ in range(3)] == ["ab"] * 3
    found = await run.write(["c"])
    assert (await folds.fold(found))["message"]["content"] == "abc"
    assert [at for at in store.read_at if at < 3] == [0]


async def test_fold_of_an_older_state_has_the_events_of_that_state() -> None:
    store = MemoryStore()
    run, folds = Writing(store), FoldedRuns(store)
    await run.claim()
    older = await run.write(["a"])
    newer = await run.write(["b"])
    assert (await folds.fold(newer))["message"]["content"] == "ab"
    assert (await folds.fold(older))["message"]["content"] == "a"


async def test_fold_is_not_used_for_another_run_of_the_same_name() -> None:
    store = MemoryStore()
    folds = FoldedRuns(store)
    first = Writing(store)
    await first.claim()
    assert (await folds.fold(await first.write(["old"])))["message"]["content"] == "old"
    await store.forget(NAME)
    second = Writing(store, "req_2")
    await second.claim()
    assert (await folds.fold(await second.write(["new"])))["message"]["content"] == "new"


async def test_fold_gives_way_after_each_page() -> None:
    store = ReadStore()
    run, folds = Writing(store), FoldedRuns(store)
    await run.claim()
    found = await run.write([f"word {number}" for number in range(2000)])
    folding = asyncio.ensure_future(folds.fold(found))
    turns = 0
    while not folding.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= len(store.read_at) - 1 > 5
