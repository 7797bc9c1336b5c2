"""The content of an `EventStreamResponse` as the source of a run.

Source: the library contract, section 3; the contract of resumable streams, section 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from streamweir.asgi.listening import deliver_while_listening
from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.asgi.resumption.resumption import Admitted, Resumption
from streamweir.asgi.resumption.run_writing import RunWriting
from streamweir.delivery.asgi_client import AsgiClient
from streamweir.emit.event_stream import EventStream
from streamweir.http.headers import HeaderList
from streamweir.http.ownership import offered_runs, ownership_in, take_ownership
from streamweir.http.sending import Message, Receive, Scope, Send
from streamweir.runs.resumable_run import StopReason
from streamweir.runs.stored_event import Source

__all__ = ["ResponseRun", "admit", "deliver_run"]


class ResponseRun(RunWriting):
    """Stores the stream of one response; a `RunSource`.

    `client.until_left` returns when the content has to be closed: its run is stopped or fenced, or the client
    of a run that is not kept has left. The end is stored before that.

    Args:
        run: the run of the request.
        stream: the stream of the response; nothing has been read of its content.
        receive: the ASGI `receive` of the server, or of the layer above.
        send: the ASGI `send` of the server, or of the layer above.
    """

    def __init__(self, run: RequestRun, stream: EventStream, receive: Receive, send: Send) -> None:
        super().__init__(_RunClient(self, receive, send), stream.clock)
        self.request_run = run
        self.stopped: Final = asyncio.Event()
        translator = stream.translator
        self.translator: Final = translator
        translator.write_to(run.run.open_log(lambda: Source(translator.speaks)))

    async def end(self, reason: StopReason) -> None:
        """Store the end of a run that has not ended, and have the content closed; see `RunSource`."""
        if not self.translator.ended:
            self.translator.cancel(reason)
            await self.finish()
        self.stopped.set()

    async def break_off(self) -> None:
        """Store the end of a run that has not ended, because the server cancels the request."""
        if not self.translator.ended:
            self.translator.fail("GATEWAY_DRAINING")
            await self.finish()

    def abandon(self) -> None:
        """Have the content closed, and store no further events; see `RunSource`."""
        self.request_run.run.owned.finish()
        self.stopped.set()


class _RunClient(AsgiClient):
    """The client of a response whose stream is stored."""

    def __init__(self, run: ResponseRun, receive: Receive, send: Send) -> None:
        super().__init__(receive, send)
        self._run = run

    async def until_left(self) -> None:
        """Return once the content has to be closed; see `ResponseRun`."""
        run = self._run
        waits = [asyncio.ensure_future(super().until_left()), asyncio.ensure_future(run.stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not run.stopped.is_set():
            await run.end(run.request_run.run.stop_reason or "client_gone")


async def admit(
    own: Mapping[str, Any] | None, stream: EventStream, scope: Scope, receive: Receive, send: Send
) -> Admitted | None:
    """Let the response handle a request, or answer the request with an existing run.

    Args:
        own: the arguments of the response's own `Resumption`, used if no layer above keeps runs; None: the
            response has no runs.
        stream: the stream of the response.
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the server, or of the layer above.
        send: the ASGI `send` of the server, or of the layer above.

    Returns:
        None if the request has been answered.
    """
    ownership = ownership_in(scope)
    above = None if ownership is None else ownership.nearest_run
    if isinstance(above, RequestRun):
        return Admitted(receive, above)
    if own is None:
        return Admitted(receive, None)
    runs = Resumption(**own, served_by=offered_runs(scope))
    return await runs.admit(
        scope, receive, send, answers=stream.translator.answers, request_id=stream.request_id
    )


async def deliver_run(
    run: RequestRun,
    stream: EventStream,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    headers: HeaderList,
    status: int,
) -> None:
    """Make the run of a response, and deliver the run to its first client; return when both are done.

    Args:
        run: the run of the request.
        stream: the stream of the response.
        scope: the ASGI scope of the request.
        receive: the ASGI `receive` of the request, as `admit` returned it.
        send: the ASGI `send` of the server, or of the layer above.
        headers: the headers of the response in addition to those of a stream.
        status: the status of the response.
    """

    async def send_own(message: Message) -> None:
        take_ownership(scope)
        await send(message)

    delivery = ResponseRun(run, stream, receive, send_own)
    try:
        await run.begin(
            delivery,
            stream.translator,
            send=send_own,
            headers=headers,
            failure=lambda: stream.translator.error,
            status=status,
        )
        await deliver_while_listening(stream, delivery)
        await run.until_delivered()
    except BaseException:
        await asyncio.shield(delivery.break_off())
        raise
    finally:
        await run.let_go()
