"""A run on its way to one of its readers, for every shell.

    state       entered by                              what is sent
    ─────────   ─────────────────────────────────────   ────────────────────────────────────────────────────
    unopened    construction                            nothing, or the headers alone (`begin`)
    open        `open`, by the first event of the run   each batch once it is stored
    streaming   the first bytes of the body             the same; a batch of this process in the call that
                                                        stores it, if the server can send without waiting
    ended       the end of the run                      the rest
    cut short   `cut_short`                             in the standard protocol nothing, so that the client
                                                        reads on elsewhere; in others an error and their end

The writer is opened with the first event, which holds the `Source` of the run.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import anyio.lowlevel

from streamweir.codec.dialects import Dialects
from streamweir.delivery.delivery import Delivery
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.runs.event_log import Batch
from streamweir.runs.feed_writer import open_feed_writer
from streamweir.runs.run_feed import RunFeed
from streamweir.runs.run_reader import RunReader
from streamweir.runs.service import NothingLeft, RunGone
from streamweir.runs.stored_event import Source, UnreadableRun
from streamweir.translation.open_writer import Writer
from streamweir.translation.parts import TURN_SECONDS
from streamweir.translation.verbatim.copied_writer import CopiedWriter
from streamweir.translation.writer import StreamWriter

__all__ = ["StoredRunDelivery"]

logger = logging.getLogger("streamweir")


class StoredRunDelivery(Delivery):
    """Delivers a run. A subclass calls `_read_from` once, and inherits from the delivery class of its shell.

    Attributes:
        reader: the reader of the run.
        is_open: `open` was called.
        sends_at_once: batches are offered to the server in the call that stores them.
    """

    reader: RunReader
    is_open: bool
    sends_at_once = True

    def _read_from(  # noqa: PLR0913 (what there is to know of a run and of a client)
        self,
        reader: RunReader,
        *,
        dialects: Dialects,
        protocol: str,
        framing: str,
        headers: Headers,
        run_headers: Headers,
        source: Source = Source(),  # noqa: B008 (it is frozen)
        options: Mapping[str, Mapping[str, Any]] | None = None,
        follows: bool = False,
        is_event_source: bool = False,
    ) -> None:
        """Set the run to deliver.

        Args:
            reader: the reader of the run.
            dialects: the dialects of the process.
            protocol: the protocol of the client.
            framing: the framing of the client.
            headers: the headers of the response in addition to those of a stream.
            run_headers: the headers that name the run; sent if it has a handle.
            source: the source of the run, as far as it is known before the first event.
            options: the protocol options to use if those of the run are invalid in this process.
            follows: the client takes the framing of the upstream, until the headers are sent.
            is_event_source: copied frames get ids too, for a client that sends the last id back.
        """
        self._is_event_source = is_event_source
        self.reader, self.is_open = reader, False
        self._feed = RunFeed(reader, self)
        self._protocol, self._framing = protocol, framing
        self._dialects, self._other_options = dialects, options or {}
        self._follows = follows
        self._own_headers = headers
        self._run_headers = run_headers if reader.handle is not None else []
        self._source = source
        self._set_writer(self._writer(source))

    @property
    def resumes_itself(self) -> bool:
        """Whether the client itself resumes after a body without an end: true in the standard protocol."""
        return self._protocol == "standard" and self.sink.framing != "json"

    def open(self, source: Source) -> None:
        """Open the writer for a run with this source; called at the first event."""
        if source != self._source:
            self._set_writer(self._writer(source))
        self.is_open = True

    async def begin(self) -> None:
        """Send the headers, unless the status depends on the end of the run.

        Raises:
            OSError: the client has left.
        """
        if self.sink.framing != "json" and not self.sink.reports_by_status:
            self.sink.begin_body()
            await super().begin()

    async def deliver(self) -> None:
        """Send the run to its end.

        Raises:
            NothingLeft: the run has ended and the client has all events; nothing was sent.
            RunGone: the run cannot be read; nothing was sent.
            OSError: the client has left.
        """
        reader, turned = self.reader, time.monotonic()
        while (batch := await reader.next(self._send_batch if self._is_streaming else None)) is not None:
            if time.monotonic() - turned > TURN_SECONDS:  # neither store nor client may have waited
                await anyio.lowlevel.checkpoint()
                turned = time.monotonic()
            try:
                self._feed.write(batch)
            except UnreadableRun:
                logger.warning("a stored run cannot be read", extra={"request_id": reader.about.request_id})
                if not self.is_started:
                    raise RunGone from None
                reader.cut_short = "RUN_LOST"
                break
            if not reader.has_last:
                await self.send()
        if reader.cut_short is None:
            await self._end()
        else:
            await self.cut_short(reader.cut_short)

    async def cut_short(self, code: str) -> None:
        """End the body before the run has ended, because of `code`."""
        await self._feed.close_short(code)
        await self.finish(self._feed.error)

    def _failure(self) -> ErrorInfo | None:
        """Return the classified failure of the run; None if it is not known in this process."""
        return None

    async def _end(self) -> None:
        reader, sink = self.reader, self.sink
        sink.finish()
        if reader.position is not None and not self._has_something():
            raise NothingLeft
        is_failure = isinstance(sink, StreamWriter) and sink.is_failure
        if is_failure and not self.is_started and reader.first_of is not None:
            await reader.first_of.forget()  # the client gets a status in place of a stream
            self._run_headers = []
        await self.finish(self._feed.error, self._failure())

    @property
    def _is_streaming(self) -> bool:
        return self.sends_at_once and self.is_open and self.is_started and not self._unsent

    def _send_batch(self, batch: Batch) -> bool:
        self._feed.write(batch)
        return self.send_at_once(time.monotonic())

    def _has_something(self) -> bool:
        if not self.is_started and not self._unsent:
            self._unsent = self.sink.take()
        return self.is_started or bool(self._unsent)

    def _set_writer(self, writer: Writer) -> None:
        self.sink = writer
        if self.is_started:
            writer.begin_body()

    def _writer(self, source: Source) -> Writer:
        position = self.reader.position
        writer = open_feed_writer(
            source,
            answers=self._protocol,
            framing=self._framing,
            request_id=self.reader.about.request_id,
            dialects=self._dialects,
            handle=self.reader.handle,
            other_options=self._other_options,
            is_whole=position is None or not (position.next_event or position.frames),
            follows=self._follows and not self.is_started,
        )
        if self._is_event_source and isinstance(writer, CopiedWriter):
            writer.frames_of = self.reader.handle
        return writer

    def _headers(self) -> Headers:
        own = [*self._own_headers, *self._run_headers]
        names = {name for name, _ in own}
        return [*(header for header in super()._headers() if header[0] not in names), *own]
