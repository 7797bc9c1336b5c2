"""The audience of a run that is kept: what it says goes to the store before it goes to anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from streamweir.codec.base import Options
from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.runs.event_log import Batch, EventLog
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_index import RunIndex
from streamweir.runs.stored_event import Source
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["RunAudience"]


class RunAudience:
    """An `Audience` that stores.

    Attributes:
        response: of the upstream, whose headers the first client may have.

    Args:
        owned: takes what is stored.
        index: lets the run be found; None where runs are not.
        names: what the first client calls what it asks.
    """

    def __init__(
        self, owned: OwnedRun, index: RunIndex | None = None, *, names: ClientNames = NO_NAMES
    ) -> None:
        self._names = names
        self._index = index
        self.response: UpstreamResponse | None = None
        self._owned = owned
        self._log: EventLog
        self._unsent: Batch | None = None

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> EventSink:
        """Return what takes the events of another attempt; see `Audience`."""
        del write_timeout  # who does not read does not hold up the run
        self._log = EventLog(
            lambda: Source("auto" if reader.dialect is None else reader.dialect.name, options, self._names)
        )
        return self._log

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Keep the response for the client that the run is started for."""
        self.response = response

    def send_at_once(self, now: float) -> bool:
        """Store what was written, if that needs no waiting here."""
        del now
        batch = self._log.take() if self._index is None else self._taken()
        if batch is None:
            return True
        if self._index is not None and self._has_to_note(batch):
            self._unsent = batch
            return False
        return self._owned.push(batch)

    @property
    def has_unsent(self) -> bool:
        """Something waits for `send`."""
        return self._unsent is not None or not self._owned.has_room

    async def send(self) -> None:
        """Store what has been written, and hand it on."""
        batch = self._taken()
        if batch is not None:
            await self._note(batch)
            self._owned.push(batch)
        await self._owned.until_room()

    def settle(self, sink: EventSink) -> None:
        """Let what was written to `sink` be the run, of all that were opened."""
        self._log = cast("EventLog", sink)

    async def finish(self) -> None:
        """Store and hand on what is left; then the run is over."""
        batch = self._taken()
        if batch is None:
            await self._owned.until_stored()
            self._owned.finish()
            return
        await self._note(batch)
        self._owned.push(batch, ends=True)
        await self._owned.until_stored()

    async def _note(self, batch: Batch) -> None:
        if self._has_to_note(batch):
            assert self._index is not None
            await self._index.note(batch)

    def _has_to_note(self, batch: Batch) -> bool:
        return self._index is not None and self._owned.detached is None and self._index.looks_at(batch)

    def _taken(self) -> Batch | None:
        before, self._unsent = self._unsent, None
        batch = self._log.take()
        if before is None:
            return batch
        return before if batch is None else Batch.joined([before, batch])
