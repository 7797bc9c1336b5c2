"""The viewers of the console's feed, each with the rows that have changed since the last frames sent to it.

For a viewer that reads slowly or not at all, only the ids of changed rows are kept; the next frames show the
present state of these rows. So a slow viewer delays neither a stream nor another viewer.

Source: the console contract, section 1 (`feed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from streamweir_gateway.console.plots import Plots
from streamweir_gateway.console.row import Row
from streamweir_gateway.console.row_book import RowBook

__all__ = ["MAX_VIEWERS", "Viewer", "Viewers", "sse"]

MAX_VIEWERS: Final = 200
"""The most viewers at a time. Further viewers are refused."""
_MAX_FRAMES: Final = 256
"""The most encoded rows that are cached for all viewers."""
_MOST_ROWS: Final = 64
"""The most rows in one piece. Only one piece waits in memory for a viewer that does not read."""


def sse(event: str, data: bytes, event_id: int | None = None) -> bytes:
    """Return an SSE event; `data` is one line."""
    head = b"event: %s\n" % event.encode()
    if event_id is not None:
        head += b"id: %d\n" % event_id
    return b"%sdata: %s\n\n" % (head, data)


class Viewer:
    """One viewer of the feed.

    Attributes:
        rows: the ids of rows that have changed, in the order of their changes.
        news: set if there is anything to send.
        has_plots: whether a second is over, so that its plots have to be sent.
        has_info: whether the configuration has changed, so that its facts have to be sent.
    """

    __slots__ = ("has_info", "has_plots", "news", "rows")

    def __init__(self) -> None:
        self.rows: dict[str, None] = {}
        self.news = asyncio.Event()
        self.has_plots = False
        self.has_info = False

    def note_row(self, row_id: str) -> None:
        """Note that a row has changed."""
        self.rows.pop(row_id, None)
        self.rows[row_id] = None
        self.news.set()


class Viewers:
    """All viewers of the feed.

    Args:
        book: the book of the rows.
        plots: the plots of the rows.
    """

    def __init__(self, book: RowBook, plots: Plots) -> None:
        self._book = book
        self._plots = plots
        self._viewers: set[Viewer] = set()
        self._frames: dict[int, bytes] = {}
        """The encoded SSE events of rows, by the `seq` of the row."""
        self._recent: bytes = b""

    def __len__(self) -> int:
        return len(self._viewers)

    def add(self, since: int | None) -> Viewer:
        """Add a viewer. The viewer gets the rows that changed after number `since`; None: no earlier rows."""
        viewer = Viewer()
        if since is not None:
            for row in self._book.changed_since(since):
                viewer.note_row(row.id)
        self._viewers.add(viewer)
        return viewer

    def remove(self, viewer: Viewer) -> None:
        """Forget a viewer."""
        self._viewers.discard(viewer)

    def note_row(self, _before: Row | None, row: Row) -> None:
        """Note that a row has changed, for all viewers."""
        for viewer in self._viewers:
            viewer.note_row(row.id)

    def note_second(self) -> None:
        """Note that a second is over."""
        if self._viewers:
            self._recent = sse("plots", msgspec.json.encode(self._plots.recent()))
        for viewer in self._viewers:
            viewer.has_plots = True
            viewer.news.set()

    def note_info(self) -> None:
        """Note that the configuration has changed."""
        for viewer in self._viewers:
            viewer.has_info = True
            viewer.news.set()

    def frames(self, viewer: Viewer, info: Callable[[], dict[str, Any]]) -> Iterator[bytes]:
        """Yield SSE events with all changes that the viewer has not been sent yet, several in one piece.

        A row that changes while an earlier piece is being sent is yielded once, as it is in the end.
        """
        viewer.news.clear()
        while viewer.rows:
            row_ids = [*islice(viewer.rows, _MOST_ROWS)]
            for row_id in row_ids:
                del viewer.rows[row_id]
            rows = map(self._book.get, row_ids)
            yield b"".join(self._frame(row) for row in rows if row is not None)
        if viewer.has_plots:
            viewer.has_plots = False
            yield self._recent
        if viewer.has_info:
            viewer.has_info = False
            yield sse("info", msgspec.json.encode(info()))

    def _frame(self, row: Row) -> bytes:
        frame = self._frames.get(row.seq)
        if frame is None:
            if len(self._frames) >= _MAX_FRAMES:
                self._frames.clear()
            frame = self._frames[row.seq] = sse("row", msgspec.json.encode(row), row.seq)
        return frame
