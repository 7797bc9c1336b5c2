"""What one client gets of a run that is kept: from its position on, in its protocol, to the end.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from starlette.types import Receive, Scope, Send

from streamweir.errors import ErrorInfo, error_info
from streamweir.events import Error, Event, SessionEnd, Stamp, Warning
from streamweir.runs.closing import lost_end
from streamweir.runs.event_log import Batch, LogItem
from streamweir.runs.run_reader import About, RunReader, all_lines
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir.runs.stored_event import EventReader, UnreadableRun
from streamweir.translation.items import TextRun
from streamweir.translation.run_writer import RunWriter
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.handles import Position
from streamweir_gateway.resumption.kept_run import KeptRun
from streamweir_gateway.resumption.stored_delivery import StoredDelivery
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.response_writer import ClientGone, Headers
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["NothingLeft", "RunDelivery"]

_DETACHED: Final = {
    "limit": Warning(
        message="This answer is too long to be resumed.", message_code="RESUME_LIMIT", for_users=True
    ),
    "store": Warning(
        message="This answer can no longer be resumed.", message_code="RESUME_LOST", for_users=True
    ),
}


class NothingLeft(Exception):  # noqa: N818 - it says what is the case
    """The run is over, and its client has all of it."""


class RunDelivery:
    """Reads a run for one client. It is made in the task that runs it.

    Attributes:
        supervisor: ends it.

    Args:
        store: keeps the run.
        name: of the run in the store.
        handle: of the run.
        about: the run.
        endpoint: that it is a run of.
        incoming: the client's request, with the run's request id.
        headers: of the response, beside those of a stream.
        scope: of the client's request.
        send: takes the response.
        kept: the run, where this process makes it.
        is_first: it is made for this client.
        position: how far the client is; None: it begins at the start.
    """

    def __init__(  # noqa: PLR0913 (what there is to know of a run and of a client)
        self,
        store: RunStore,
        name: str,
        handle: str,
        about: About,
        *,
        endpoint: Endpoint,
        incoming: Incoming,
        headers: Headers,
        scope: Scope,
        send: Send,
        kept: KeptRun | None = None,
        is_first: bool = False,
        position: Position | None = None,
    ) -> None:
        self.supervisor: Final = RunSupervisor(0.0)
        self._store: Final = store
        self._name: Final = name
        self._about: Final = about
        self._kept: Final = kept
        self._is_first: Final = is_first
        self._position: Final = position or Position()
        self._resumes: Final = position is not None
        owned = None if kept is None else kept.owned
        self._reader: Final = RunReader(store, name, about, owned=owned, is_first=is_first)
        self._events: Final = EventReader()
        self._has_warned = False
        self._error: ErrorInfo | None = None
        self._delivery: Final = StoredDelivery(
            endpoint,
            incoming,
            handle=handle,
            headers=headers,
            send=send,
            connection=ClientConnection.of(scope),
            run=self.supervisor,
        )

    async def run(self, receive: Receive, *, is_running: bool) -> None:
        """Deliver the run to its end.

        Args:
            receive: reports that the client is gone.
            is_running: the run goes on, so that there is something to wait for.

        Raises:
            NothingLeft: the run is over and the client has all of it; nothing has been sent.
            Refusal: the run was not begun at all; nothing has been sent.
        """
        client = self._delivery.supervisor
        try:
            client.watch(receive)
            if self._kept is not None and self._kept.audience.response is not None:
                self._delivery.forward_headers(self._kept.audience.response)
            await self._interruptible(is_running=is_running)
        except ClientGone:
            client.drop("client_gone")
        finally:
            self._reader.close()
            self.supervisor.close()
            client.close()
        if client.dropped == "slow_client":
            await self._delivery.cut_off(receive)

    @property
    def has_lost_client(self) -> bool:
        """The client left before the end."""
        return self._delivery.supervisor.dropped is not None

    @property
    def has_seized(self) -> bool:
        """The run was nobody's, and this reader ended it."""
        return self._reader.has_seized

    def note_in(self, record: RequestRecord) -> None:
        """Complete `record` with what the client was sent."""
        self._delivery.note_in(record, events=max(0, self._reader.at - self._position.next_event))
        dropped = self._delivery.supervisor.dropped
        record.reason = dropped or record.reason

    async def _interruptible(self, *, is_running: bool) -> None:
        """Deliver; a stop of the gateway ends the run, or the reading of one that is another's."""
        supervisor = self.supervisor
        begins = is_running and not self._is_first
        while True:
            try:
                with supervisor.waiting:
                    if begins:
                        await self._delivery.begin()
                        begins = False
                    await self._deliver()
                    return
            except Interrupted:
                if supervisor.is_over:
                    raise ClientGone from None
                if self._kept is None:
                    await self._finish_short("GATEWAY_DRAINING")
                    return

    async def _deliver(self) -> None:
        delivery, reader = self._delivery, self._reader
        while (batch := await reader.next()) is not None:
            try:
                self._write(batch)
            except UnreadableRun:
                reader.cut_short = "RUN_LOST"
                break
            if self._kept is not None and self._is_first and self._kept.audience.response is not None:
                delivery.forward_headers(self._kept.audience.response)
            if self._kept is None or not self._is_over():
                await delivery.send()
            if self.supervisor.is_over:
                raise ClientGone
        if reader.cut_short is not None:
            await self._finish_short(reader.cut_short)
            return
        if self._kept is not None and self._is_first and self._kept.refusal is not None:
            raise self._kept.refusal
        if self._resumes and not delivery.has_something:
            raise NothingLeft
        failure = None if self._kept is None else self._kept.failure
        await delivery.finish(self._error, failure)

    def _is_over(self) -> bool:
        """The last event has been written: it leaves with the end of the body."""
        kept = self._kept
        return kept is not None and kept.owned.ended and self._reader.at >= kept.owned.events

    def _write(self, batch: Batch) -> None:
        for stamp, item in self._items(batch):
            self._write_item(stamp, item)

    def _items(self, batch: Batch) -> Iterator[LogItem]:
        """Yield what is in a batch, and begin to write once it is known what the run is read with."""
        request_id = self._about.request_id
        if batch.items is not None and self._delivery.is_open:
            yield from batch.items
            return
        at = batch.at
        for timestamp, item in self._events.items(batch.stored):
            if not self._delivery.is_open:
                self._delivery.open(self._events.source)
            yield LogItem(Stamp(request_id, at, timestamp), item)
            at += len(item.texts) if isinstance(item, TextRun) else 1

    def _write_item(self, stamp: Stamp, item: Event | TextRun) -> None:
        sink, first = self._delivery.sink, self._position.next_event
        self._warn_of_detachment(stamp)
        if not isinstance(item, TextRun):
            if isinstance(item, Error) and item.terminal:
                self._error = _info_of(item)
            if isinstance(sink, RunWriter) and stamp.sequence == first:
                sink.skips = self._position.frames or 0
            sink.write(item, stamp)
            self._forget_what_is_known(stamp.sequence)
            return
        known = max(0, min(len(item.texts), first - stamp.sequence))
        if known:
            sink.write_run(item.event, item.texts[:known], stamp)
            sink.take()
        if rest := item.texts[known:]:
            at = Stamp(stamp.request_id, stamp.sequence + known, stamp.timestamp)
            if isinstance(sink, RunWriter) and at.sequence == first and self._position.frames:
                sink.skips = self._position.frames
                sink.write(item.event.with_text(rest[0]), at)
                rest = rest[1:]
                at = Stamp(at.request_id, at.sequence + 1, at.timestamp)
            if rest:
                sink.write_run(item.event, rest, at)

    def _forget_what_is_known(self, sequence: int) -> None:
        """The client has this event already: it was written for what follows from it."""
        if sequence < self._position.next_event:
            self._delivery.sink.take()

    def _warn_of_detachment(self, stamp: Stamp) -> None:
        """Say once, to the client that the run was started for, that it cannot be resumed any longer."""
        owned = None if self._kept is None else self._kept.owned
        if owned is None or not self._is_first or self._has_warned:
            return
        if owned.detached not in _DETACHED or stamp.sequence < owned.events:
            return
        self._has_warned = True
        sink, warning = self._delivery.sink, _DETACHED[owned.detached]
        if isinstance(sink, RunWriter):
            sink.insert(warning, stamp)
            sink.run = None
        else:
            sink.write(warning, stamp)

    async def _finish_short(self, code: str) -> None:
        """End a body that is not whole: in the standard without an end, so that the client resumes."""
        delivery = self._delivery
        if not delivery.is_open:
            delivery.open(self._events.source)
        sink = delivery.sink
        if not delivery.resumes_itself:
            if isinstance(sink, RunWriter):
                sink.run = None
            at = self._reader.at
            for event in await self._closing(code):
                sink.write(event, Stamp(self._about.request_id, at, _now()))
                at += 1
            sink.finish()
            self._error = error_info(code)
        await delivery.finish(self._error, None)

    async def _closing(self, code: str) -> list[Event]:
        """Return what ends this client's stream in a protocol that has an end for everything."""
        lines: list[bytes] = []
        if code != "STORE_UNAVAILABLE":
            try:
                lines = [*await all_lines(self._store, self._name)][: self._reader.at]
            except StoreUnavailable:
                lines = []
        if lines:
            try:
                ending = lost_end(lines, request_id=self._about.request_id, code=code)
                return [event for _, item in EventReader().items(ending) for event in _single(item)]
            except UnreadableRun:
                lines = []
        info = error_info(code)
        error = Error(
            error_type=info.error_type,
            code=code,
            message=info.message,
            recoverable=info.recoverable,
            reason="lost",
        )
        return [error, SessionEnd(status="error", reason=info.reason)]


def _single(item: Event | TextRun) -> Iterator[Event]:
    if isinstance(item, TextRun):
        yield from item
    else:
        yield item


def _info_of(error: Error) -> ErrorInfo:
    """Return a stored failure as it was classified, as far as its event says it."""
    try:
        known = error_info(error.code)
    except KeyError:
        known = error_info("UPSTREAM_ERROR")
    return ErrorInfo(
        code=error.code,
        error_type=error.error_type,
        message=error.message,
        recoverable=error.recoverable,
        status=known.status,
        reason=known.reason,
        retry_after_ms=error.retry_after_ms,
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
