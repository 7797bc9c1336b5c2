"""An application below the middleware as the source of a run: one request whose response is a stream.

Source: the contract of resumable streams, sections 2 and 6.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from streamweir.asgi.normalized_stream import NormalizedStream
from streamweir.asgi.response_interceptor import ResponseInterceptor
from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.asgi.resumption.resumable_stream import ResumableStream
from streamweir.asgi.stream_factory import StreamFactory
from streamweir.codec.client_names import NO_NAMES
from streamweir.emit.application_stream import ApplicationStream
from streamweir.http.ownership import StreamOwnership
from streamweir.http.sending import ASGIApp, Scope
from streamweir.runs.resumable_run import StopReason
from streamweir.runs.stored_event import Source

__all__ = ["ResumableExchange"]

_LISTENING: Final = "2.3"
"""The last ASGI version in which applications wait for the disconnect in `receive`.

In later versions they wait for `send` to fail: a silent application would not learn that its run is stopped.
"""


class ResumableExchange(ResponseInterceptor):
    """One request, its run and its first client; a `RunSource`.

    Args:
        run: the run of the request.
        rest: the options of the interceptor.
    """

    def __init__(
        self,
        run: RequestRun,
        options: StreamFactory,
        *,
        scope: Scope,
        ownership: StreamOwnership,
        **rest: Any,
    ) -> None:
        asgi = {**scope.get("asgi", {}), "spec_version": _LISTENING}
        super().__init__(options, scope={**scope, "asgi": asgi}, ownership=ownership, **rest)
        ownership.request_run = run
        self._run: Final = run
        self._events: ResumableStream | None = None

    async def run(self, app: ASGIApp, *, reraise: bool) -> None:
        """Let `app` answer the request, and deliver the whole response to the client."""
        self._run.wait_for_stream(self)
        try:
            await super().run(app, reraise=reraise)
            await self._run.until_delivered()
        except BaseException as error:
            if not isinstance(error, Exception) or self._run.has_begun:
                await asyncio.shield(self._break_off())
            raise
        finally:
            await self._run.let_go()

    async def end(self, reason: StopReason) -> None:
        """End the stream, and tell the application at once; see `RunSource`."""
        if self._events is not None:
            await self._events.end(lambda events: events.cancel(reason))
        self._listening.release()

    def abandon(self) -> None:
        """Drop the stream, and tell the application; see `RunSource`."""
        if self._events is not None:
            self._events.abandon()
        self._listening.release()

    async def _break_off(self) -> None:
        """End a run whose other readers are still connected, because the server cancels the request."""
        if self._events is not None and not self._events.is_over:
            await self._events.end(lambda events: events.fail("GATEWAY_DRAINING"))

    def _make_stream(self, events: ApplicationStream, **options: Any) -> NormalizedStream:
        translator = events.translator
        names = NO_NAMES if self._ownership.asked is None else self._ownership.asked.names
        log = self._run.run.open_log(
            lambda: Source(translator.speaks, self._options.protocol_options, names),
            translator.release_writer(),
        )
        translator.write_to(log)
        self._events = ResumableStream(events, self._client_port, self._run, begin=self._begin_run, **options)
        return self._events

    async def _begin_run(self) -> None:
        stream = self._events
        assert stream is not None, "called by the stream"
        await self._run.begin(
            self,
            stream.translator,
            send=self._send,
            headers=stream.client_headers,
            content_type=stream.content_type,
            status=stream.status,
            failure=lambda: stream.failure,
        )
