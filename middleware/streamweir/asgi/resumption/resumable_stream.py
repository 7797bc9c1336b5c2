"""The stream of an application whose events go to a run, and from there to the readers of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from streamweir.asgi.normalized_stream import NormalizedStream
from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.asgi.resumption.run_writing import RunWriting
from streamweir.delivery.client_port import ClientPort
from streamweir.emit.application_stream import ApplicationStream
from streamweir.errors import ErrorInfo
from streamweir.failures.ending import Ending
from streamweir.http.headers import HeaderList
from streamweir.http.sending import Message

__all__ = ["ResumableStream"]


class ResumableStream(RunWriting, NormalizedStream):
    """The response of one request, whose events become those of a run. It sends no bytes itself.

    Args:
        events: the events of this stream.
        client: the client, which gets its bytes by reading the run.
        run: stores the events.
        begin: begins the run; awaited once, before the first event.
        headers: the headers of the application's response.
        options: those of `NormalizedStream`.
    """

    def __init__(
        self,
        events: ApplicationStream,
        client: ClientPort,
        run: RequestRun,
        *,
        begin: Callable[[], Awaitable[None]],
        headers: Sequence[tuple[bytes, bytes]],
        **options: Any,
    ) -> None:
        super().__init__(events, client, _send_nothing, headers=headers, **options)
        self.request_run = run
        self._begin: Final = begin
        self._begun = False

    @property
    def client_headers(self) -> HeaderList:
        """The application's headers, for the first client."""
        return self._kept

    @property
    def passes_failures(self) -> bool:
        """See `NormalizedStream`; False for a begun run: it ends properly, since its client may come back."""
        return not self._begun and super().passes_failures

    def _ending(self) -> Ending:
        return "end"

    @property
    def failure(self) -> ErrorInfo | None:
        """The classified failure of the stream; None if it has not failed."""
        return self._failure

    async def take(self, message: Message) -> None:
        """Begin the run if it has not begun; then do the same as `NormalizedStream`."""
        await self._begin_once()
        await super().take(message)

    async def take_body(self, pieces: Iterable[bytes], *, more: bool) -> None:
        """Begin the run if it has not begun; then do the same as `NormalizedStream`."""
        await self._begin_once()
        await super().take_body(pieces, more=more)

    async def end(self, how: Callable[[ApplicationStream], None]) -> None:
        """Begin the run if it has not begun; then do the same as `NormalizedStream`."""
        await self._begin_once()
        await super().end(how)

    def abandon(self) -> None:
        """Drop all later messages of the application; see `RunSource`."""
        self.is_over = True
        self.request_run.run.owned.finish()
        self._behind.begin(self.translator.reason)

    async def _begin_once(self) -> None:
        if self._begun:
            return
        async with self._lock:
            if not self._begun:
                await self._begin()
                self._begun = True


async def _send_nothing(message: Message) -> None:
    del message
