"""Clients that ask for a flood, read nothing of it and leave: what does the gateway still do afterwards?

    python tests/soak/storm.py                          5 rounds of 10 clients, three quarters of a minute
    python tests/soak/storm.py --rounds 1 --clients 50

Backend, gateway and clients have a process each. In each round the clients ask, some read a little first,
they all stop reading, and after a second their process is killed, or closes their connections one by one.
From three seconds later on the processor's time of the gateway is taken for two seconds, up to four times:
there is nobody to do anything for. The last line is the largest share of one processor; exit code 1 if it is
0.05 or more, if connections are left, or if there was no flood. Needs Linux (/proc); everything is on
127.0.0.1 and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from gateway_process import Gateway, gateway

SHARE: Final = 0.05
STAY_SECONDS: Final = 1.0
LEAVE_SECONDS: Final = 3.0
"""A machine that does other things too needs so long to see that ten floods have nobody left."""

MEASURED_SECONDS: Final = 2.0
LOOKS: Final = 4
"""On a machine that is very busy; a gateway that goes on for nobody does so at each look."""

PATIENCE: Final = 60.0
READ_AT_MOST: Final = 200_000

REQUEST: Final = b"POST /chat HTTP/1.1\r\nHost: soak\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"


class Afterwards(NamedTuple):
    """What the gateway does once its clients have left."""

    share: float
    """Of one processor."""
    descriptors: int
    """More than before there was a client."""

    def is_bad(self, clients: int) -> bool:
        """Is something still done, or kept?"""
        return self.share >= SHARE or self.descriptors > clients // 2

    def __str__(self) -> str:
        return f"share {self.share:.3f}, {self.descriptors} more descriptors"


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run a command of Python's; yield it and the first line that it writes."""
    running = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert running.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = (await running.stdout.readline()).decode()
        drain = asyncio.create_task(running.stdout.read())
        yield running, line
        drain.cancel()
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()


async def stay_unread(port: int, clients: int, seed: int) -> None:
    """Be the clients: ask, read a little, stop reading, and leave when told by nobody but the clock."""
    chance = random.Random(seed)

    async def client(reads: int) -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
        writer.write(REQUEST)
        if reads > 0:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200"), "no flood"
        while reads > 0:
            reads -= len(await reader.readexactly(min(reads, 1 << 16)))
        transport = writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        return writer

    given = [chance.choice((0, 1, READ_AT_MOST)) for _ in range(clients)]
    writers = await asyncio.gather(*map(client, given))
    print("unread", flush=True)
    await asyncio.sleep(STAY_SECONDS)
    if seed % 2:
        await asyncio.sleep(PATIENCE)  # until we are killed
    for writer in writers:
        writer.transport.abort()
        await asyncio.sleep(0)


async def one_round(running: Gateway, clients: int, seed: int) -> Afterwards:
    """Let the clients come and go; return what the gateway does afterwards."""
    before = running.descriptors()
    own = (__file__, "--unread", str(running.port), "--clients", str(clients), "--seed", str(seed))
    async with process(*own) as (unread, line):
        assert line == "unread\n", "the clients did not get a flood"
        if seed % 2:
            await asyncio.sleep(STAY_SECONDS)
            unread.kill()
        async with asyncio.timeout(PATIENCE):
            await unread.wait()
    await asyncio.sleep(LEAVE_SECONDS)
    for _ in range(LOOKS):
        used = running.processor_seconds()
        await asyncio.sleep(MEASURED_SECONDS)
        share = (running.processor_seconds() - used) / MEASURED_SECONDS
        found = Afterwards(share, running.descriptors() - before)
        if not found.is_bad(clients):
            break
    return found


async def storm(rounds: int, clients: int, seed: int) -> int:
    """Run all rounds, print what was seen, return the exit code."""
    fake = ("-m", "streamweir_gateway", "fake", "--dialect", "legacy", "--listen", "127.0.0.1:0")
    flood = ("--fault", "burst@1:100000000", "--pace", "off")
    seen: list[Afterwards] = []
    async with process(*fake, *flood) as (_, banner):
        url = banner.split()[-1]
        timeouts = {"write": "off"}
        endpoint = {"upstream": url, "speaks": "legacy", "timeouts": timeouts}
        async with gateway(endpoints={"/chat": endpoint}) as running:
            for number in range(rounds):
                seen.append(await one_round(running, clients, seed + number))
                print(f"round {number + 1}: {seen[-1]}", flush=True)
                if seen[-1].is_bad(clients):
                    break  # it would hardly take another client
    worst = max(after.share for after in seen)
    print(
        f"largest share of a processor after {len(seen)} x {clients} clients that did not read: {worst:.3f}"
    )
    return 1 if seen[-1].is_bad(clients) else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--clients", type=int, default=10, metavar="N", help="in each round")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random")
    parser.add_argument("--unread", type=int, metavar="PORT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.unread is not None:
        asyncio.run(stay_unread(given.unread, given.clients, given.seed))
        return 0
    return asyncio.run(storm(given.rounds, given.clients, given.seed))


if __name__ == "__main__":
    sys.exit(main())
