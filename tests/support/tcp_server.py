"""A server on a free loopback port that leaves neither a task nor a socket behind."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run `handle` on every connection, which is closed afterwards; yield the port."""
    running: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await handle(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            running.discard(task)
            writer.close()

    listener = await asyncio.start_server(one, "127.0.0.1", 0, ssl=context)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await asyncio.sleep(0)  # the transports close themselves in the loop's next turn
