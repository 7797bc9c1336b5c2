"""The loop of an `EventStream`: read the content, feed the stream, send what comes out.

One side task does what silence asks for, as the stream's clock says. Nothing else is asynchronous but the
items themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import anyio
import anyio.lowlevel

from streamweir.codec.standard_events import is_standard
from streamweir.context import WarningCollector, bound_request_id
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.event_items import event_of
from streamweir.emit.event_source import EventSource
from streamweir.errors import EventValidationError, error_info
from streamweir.http.fair_lock import FairLock
from streamweir.stream_error import log_failure
from streamweir.translation.clock import StreamClock

__all__ = ["ALWAYS_PASS", "EventSending", "SendPiece"]

SendPiece: TypeAlias = Callable[[bytes], Awaitable[object]]

ALWAYS_PASS: Final = (KeyboardInterrupt, SystemExit)


_TURN_SECONDS: Final = 0.05
"""For so long at most a content that never waits keeps the event loop to itself.

A server takes what is sent to a client that has left without a wait either: nothing else would ever run
again, not even what notices that it has left.
"""


class EventSending:
    """One stream on its way.

    Args:
        source: the content.
        stream: what makes a stream of it.
        collector: bound to the content's context.
        heartbeat: seconds of silence after which something is sent that says nothing; None: never.
        owns_collector: nobody above closes it.

    Attributes:
        is_last: the piece that is being sent is the last one.
    """

    def __init__(
        self,
        source: EventSource,
        stream: ApplicationStream,
        collector: WarningCollector,
        *,
        heartbeat: float | None,
        owns_collector: bool,
    ) -> None:
        self._source = source
        self._stream = stream
        self._translator = stream.translator
        self._collector = collector
        self._owns_collector = owns_collector
        self.is_last = False
        self._reads_messages = self._translator.speaks != "standard"
        """A dict is a message of the dialect that is spoken; one in the standard's shape is an event."""
        self._clock = StreamClock(self._translator, now=time.monotonic(), heartbeat=heartbeat)
        self._turn = FairLock()
        self._reading: anyio.CancelScope
        self._watching: anyio.CancelScope

    async def run(self, send: SendPiece) -> None:
        """Send the whole stream, then close the content. What `send` raises is raised."""
        failure: BaseException | None = None
        self._clock.last_write = self._clock.last_read = time.monotonic()
        with self._collector.bound(), bound_request_id(self._translator.request_id):
            async with anyio.create_task_group() as tasks:
                self._watching = anyio.CancelScope()
                watched = anyio.Event()
                if math.isfinite(self._clock.next_look(0.0)):
                    tasks.start_soon(self._watch, send, tasks.cancel_scope, watched)
                else:
                    watched.set()
                try:
                    await self._send_all(send)
                except (Exception, *ALWAYS_PASS) as exc:  # not through the task group, which would wrap it
                    failure = exc
                finally:
                    await self.leave()
                    self._watching.cancel()
                    with anyio.CancelScope(shield=True):
                        await watched.wait()
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # its traceback has this frame, which would keep it and all of the stream

    async def leave(self) -> None:
        """Close the content; what it raises then is logged, for the stream is over."""
        try:
            await self._source.aclose()
        except Exception as exc:
            log_failure(exc, request_id=self._translator.request_id)
        finally:
            if self._owns_collector:
                self._collector.close()

    # The content

    async def _send_all(self, send: SendPiece) -> None:
        turned = time.monotonic()
        with anyio.CancelScope() as self._reading:
            while not self._translator.ended:
                piece = await self._next_piece()
                if piece:
                    await self._send(send, piece)
                if time.monotonic() - turned > _TURN_SECONDS:  # neither may have waited for anything
                    await anyio.lowlevel.checkpoint()
                    turned = time.monotonic()
        if not self._translator.ended and (ending := self._stream.close()):
            await self._send(send, ending)

    async def _next_piece(self) -> bytes:
        """Return what the next item, or the end of the content, has to say."""
        try:
            item = await self._source.__anext__()
        except StopAsyncIteration:
            return self._stream.close_returned()
        except Exception as exc:
            log_failure(exc, request_id=self._translator.request_id)
            return self._stream.fail(exc)
        self._clock.last_read = time.monotonic()
        return self._take(item)

    def _take(self, item: Any) -> bytes:
        match item:
            case None:
                return b""
            case str():
                return self._stream.feed(item.encode("utf-8", "surrogatepass"))
            case bytes() | bytearray() | memoryview():
                return self._stream.feed(bytes(item))
            case Mapping() if self._reads_messages and not is_standard(item):
                return self._stream.read_message(item)
        try:
            event = event_of(item)
        except EventValidationError as error:
            return self._refuse(item, str(error))
        except Exception as error:  # an object of the application's that cannot be looked at
            return self._refuse(item, type(error).__name__)
        return self._stream.push(event)

    def _refuse(self, item: Any, problem: str) -> bytes:
        """Leave out an item that is no event, with a warning; what was meant as an error still is one."""
        rejected = self._stream.reject(problem)
        if isinstance(item, Mapping) and item.get("type") == "error":
            return rejected + self._stream.fail(error_info("INTERNAL"))
        return rejected

    async def _send(self, send: SendPiece, piece: bytes) -> None:
        async with self._turn:
            self._clock.is_busy = True
            self.is_last = self._translator.ended
            try:
                await send(piece)
            finally:
                self._clock.is_busy = False
                self._clock.last_write = self._clock.last_read = time.monotonic()

    # The silence

    async def _watch(self, send: SendPiece, scope: anyio.CancelScope, watched: anyio.Event) -> None:
        """Look after the silence until told to stop.

        A scope of its own ends it: a cancellation past that would keep all of the stream for the collector.
        """
        try:
            with self._watching:
                await self._act_on_silence(send, scope)
        finally:
            watched.set()

    async def _act_on_silence(self, send: SendPiece, scope: anyio.CancelScope) -> None:
        """Do what silence asks for, whenever it has lasted long enough."""
        while True:
            now = time.monotonic()
            await anyio.sleep(max(0.0, self._clock.next_look(now) - now))
            match self._clock.due(time.monotonic()):
                case "settled":
                    self._reading.cancel()
                    return
                case "heartbeat":
                    try:
                        await self._beat(send)
                    except Exception:  # the client is gone: the next piece would have found out
                        scope.cancel()
                        return

    async def _beat(self, send: SendPiece) -> None:
        """Send a heartbeat; a piece that comes meanwhile waits for it."""
        async with self._turn:
            try:
                if beat := self._translator.heartbeat():
                    await send(beat)
            finally:
                self._clock.last_write = time.monotonic()
