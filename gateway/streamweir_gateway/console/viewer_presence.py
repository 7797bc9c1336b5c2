"""Ends the work for a viewer when the viewer leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.types import Receive

__all__ = ["run_until_left"]


async def run_until_left(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, or cancel it if the viewer leaves earlier.

    Args:
        receive: reports that the viewer has left.
        work: the work for the viewer. Its exceptions are raised here.
    """
    left = asyncio.create_task(_until_left(receive))
    working = asyncio.create_task(work)
    try:
        await asyncio.wait({left, working}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (left, working):
            task.cancel()
        await asyncio.gather(left, working, return_exceptions=True)


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
