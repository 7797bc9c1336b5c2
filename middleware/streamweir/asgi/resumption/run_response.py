"""The response of one reader of a run, in an application.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from streamweir.asgi.response_delivery import ResponseDelivery
from streamweir.asgi.resumption.client_request import ClientRequest
from streamweir.codec.registry import process_dialects
from streamweir.delivery.asgi_client import AsgiClient
from streamweir.delivery.scheduler import LoopScheduler
from streamweir.delivery.stored_run import StoredRunDelivery
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers
from streamweir.http.sending import Send
from streamweir.runs.run_reader import RunReader
from streamweir.translation.clock import Due, StreamClock

__all__ = ["RunResponse"]


class RunResponse(StoredRunDelivery, ResponseDelivery):
    """Delivers a run to one client; it is also the `Source` of its own supervisor.

    Args:
        reader: the reader of the run; closed here.
        protocol: the protocol of the client.
        framing: the framing of the client.
        client: the client's side of its request.
        send: takes the response.
        headers: the headers of the response in addition to those of a stream.
        run_headers: the headers that name the run.
        heartbeat: seconds of silence after which a heartbeat is sent; None: never.
        failure: returns the classified failure of the run, once there is one.
        status: the status of a response that is a stream.
        content_type: the content type if the frames are the application's; empty: that of the framing.
        is_event_source: copied frames get ids too, for a client that sends the last id back.
    """

    sends_at_once = False  # no ASGI server can

    def __init__(  # noqa: PLR0913 (what there is to know of a run and of a client)
        self,
        reader: RunReader,
        protocol: str,
        framing: str,
        client: ClientRequest,
        send: Send,
        *,
        headers: Headers,
        run_headers: Headers,
        heartbeat: float | None,
        failure: Callable[[], ErrorInfo | None] = lambda: None,
        status: int = 200,
        content_type: str = "",
        is_event_source: bool,
    ) -> None:
        clock = StreamClock(began=time.monotonic(), heartbeat=heartbeat)
        super().__init__(_RunClient(client, send), clock, request_id=reader.about.request_id)
        self.status = status
        self._given = [(b"content-type", content_type.encode("latin-1"))]
        self._request: Final = client
        self._classified: Final = failure
        self._supervisor: Final = DeliverySupervisor(clock, self, LoopScheduler())
        self._delivering: asyncio.Task[None] | None = None
        self._read_from(
            reader,
            dialects=process_dialects(),
            protocol=protocol,
            framing=framing,
            headers=headers,
            run_headers=run_headers,
            is_event_source=is_event_source,
        )

    async def run(self, *, at_once: bool = False) -> None:
        """Send the run to its end, or until the client leaves.

        Args:
            at_once: send the headers before the first event.

        Raises:
            NothingLeft: the run has ended and the client has all events; nothing was sent.
            RunGone: the run cannot be read; nothing was sent.
        """
        self._delivering = asyncio.create_task(self._run(at_once))
        self._supervisor.watch(self)
        self._supervisor.update()
        try:
            await self._delivering
        except OSError:  # the server says that the client has left
            self._request.left.set()
        except asyncio.CancelledError:
            if not self._request.left.is_set() or self._supervisor.dropped is None:
                raise
        finally:
            self._supervisor.close()
            self.reader.close()

    async def _run(self, at_once: bool) -> None:
        if at_once:
            await self.begin()
        await self.deliver()

    def _failure(self) -> ErrorInfo | None:
        return self._classified()

    # The source of the delivery

    def lose_client(self) -> None:
        """Stop reading: the run continues without this reader."""
        self._request.left.set()
        if self._delivering is not None:
            self._delivering.cancel()

    def abandon(self) -> None:
        """Stop reading."""
        self.lose_client()

    def run_out(self, due: Due) -> None:
        """Do nothing: the clock has no source."""


class _RunClient(AsgiClient):
    """The client of a run; the application may call `receive` of its request at the same time."""

    def __init__(self, client: ClientRequest, send: Send) -> None:
        super().__init__(client.receive, send)
        self._request = client

    async def until_left(self) -> None:
        """Return once the client has left."""
        await self._request.watch()
