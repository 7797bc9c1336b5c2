"""One request whose stream is a run: its claim, its first client, and the tasks that both need.

    state     entered when
    ───────   ──────────────────────────────────────────────────────────────────────────────────────────────
    waiting   the object is made. If the client brought the handle, the run is claimed already, and
              `wait_for_stream` counts the client as its reader: the client may leave before there is anything
              to read
    begun     `begin`: the source has an event; the run is claimed at the latest now (or is
              `unclaimed`), and the first client is delivered to in a task
    over      `let_go`: the tasks have ended; a run that was claimed and never begun is deleted

The source of the run is an application below the middleware (`ResumableExchange`) or the content of an
`EventStreamResponse` (`ResponseRun`).

Source: the contract of resumable streams, sections 2 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.asgi.resumption.run_response import RunResponse
from streamweir.codec.registry import process_dialects
from streamweir.errors import WARNINGS, ErrorInfo
from streamweir.http.headers import HeaderList
from streamweir.http.requested_run import about_request, requested_names, run_headers
from streamweir.http.sending import Scope, Send
from streamweir.runs.found_run import About
from streamweir.runs.resumable_run import ResumableRun, Retention, RunSource
from streamweir.runs.service import RunService
from streamweir.runs.store import StoreUnavailable
from streamweir.translation.translator import Translator

__all__ = ["RequestRun"]


class RequestRun:
    """The run of one request, with the client that sent the request.

    Attributes:
        run: the run, in the store and in this process.
        client: the client's side of the request.
        has_begun: `begin` was called.

    Args:
        service: the runs of the store.
        run: the run.
        client: the client's side of the request.
        scope: the ASGI scope of the request.
        retention: how the run is kept.
        path: where runs are read; None: at their own URL only.
        heartbeat: seconds of silence after which the first client is sent a heartbeat; None: never.
        about: the facts that the run was claimed with; None: `begin` claims it.
    """

    def __init__(  # noqa: PLR0913 (all that is known of a run and its request)
        self,
        service: RunService[ResumableRun],
        run: ResumableRun,
        client: ClientRequest,
        scope: Scope,
        *,
        retention: Retention,
        path: str | None,
        heartbeat: float | None,
        about: About | None = None,
    ) -> None:
        self.run: Final = run
        self.client: Final = client
        self.has_begun = False
        self._service: Final = service
        self._scope: Final = scope
        self._retention: Final = retention
        self._path: Final = path
        self._heartbeat: Final = heartbeat
        self._about = about
        self._is_brought: Final = about is not None
        self._is_looked_after = False
        self._tasks: Final[list[asyncio.Task[None]]] = []
        self._waiting: asyncio.Task[None] | None = None
        self._delivery: asyncio.Task[None] | None = None

    def wait_for_stream(self, source: RunSource) -> None:
        """Keep a run alive that was claimed before its application was called."""
        if self._is_brought:
            self._note_kept(source)
            self._waiting = self._start(self._wait_with_client())

    async def begin(
        self,
        source: RunSource,
        translator: Translator,
        *,
        send: Send,
        headers: HeaderList,
        failure: Callable[[], ErrorInfo | None],
        status: int = 200,
        content_type: str = "",
    ) -> None:
        """Claim the run unless it is claimed already, and begin to deliver it to the first client.

        Args:
            source: the source, which ends the run when the run is stopped.
            translator: the translator of the stream; no event has been written to the log of the run yet.
            send: takes the response.
            headers: the headers of the response in addition to those of a stream.
            failure: returns the classified failure of the stream, once there is one.
            status: the status of a response that is a stream.
            content_type: the content type if the frames are the application's; empty: that of the framing.
        """
        self.has_begun = True
        run, find = self.run, self._retention.find
        if self._about is None:
            self._about = self._facts(translator)
            with suppress(StoreUnavailable):  # the run is `unclaimed` then
                await self._service.start(run, self._about)
        if not self._is_looked_after:
            self._note_kept(source)
        if find:
            dialect = process_dialects().to_write(translator.answers)
            names = requested_names(self._scope, self.client.take_body(), dialect)
            await run.note_request(translator.request_id, names)
        is_kept = run.owned.detached is None
        if not is_kept:
            translator.warn(WARNINGS["RESUME_UNAVAILABLE"].message, "RESUME_UNAVAILABLE")
        response = RunResponse(
            run.first_reader(self._about),
            translator.answers,
            translator.framing,
            self.client,
            send,
            headers=[*headers],
            run_headers=run_headers(run.handle, self._path),
            heartbeat=self._heartbeat,
            failure=failure,
            status=status,
            content_type=content_type,
            is_event_source=self._scope["method"] == "GET",
        )
        self._delivery = self._start(response.run())
        if self._waiting is not None:
            self._waiting.cancel()

    async def write(self, *, ends: bool) -> None:
        """Store the events written to the run's log; with `ends`, no event follows."""
        await (self.run.finish() if ends else self.run.send())

    async def until_delivered(self) -> None:
        """Wait until the first client has the whole run, or has left."""
        if self._delivery is not None:
            await self._delivery

    async def let_go(self) -> None:
        """End all tasks; delete a run that was claimed for a response that is no stream."""
        for task in self._tasks:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._service.finished(self.run)
        if self._is_brought and not self.has_begun:
            await self.run.owned.forget()

    def _note_kept(self, source: RunSource) -> None:
        self._is_looked_after = True
        if self.run.owned.detached is None:
            self.client.is_kept = True
            self._start(self.run.look_after(source))

    async def _wait_with_client(self) -> None:
        """Count the client as a reader while there is no event to read yet."""
        owned = self.run.owned
        owned.readers += 1
        try:
            await self.client.watch()
        finally:
            owned.readers -= 1

    def _facts(self, translator: Translator) -> About:
        return about_request(
            self._scope,
            body=self.client.body_digest,
            handle=self.run.handle,
            retention=self._retention,
            endpoint=self._scope["path"],
            protocol=translator.answers,
            framing=translator.framing,
            request_id=translator.request_id,
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task
