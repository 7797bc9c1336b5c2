"""Delivers the stream of a response until it is over, or until its client has left."""

from __future__ import annotations

from contextvars import copy_context

import anyio

from streamweir.delivery.delivery import Delivery
from streamweir.emit.background import start_in_background
from streamweir.emit.event_sending import ALWAYS_PASS
from streamweir.emit.event_source import LEAVING_SECONDS
from streamweir.emit.event_stream import EventStream

__all__ = ["deliver_while_listening"]


async def deliver_while_listening(stream: EventStream, delivery: Delivery) -> None:
    """Deliver `stream` until its content has returned, or until `delivery.client.until_left` returns.

    If the content has ended its stream itself, it is not closed when the client leaves afterwards.

    The stream runs in a task that is cancelled once. (A cancel scope would also cancel the clean-up of the
    content's generator.)
    """
    failure: BaseException | None = None
    finished = anyio.Event()

    async def run() -> None:
        nonlocal failure
        try:
            await stream.deliver(delivery)
        except OSError:
            pass  # the server says that the client has left
        except (Exception, *ALWAYS_PASS) as error:
            failure = error
        finally:
            finished.set()

    listening, waiting = anyio.CancelScope(), anyio.CancelScope()

    async def listen() -> None:
        with listening:
            await delivery.client.until_left()
            if not stream.runs_on:
                waiting.cancel()

    sending = start_in_background(run, copy_context())
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            with waiting:
                await finished.wait()
            listening.cancel()
    finally:
        if not finished.is_set():
            sending.cancel()
            with anyio.move_on_after(LEAVING_SECONDS, shield=True):
                await finished.wait()
    if failure is not None:
        try:
            raise failure
        finally:
            failure = None  # its traceback has this frame, which would keep it and all of the stream
