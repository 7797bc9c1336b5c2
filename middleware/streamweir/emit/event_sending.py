"""The loop of an `EventStream`: it reads the next item, feeds it to the stream, and delivers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import anyio
import anyio.lowlevel

from streamweir.codec.standard_events import is_standard
from streamweir.context import WarningCollector, bound_request_id
from streamweir.delivery.delivery import Delivery
from streamweir.delivery.scheduler import GroupScheduler
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.emit.application_stream import ApplicationStream
from streamweir.emit.event_items import event_of
from streamweir.emit.event_source import EventSource
from streamweir.errors import EventValidationError, error_info
from streamweir.stream_error import log_failure
from streamweir.translation.clock import Due, StreamClock
from streamweir.translation.parts import TURN_SECONDS, WHOLE_BYTES, ReadParts

__all__ = ["ALWAYS_PASS", "EventSending"]

ALWAYS_PASS: Final = (KeyboardInterrupt, SystemExit)


_TURN_OF_CONTENT: Final = 0.05
"""The most seconds for which a content that never waits may occupy the event loop.

Sending need not wait either: a server accepts pieces for a client that has left without a wait.
"""


_LATE_ITEM_SECONDS: Final = 5.0
"""If a content still yields items this many seconds after the end of its stream, it is closed."""

_RUN_ON_SECONDS: Final = 300.0
"""If a content has not returned this many seconds after the end of its stream, it is closed."""

_CUT_OFF: Final = frozenset({"limit", "malformed"})
"""Reasons of an end that the content did not cause; the content is then closed at once."""


class EventSending:
    """Reads the content of one stream and delivers the stream.

    Args:
        source: the content.
        stream: translates the content.
        collector: the collector of the warnings; the content runs in its context.
        heartbeat: the longest silence in seconds before a heartbeat is sent; None: no heartbeats.
        owns_collector: the collector is closed here.

    Attributes:
        clock: the clock of the stream; the delivery notes in it what it sends.
        runs_on: the content has ended its stream by an item, and may do more work before it returns.
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
        self._reads_messages = self._translator.speaks != "standard"
        """A dict without the standard's shape is a message of the dialect `speaks`; False: it is an event."""
        self.clock = StreamClock(source=self._translator, began=time.monotonic(), heartbeat=heartbeat)
        self._taken_at = self.clock.began
        """The time when the last item came. From then until the item is sent, this process counts as busy."""
        self._parts: ReadParts | None = None
        """The remaining part of an item that takes several turns of the event loop; None if there is none."""
        self.runs_on = False
        self._reading: anyio.CancelScope
        self._everything: anyio.CancelScope

    async def run(self, delivery: Delivery) -> None:
        """Deliver the whole stream, then close the content.

        Raises:
            Exception: any exception of the client's server.
        """
        failure: BaseException | None = None
        delivery.sink = self._translator.writer
        self.clock.last_write = self.clock.last_read = time.monotonic()
        with self._collector.bound(), bound_request_id(self._translator.request_id):
            async with anyio.create_task_group() as tasks:
                self._everything = tasks.cancel_scope
                supervisor = DeliverySupervisor(self.clock, self, GroupScheduler(tasks))
                supervisor.delivery = delivery
                supervisor.update()
                try:
                    await self._send_all(delivery)
                    supervisor.close()
                    if self.runs_on:
                        await self._run_on()
                except (Exception, *ALWAYS_PASS) as exc:  # not through the task group, which would wrap it
                    failure = exc
                finally:
                    await self.leave()
                    supervisor.close()
                    del self._everything, self._reading
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # its traceback has this frame, which would keep it and all of the stream

    async def leave(self) -> None:
        """Close the content. Its exceptions are only logged, because the stream is over."""
        try:
            await self._source.aclose()
        except Exception as exc:
            log_failure(exc, request_id=self._translator.request_id)
        finally:
            if self._owns_collector:
                self._collector.close()

    # The source of the delivery

    def lose_client(self) -> None:
        """Stop, because sending the next piece would raise."""
        self._everything.cancel()

    def abandon(self) -> None:
        """Stop reading the content."""
        self._everything.cancel()

    def run_out(self, due: Due) -> None:
        """Stop reading, because silence has followed soft evidence of the end."""
        del due
        self._reading.cancel()

    # The content

    async def _send_all(self, delivery: Delivery) -> None:
        translator = self._translator
        turned, spent = time.monotonic(), 0.0
        with anyio.CancelScope() as self._reading:
            while True:
                is_taken = await self._read_next()
                if translator.ended:
                    break
                await delivery.send()
                now = time.monotonic()
                spent += now - self._taken_at
                if not is_taken or spent > TURN_SECONDS or now - turned > _TURN_OF_CONTENT:
                    await anyio.lowlevel.checkpoint()
                    turned, spent = time.monotonic(), 0.0
        if not translator.ended:
            self._stream.close()
        await delivery.finish(translator.error)

    async def _read_next(self) -> bool:
        """Take the next item, a part of it, or the content's end; return False if a part is left."""
        if self._parts is not None:
            return self._feed(self._parts)
        try:
            item = await self._source.__anext__()
        except StopAsyncIteration:
            self._stream.close_returned()
        except Exception as exc:
            log_failure(exc, request_id=self._translator.request_id)
            self._stream.fail(exc)
        else:
            self.clock.last_read = self._taken_at = time.monotonic()
            is_taken = self._take(item)
            self.runs_on = self._translator.ended and self._translator.reason not in _CUT_OFF
            return is_taken
        return True

    async def _run_on(self) -> None:
        """Run the content after the end of its stream, and drop its items."""
        ended_at = time.monotonic()
        with anyio.move_on_after(_RUN_ON_SECONDS):
            try:
                async for _ in self._source:
                    if time.monotonic() - ended_at > _LATE_ITEM_SECONDS:
                        return
                    await anyio.lowlevel.checkpoint()
            except Exception as exc:
                log_failure(exc, request_id=self._translator.request_id)

    def _take_bytes(self, data: bytes) -> bool:
        if len(data) > WHOLE_BYTES:
            return self._feed(ReadParts(data))
        self._stream.feed(data)
        return True

    def _feed(self, parts: ReadParts) -> bool:
        is_taken = parts.feed(self._stream.feed)
        self._parts = None if is_taken else parts
        return is_taken

    def _take(self, item: Any) -> bool:
        match item:
            case None:
                pass
            case str():
                return self._take_bytes(item.encode("utf-8", "surrogatepass"))
            case bytes() | bytearray() | memoryview():
                return self._take_bytes(bytes(item))
            case Mapping() if self._reads_messages and not is_standard(item):
                self._stream.read_message(item)
            case _:
                self._take_event(item)
        return True

    def _take_event(self, item: Any) -> None:
        try:
            event = event_of(item)
        except EventValidationError as error:
            self._refuse(item, str(error))
        except Exception as error:  # an object whose attributes raise
            self._refuse(item, type(error).__name__)
        else:
            self._stream.push(event)

    def _refuse(self, item: Any, problem: str) -> None:
        """Skip an item that is not an event, with a warning; if it was meant as an error, end the stream."""
        self._stream.reject(problem)
        if isinstance(item, Mapping) and item.get("type") == "error":
            self._stream.fail(error_info("INTERNAL"))
