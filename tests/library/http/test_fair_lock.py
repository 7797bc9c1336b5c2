"""`FairLock`: one task at a time, in order, also if tasks are cancelled while they wait."""

import anyio
import anyio.lowlevel
import pytest

from streamweir.http.fair_lock import FairLock

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_lock_is_passed_on_in_the_order_of_arrival() -> None:
    turn, order = FairLock(), list[str]()

    async def take(number: int) -> None:
        async with turn:
            order.append(f"in {number}")
            await anyio.lowlevel.checkpoint()
            order.append(f"out {number}")

    async with anyio.create_task_group() as tasks, turn:
        for number in range(20):
            tasks.start_soon(take, number)
            await anyio.wait_all_tasks_blocked()
        assert turn.is_taken
        assert not order
    assert order == [f"{step} {number}" for number in range(20) for step in ("in", "out")]
    assert not turn.is_taken


async def test_lock_skips_a_task_cancelled_while_it_waits() -> None:
    turn, done = FairLock(), list[str]()

    async def take(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with turn:
                done.append(name)

    first, second = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as tasks, turn:
        tasks.start_soon(take, "first", first)
        tasks.start_soon(take, "second", second)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
        await anyio.wait_all_tasks_blocked()
    assert done == ["second"]
    assert not turn.is_taken


async def test_lock_passed_to_a_cancelled_task_goes_to_the_next_one() -> None:
    turn, done = FairLock(), list[str]()

    async def take(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            async with turn:
                done.append(name)
                await anyio.lowlevel.checkpoint()

    first, second = anyio.CancelScope(), anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        async with turn:
            tasks.start_soon(take, "first", first)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(take, "second", second)
            await anyio.wait_all_tasks_blocked()
        first.cancel()
    assert "second" in done
    assert not turn.is_taken
