"""The stream of an application whose events go to a run, and from there to the readers of the run."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from streamweir.asgi.normalized_stream import NormalizedStream
from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ErrorInfo
from streamweir.http.headers import HeaderList
from streamweir.http.sending import Message

__all__ = ["ResumableStream"]


class ResumableStream(NormalizedStream):
    """The response of one request, whose events are those of a run. Nothing is sent from here.

    Args:
        events: of this stream.
        run: stores the events.
        begin: begins the run; awaited once, before the first event.
        headers: the application's.
        options: those of `NormalizedStream`.
    """

    def __init__(
        self,
        events: ApplicationStream,
        run: RequestRun,
        *,
        begin: Callable[[], Awaitable[None]],
        headers: Sequence[tuple[bytes, bytes]],
        **options: Any,
    ) -> None:
        super().__init__(events, _send_nothing, headers=headers, **options)
        self._run: Final = run
        self._begin: Final = begin
        self._begun = False

    @property
    def client_headers(self) -> HeaderList:
        """The application's headers, for the client that the run was started for."""
        return self._kept

    @property
    def failure(self) -> ErrorInfo | None:
        """Why it failed, as it was classified."""
        return self._failure

    async def take(self, message: Message, *, is_decoded: bool = False) -> None:
        """Take what the application sends; it is dropped if the stream is over."""
        await self._begin_once()
        await super().take(message, is_decoded=is_decoded)

    async def end(self, how: Callable[[ApplicationStream], bytes]) -> None:
        """End the stream the way that `how` does, if it is not over."""
        await self._begin_once()
        await super().end(how)

    async def beat(self) -> None:
        """Do nothing: each reader has heartbeats of its own."""
        self.clock.last_write = time.monotonic()

    def abandon(self) -> None:
        """Drop all that the application still says."""
        self.is_over = True
        self.over.set()
        self._run.run.owned.finish()
        self._on_over()

    async def _begin_once(self) -> None:
        if self._begun:
            return
        async with self._turn:
            if not self._begun:
                await self._begin()
                self._begun = True

    async def _write(self, data: bytes) -> None:
        """Store what has been said; `data` is nothing, for nobody is written to here."""
        del data
        ended = self.translator.ended
        if ended:
            self.is_over = True
            self.over.set()
            self._report_hint()
        await self._run.write(ends=ended)
        self.clock.last_write = time.monotonic()
        if ended:
            self._on_over()


async def _send_nothing(message: Message) -> None:
    del message
