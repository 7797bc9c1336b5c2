"""The loop of an `EventStream`: read the content, feed the translator, send what comes out.

One side task breaks the silence with heartbeats, and ends a stream that has soft evidence of its end and
then goes silent (the standard protocol 1.1, section 3 rule 8). Nothing else is asynchronous but the items
themselves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import anyio

from streamweir.context import WarningCollector, bound_request_id
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.event_items import event_of
from streamweir.emit.event_source import EventSource
from streamweir.errors import EventValidationError, error_info
from streamweir.stream_error import log_failure

__all__ = ["ALWAYS_PASS", "EventSending", "SendPiece"]

SendPiece: TypeAlias = Callable[[bytes], Awaitable[object]]

ALWAYS_PASS: Final = (KeyboardInterrupt, SystemExit)

SETTLED_SECONDS: Final = 5.0
"""So long a stream with soft evidence of its end may be silent before it counts as over."""

_LOOK_SECONDS: Final = 1.0
"""How often a text stream is looked at for that."""


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
        self._heartbeat = heartbeat
        self._owns_collector = owns_collector
        self.is_last = False
        self._is_sending = False
        self._sent_at = self._read_at = time.monotonic()
        self._beat_sent: anyio.Event | None = None
        self._reading: anyio.CancelScope

    async def run(self, send: SendPiece) -> None:
        """Send the whole stream, then close the content. What `send` raises is raised."""
        failure: BaseException | None = None
        self._sent_at = self._read_at = time.monotonic()
        with self._collector.bound(), bound_request_id(self._translator.request_id):
            async with anyio.create_task_group() as tasks:
                if math.isfinite(self._until_next_look()):
                    tasks.start_soon(self._watch, send, tasks.cancel_scope)
                try:
                    await self._send_all(send)
                except (Exception, *ALWAYS_PASS) as exc:  # not through the task group, which would wrap it
                    failure = exc
                finally:
                    await self.leave()
                    tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

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
        with anyio.CancelScope() as self._reading:
            while not self._translator.ended:
                piece = await self._next_piece()
                if piece:
                    await self._send(send, piece)
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
        self._read_at = time.monotonic()
        return self._take(item)

    def _take(self, item: Any) -> bytes:
        match item:
            case None:
                return b""
            case str():
                return self._stream.feed(item.encode("utf-8", "surrogatepass"))
            case bytes() | bytearray() | memoryview():
                return self._stream.feed(bytes(item))
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
        if self._beat_sent is not None:
            await self._beat_sent.wait()
        self._is_sending = True
        self.is_last = self._translator.ended
        try:
            await send(piece)
        finally:
            self._is_sending = False
            self._sent_at = self._read_at = time.monotonic()

    # The silence

    async def _watch(self, send: SendPiece, scope: anyio.CancelScope) -> None:
        """Do what silence asks for, whenever it has lasted long enough."""
        while True:
            await anyio.sleep(self._until_next_look())
            if self._is_sending:
                continue
            now = time.monotonic()
            if self._translator.complete and now >= self._read_at + SETTLED_SECONDS:
                self._reading.cancel()
                return
            if self._heartbeat is not None and now >= self._sent_at + self._heartbeat:
                try:
                    await self._beat(send)
                except Exception:  # the client is gone: the next piece would have found out
                    scope.cancel()
                    return

    def _until_next_look(self) -> float:
        looks = math.inf if self._translator.speaks == "standard" else _LOOK_SECONDS
        if self._heartbeat is None:
            return looks
        left = self._heartbeat if self._is_sending else self._sent_at + self._heartbeat - time.monotonic()
        return max(0.0, min(looks, left))

    async def _beat(self, send: SendPiece) -> None:
        """Send a heartbeat; a piece that comes meanwhile waits for it."""
        beat_sent = self._beat_sent = anyio.Event()
        try:
            if beat := self._translator.heartbeat():
                await send(beat)
        finally:
            self._sent_at = time.monotonic()
            self._beat_sent = None
            beat_sent.set()
