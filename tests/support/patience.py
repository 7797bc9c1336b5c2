"""How long tests wait: for the condition itself, and long enough for a loaded machine."""

import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable

import anyio

PATIENCE = 90.0
"""Seconds after which a test has hung. Waiting ends as soon as the condition holds."""

PROMPTLY = 20.0
"""Seconds within which something has to happen that takes no time on an idle machine.

It is below every default timeout that could end the same wait in place of the behaviour under test.
"""


async def until(holds: Callable[[], bool | Awaitable[bool]], within: float = PATIENCE) -> None:
    """Wait until a condition that has no event of its own holds.

    Raises:
        TimeoutError: it did not hold within so many seconds.
    """
    with anyio.fail_after(within):
        while True:
            result = holds()
            if await result if isawaitable(result) else result:
                return
            await anyio.sleep(0.02)


def wait_until(holds: Callable[[], bool], within: float = PATIENCE) -> None:
    """Wait until a condition holds, in a test without an event loop.

    Raises:
        TimeoutError: it did not hold within so many seconds.
    """
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


async def let_loop_run(seconds: float) -> None:
    """Sleep for `seconds` in many small steps, so that the event loop runs at least ten rounds.

    A single sleep on a stalled machine may be over after one round, before other tasks had their turns.
    """
    for _ in range(max(10, round(seconds / 0.01))):
        await anyio.sleep(0.01)
