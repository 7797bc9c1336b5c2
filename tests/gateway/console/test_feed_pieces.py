"""The feed is sent in pieces, so that little of it waits in memory for a viewer that does not read."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message

from streamweir_gateway.console import live_captures
from streamweir_gateway.console.feed import Feed
from streamweir_gateway.console.link_messages import packed_rows
from streamweir_gateway.console.live_captures import LineFollower, LiveCaptures
from streamweir_gateway.console.plots import Plots
from streamweir_gateway.console.row import PackedRow
from streamweir_gateway.console.row_book import RowBook
from streamweir_gateway.console.viewers import Viewers

pytestmark = pytest.mark.anyio
LARGEST = 200 << 10
LINES = [b'{"kind":"read","t":%d,"data":"%s"}\n' % (number, b"x" * 1000) for number in range(2000)]


def book_of(count: int) -> RowBook:
    rows = [
        PackedRow(id=f"a-{number}", request_id="r" * 300, state="ended", began=number, endpoint="/chat")
        for number in range(count)
    ]
    book = RowBook(count)
    book.put_ended(1, packed_rows(rows), len(rows), [])
    return book


class Deaf:
    """The `send` of a viewer that reads nothing until it is told to."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self._sent = asyncio.Event()
        self.pieces: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.pieces.append(message["body"])
            self._sent.set()
            if len(message["body"]) > 100:
                await self.reads.wait()

    def found(self, event: str) -> list[Any]:
        frames = b"".join(self.pieces).decode().split("\n\n")
        return [
            json.loads(frame.partition("data: ")[2])
            for frame in frames
            if frame.startswith(f"event: {event}\n")
        ]

    async def until(self, is_there: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not is_there():
                self._sent.clear()
                await self._sent.wait()


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_rows_for_a_viewer_that_reads_nothing_wait_as_ids() -> None:
    book, deaf = book_of(5000), Deaf()
    viewers = Viewers(book, Plots(0))
    viewer = viewers.add(since=0)
    feeding = asyncio.create_task(Feed(viewers, viewer, dict).run(never, deaf))
    await deaf.until(lambda: len(deaf.pieces) == 2)
    changed = book.get("a-4999")
    assert changed is not None
    viewers.note_row(None, changed)
    await asyncio.sleep(0.3)
    assert sum(map(len, deaf.pieces)) < LARGEST
    deaf.reads.set()
    await deaf.until(lambda: len(deaf.found("row")) == 5000)
    feeding.cancel()
    assert [row["id"] for row in deaf.found("row")] == [f"a-{number}" for number in range(5000)]
    assert max(map(len, deaf.pieces)) < LARGEST


async def test_lines_for_a_viewer_that_reads_nothing_wait_once_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_captures, "MAX_BYTES", 1 << 20)
    viewers, captures, deaf = Viewers(RowBook(1), Plots(0)), LiveCaptures(), Deaf()
    viewer = viewers.add(None)
    taken = asyncio.Event()
    made = SimpleNamespace(feed=lambda _: None, take=lambda: LINES[:500])

    async def pull(_start: int) -> Any:
        if taken.is_set():
            made.take = lambda: LINES[500:]
        return SimpleNamespace(count=0, is_over=taken.is_set())

    follower: LineFollower = captures.follow("a-1", pull, lambda _: made, viewer.news)  # type: ignore[arg-type]
    feeding = asyncio.create_task(Feed(viewers, viewer, dict, follower).run(never, deaf))
    await deaf.until(lambda: len(deaf.pieces) == 2)
    taken.set()
    await asyncio.sleep(0.5)
    assert sum(map(len, deaf.pieces)) < LARGEST
    deaf.reads.set()
    await deaf.until(lambda: deaf.found("line")[-1:] == [json.loads(LINES[-1])])
    feeding.cancel()
    found = [line["t"] for line in deaf.found("line")]
    assert found == sorted({*found}), "each line at most once, in order"
    assert max(map(len, deaf.pieces)) < LARGEST
    captures.leave("a-1", follower)


async def test_rows_for_a_viewer_that_takes_lines_slowly_go_out_between_them() -> None:
    book, deaf, captures = book_of(1), Deaf(), LiveCaptures()
    viewers = Viewers(book, Plots(0))
    viewer = viewers.add(None)
    made = SimpleNamespace(feed=lambda _: None, take=lambda: LINES[:500])

    async def pull(_start: int) -> Any:
        return SimpleNamespace(count=0, is_over=True)

    follower: LineFollower = captures.follow("a-1", pull, lambda _: made, viewer.news)  # type: ignore[arg-type]
    feeding = asyncio.create_task(Feed(viewers, viewer, dict, follower).run(never, deaf))
    await deaf.until(lambda: len(deaf.pieces) == 2)
    changed = book.get("a-0")
    assert changed is not None
    viewers.note_row(None, changed)
    deaf.reads.set()
    await deaf.until(lambda: deaf.found("line")[-1:] == [json.loads(LINES[499])])
    feeding.cancel()
    sent = b"".join(deaf.pieces)
    assert sent.index(b"event: line") < sent.index(b"event: row") < sent.rindex(b"event: line")
    captures.leave("a-1", follower)
