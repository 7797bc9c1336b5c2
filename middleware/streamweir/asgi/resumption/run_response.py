"""One client's response: a run from its position on, in its protocol, to the end.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.codec.registry import process_dialects
from streamweir.errors import ErrorInfo
from streamweir.http.folded_response import folded_response
from streamweir.http.found_run import NothingLeft
from streamweir.http.headers import Headers, encoded_headers, stream_headers
from streamweir.http.refusals import Refusal
from streamweir.http.sending import Send
from streamweir.runs.feed_writer import open_feed_writer
from streamweir.runs.handles import Position
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_feed import RunFeed
from streamweir.runs.run_reader import About, RunReader
from streamweir.runs.store import RunStore
from streamweir.runs.stored_event import Source, UnreadableRun
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.open_writer import Writer
from streamweir.translation.writer import StreamWriter

__all__ = ["RunResponse", "Wanted"]

logger = logging.getLogger("streamweir")


class Wanted(NamedTuple):
    """What a client wants of a run.

    Attributes:
        protocol: that it reads.
        framing: likewise.
        position: how far it is; None: it wants the whole.
    """

    protocol: str
    framing: str
    position: Position | None = None


class RunResponse:
    """Reads a run for one client.

    Attributes:
        is_started: the headers have left.

    Args:
        store: keeps the run.
        name: of the run in the store.
        about: the run.
        wanted: what the client wants of it.
        handle: of the run; None: it is not kept, and has no ids.
        headers: returns those of the response beside those of a stream, with the run's if it has a handle.
        send: takes the response.
        heartbeat: the longest silence, in seconds; None: for ever.
        owned: the run, where this process makes it.
        is_first: it is made for this client.
        failure: returns why it failed, as it was classified.
    """

    def __init__(  # noqa: PLR0913 (what there is to know of a run and of a client)
        self,
        store: RunStore,
        name: str,
        about: About,
        wanted: Wanted,
        *,
        handle: str | None,
        headers: Callable[[str | None], Headers],
        send: Send,
        heartbeat: float | None,
        owned: OwnedRun | None = None,
        is_first: bool = False,
        failure: Callable[[], ErrorInfo | None] = lambda: None,
    ) -> None:
        self.is_started = False
        self.is_open = False
        self._request_id: Final = about.request_id
        self._wanted: Final = wanted
        self._handle = handle
        self._headers: Final = headers
        self._send: Final = send
        self._heartbeat: Final = heartbeat
        self._failure: Final = failure
        self._reader: Final = RunReader(store, name, about, owned=owned, is_first=is_first)
        self._first_of: Final = owned if is_first else None
        self._feed: Final = RunFeed(
            store,
            name,
            about,
            self,
            position=wanted.position or Position(),
            first_of=self._first_of,
        )
        self.sink: Writer = self._writer(Source())

    @property
    def resumes_itself(self) -> bool:
        """The client reads the standard, in which a body without an end means: come back."""
        return self._wanted.protocol == "standard" and self.sink.framing != "json"

    def open(self, source: Source) -> None:
        """Write what comes as a run has to be written that is read with `source`."""
        self.sink = self._writer(source)
        self.is_open = True
        if self.is_started:
            self.sink.begin_body()

    async def deliver(self, client: ClientRequest, *, at_once: bool = False) -> None:
        """Send the run to its end, or until the client leaves.

        Args:
            client: that gets it.
            at_once: the headers leave before there is anything to follow them.

        Raises:
            NothingLeft: the run is over and the client has all of it; nothing has been sent.
            Refusal: the run cannot be read; nothing has been sent.
        """
        watching = asyncio.create_task(client.watch())
        try:
            if at_once and self.sink.framing != "json" and not self.sink.reports_by_status:
                await self._write(b"")
            await self._deliver(watching)
        except OSError:  # the server says so that the client has left
            client.left.set()
        finally:
            watching.cancel()
            self._reader.close()

    async def _deliver(self, watching: asyncio.Task[None]) -> None:
        reader = self._reader
        while True:
            batch = asyncio.ensure_future(reader.next())
            try:
                while not batch.done():
                    await asyncio.wait(
                        (batch, watching), timeout=self._heartbeat, return_when=asyncio.FIRST_COMPLETED
                    )
                    if watching.done():
                        return
                    if not batch.done() and (beat := self.sink.heartbeat()):
                        await self._write(beat)
            finally:
                batch.cancel()
            if (found := batch.result()) is None:
                break
            try:
                self._feed.write(found)
            except UnreadableRun:
                logger.warning("a stored run cannot be read", extra={"request_id": self._request_id})
                if not self.is_started:
                    raise Refusal("RUN_GONE") from None
                reader.cut_short = "RUN_LOST"
                break
            if not reader.has_last and (data := self.sink.take()):
                await self._write(data)
        if reader.cut_short is not None:
            await self._feed.close_short(reader.cut_short, reader.at)
        else:
            self.sink.finish()
        await self._finish()

    async def _write(self, data: bytes) -> None:
        if not self.is_started:
            self.is_started = True
            self.sink.begin_body()
            await self._start(200)
            if not data:
                await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _finish(self) -> None:
        sink, data = self.sink, self.sink.take()
        if not self.is_started:
            if self._wanted.position is not None and not data and self._reader.cut_short is None:
                raise NothingLeft
            status, extra = 200, Headers()
            if isinstance(sink, StreamWriter) and sink.is_failure and self._first_of is not None:
                await self._first_of.forget()  # the client is given a status in place of a stream
                self._handle = None
            if isinstance(sink, FoldedWriter) or sink.is_failure:
                status, extra = folded_response(
                    data,
                    self._feed.error,
                    has_answer=isinstance(sink, FoldedWriter) and sink.has_answer,
                    failure=self._failure(),
                    own_form=sink.reports_by_status,
                )
            self.is_started = True
            await self._start(status, extra)
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def _start(self, status: int, extra: Sequence[tuple[bytes, bytes]] = ()) -> None:
        named = self._headers(self._handle)
        own = [*encoded_headers(self.sink.headers), *named, *extra]
        names = {name for name, _ in own}
        headers = stream_headers(self.sink.media_type, self._request_id)
        headers = [*(header for header in headers if header[0] not in names), *own]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def _writer(self, source: Source) -> Writer:
        return open_feed_writer(
            source,
            answers=self._wanted.protocol,
            framing=self._wanted.framing,
            request_id=self._request_id,
            dialects=process_dialects(),
            handle=self._handle,
            other_options={},
        )
