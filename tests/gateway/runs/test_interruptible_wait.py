"""Interruptions of a waiting task; all other cancellations pass."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from streamweir_gateway.runs.interruptible_wait import Interrupted, InterruptibleWait

pytestmark = pytest.mark.anyio


class Waiter:
    """A task that waits within the block."""

    def __init__(self, wait: Callable[[], Awaitable[object]]) -> None:
        self.outcome = ""
        self.waiting: InterruptibleWait
        self._wait = wait
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        self.waiting = InterruptibleWait()
        try:
            with self.waiting:
                await self._wait()
        except Interrupted:
            self.outcome = "interrupted"
        await asyncio.sleep(0)  # this would end if the cancellation were still counted
        self.outcome += " and on"


async def for_long() -> None:
    await asyncio.sleep(60)


async def begun(waiter: Waiter) -> Waiter:
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return waiter


async def test_interrupted_task_continues_after_the_block() -> None:
    waiter = await begun(Waiter(for_long))
    waiter.waiting.interrupt()
    await waiter.task
    assert waiter.outcome == "interrupted and on"
    assert not waiter.waiting.is_pending


async def test_two_interruptions_at_once_raise_once() -> None:
    waiter = await begun(Waiter(for_long))
    waiter.waiting.interrupt()
    waiter.waiting.interrupt()
    assert waiter.waiting.is_pending
    await waiter.task
    assert waiter.outcome == "interrupted and on"


async def test_cancellation_from_elsewhere_has_precedence() -> None:
    waiter = await begun(Waiter(for_long))
    waiter.waiting.interrupt()
    waiter.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter.task


async def test_cancellation_from_elsewhere_passes() -> None:
    waiter = await begun(Waiter(for_long))
    waiter.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter.task


async def test_interrupt_outside_of_the_block_does_nothing() -> None:
    waiter = await begun(Waiter(lambda: asyncio.sleep(0)))
    await asyncio.sleep(0)
    waiter.waiting.interrupt()
    await waiter.task
    assert waiter.outcome == " and on"


async def test_interrupt_from_within_the_task_does_nothing() -> None:
    waiting = InterruptibleWait()
    with waiting:
        waiting.interrupt()
        await asyncio.sleep(0)
    assert not waiting.is_pending


async def test_block_that_ends_at_the_same_moment_is_interrupted() -> None:
    """The event that is waited for comes first, the interruption in the same turn of the loop."""
    came = asyncio.Event()
    waiter = await begun(Waiter(came.wait))
    came.set()
    waiter.waiting.interrupt()
    await waiter.task
    assert waiter.outcome == "interrupted and on"


async def test_other_exception_of_an_interrupted_block_is_raised() -> None:
    async def failing() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise LookupError

    waiter = await begun(Waiter(failing))
    waiter.waiting.interrupt()
    with pytest.raises(LookupError):
        await waiter.task
    assert waiter.task.cancelling() == 0
