"""One client's response: a run from its position on, in its protocol, to the end.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.codec.registry import process_dialects
from streamweir.errors import ErrorInfo
from streamweir.http.folded_response import folded_response
from streamweir.http.headers import Headers, encoded_headers, stream_headers
from streamweir.http.refusals import Refusal
from streamweir.http.sending import Send
from streamweir.runs.feed_writer import open_feed_writer
from streamweir.runs.run_feed import RunFeed
from streamweir.runs.run_reader import RunReader
from streamweir.runs.service import NothingLeft
from streamweir.runs.stored_event import Source, UnreadableRun
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.open_writer import Writer
from streamweir.translation.writer import StreamWriter

__all__ = ["RunResponse"]

logger = logging.getLogger("streamweir")


class RunResponse:
    """Reads a run for one client.

    Attributes:
        is_started: the headers have left.

    Args:
        reader: of the run; closed here.
        protocol: that the client reads.
        framing: likewise.
        headers: of the response, beside those of a stream.
        run_headers: those that name the run; sent if it has a handle.
        send: takes the response.
        heartbeat: the longest silence, in seconds; None: for ever.
        failure: returns the classified failure of the run, once there is one.
        status: of a response that is a stream.
    """

    def __init__(  # noqa: PLR0913 (what there is to know of a run and of a client)
        self,
        reader: RunReader,
        protocol: str,
        framing: str,
        *,
        headers: Headers,
        run_headers: Headers,
        send: Send,
        heartbeat: float | None,
        failure: Callable[[], ErrorInfo | None] = lambda: None,
        status: int = 200,
    ) -> None:
        self.is_started = False
        self.is_open = False
        self._request_id: Final = reader.about.request_id
        self._protocol: Final = protocol
        self._framing: Final = framing
        self._handle = reader.handle
        self._headers: Final = headers
        self._run_headers: Final = run_headers
        self._send: Final = send
        self._heartbeat: Final = heartbeat
        self._failure: Final = failure
        self._status: Final = status
        self._reader: Final = reader
        self._first_of: Final = reader.first_of
        self._feed: Final = RunFeed(reader, self)
        self.sink: Writer = self._writer(Source())

    @property
    def resumes_itself(self) -> bool:
        """The client reads the standard, in which a body without an end means: come back."""
        return self._protocol == "standard" and self.sink.framing != "json"

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
            await self._feed.close_short(reader.cut_short)
        else:
            self.sink.finish()
        await self._finish()

    async def _write(self, data: bytes) -> None:
        if not self.is_started:
            self.is_started = True
            self.sink.begin_body()
            await self._start(self._status)
            if not data:
                await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _finish(self) -> None:
        sink, data = self.sink, self.sink.take()
        if not self.is_started:
            if self._reader.position is not None and not data and self._reader.cut_short is None:
                raise NothingLeft
            status, extra = self._status, Headers()
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
        named = self._run_headers if self._handle is not None else ()
        own = [*encoded_headers(self.sink.headers), *self._headers, *named, *extra]
        names = {name for name, _ in own}
        headers = stream_headers(self.sink.media_type, self._request_id)
        headers = [*(header for header in headers if header[0] not in names), *own]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def _writer(self, source: Source) -> Writer:
        return open_feed_writer(
            source,
            answers=self._protocol,
            framing=self._framing,
            request_id=self._request_id,
            dialects=process_dialects(),
            handle=self._handle,
            other_options={},
        )
