"""Ports of this machine, for programs that cannot choose one themselves."""

import asyncio
import random
import socket
import sys

CHOSEN = range(10_000, 32_000)
"""Below the ports that the system gives to connections and to servers that ask for any."""


def free_port() -> int:
    """Return a free port outside the range from which the system takes the ports of connections."""
    while True:
        port = random.SystemRandom().choice(CHOSEN)  # tests of properties seed the usual generator
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


async def until_open(port: int, server: str, within: float) -> None:
    """Wait until `server` takes connections at `port`; raise SystemExit after so many seconds."""
    try:
        async with asyncio.timeout(within):
            while not await _is_open(port):  # noqa: ASYNC110 - another process listens
                await asyncio.sleep(0.2)
    except TimeoutError:
        sys.exit(f"{server} did not start")


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
