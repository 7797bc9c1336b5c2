"""Workers that hang while the configuration is read again: does the parent go on?

    python tests/soak/hung_workers.py                   3 rounds and a hang at the start, two minutes
    python tests/soak/hung_workers.py --rounds 1

In each round one worker of a gateway is stopped (SIGSTOP), and the gateway is told three times to read a
configuration of two megabytes, which no pipe and no socket takes at once. The parent has to replace the
worker by one that serves, and then to obey the signal that stops it. Then a worker is killed, and the one
that is started in its place is stopped before it is ready: the parent has to replace this one too. The last
line is the longest time that a round took; exit code 1 if a worker is not replaced or the gateway does not
end. Needs Linux (/proc); everything is on 127.0.0.1 and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from typing import Any, Final, NamedTuple

from gateway_process import Gateway, gateway

from streamweir_gateway.processes.worker_place import START_SECONDS

WORKERS: Final = 2
HANG_SECONDS: Final = 2
PATIENCE: Final = 30.0
RELOADS: Final = 3


class Round(NamedTuple):
    """What happened in one round."""

    replaced_after: float
    """Seconds from the hang until all workers run again, without those that a worker may take to start."""
    ended_after: float
    """Seconds from the signal to the end of the gateway."""
    exit_code: int

    @property
    def is_bad(self) -> bool:
        """Did the parent wait for the worker?"""
        return self.exit_code != 0 or max(self.replaced_after, self.ended_after) >= PATIENCE


def sections(megabytes: int) -> dict[str, Any]:
    """Return a configuration of about that size."""
    headers = {f"X-{number}": "x" * 1000 for number in range(megabytes * 1000)}
    endpoint = {"upstream": "http://127.0.0.1:1", "speaks": "legacy", "headers": headers}
    server = {"workers": WORKERS, "hang_time": f"{HANG_SECONDS}s", "drain": "1s"}
    return {"endpoints": {"/chat": endpoint}, "server": server}


async def one_round() -> Round:
    """Hang a worker, reload, and stop the gateway."""
    async with gateway(**sections(0)) as running:
        hung = running.workers()[0]
        os.kill(hung, signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(RELOADS):
            running.reload(**sections(2))
            await asyncio.sleep(0.1)
        while not is_replaced(running, hung) and time.monotonic() - began < PATIENCE:  # noqa: ASYNC110 - processes
            await asyncio.sleep(0.1)
        return await ended(running, time.monotonic() - began)


async def round_at_the_start() -> Round:
    """Hang a worker that is not ready yet, and stop the gateway once it is replaced."""
    async with gateway(**sections(0)) as running:
        first = running.workers()
        os.kill(first[0], signal.SIGKILL)
        while not (started := set(running.workers()) - set(first)):  # noqa: ASYNC110 - processes
            await asyncio.sleep(0.001)
        hung = started.pop()
        os.kill(hung, signal.SIGSTOP)
        began = time.monotonic()
        while not is_replaced(running, hung) and time.monotonic() - began < START_SECONDS + PATIENCE:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return await ended(running, max(0.0, time.monotonic() - began - START_SECONDS))


async def ended(running: Gateway, replaced_after: float) -> Round:
    """Stop the gateway, and return what happened in the round."""
    began = time.monotonic()
    try:
        code = await asyncio.wait_for(running.stop(), PATIENCE)
    except TimeoutError:
        code = 1
        for pid in running.workers():
            os.kill(pid, signal.SIGKILL)
        running.kill()
    return Round(replaced_after, time.monotonic() - began, code)


def is_replaced(running: Gateway, hung: int) -> bool:
    """Do all workers run, and none of them is the one that hangs?"""
    workers = running.workers()
    return len(workers) == WORKERS and hung not in workers


async def run(rounds: int) -> int:
    """Run all rounds, print what was seen, return the exit code."""
    seen: list[Round] = []
    for number in range(rounds + 1):
        seen.append(await (one_round() if number < rounds else round_at_the_start()))
        last = seen[-1]
        print(
            f"round {number + 1}: replaced after {last.replaced_after:.1f} s,"
            f" ended after {last.ended_after:.1f} s with {last.exit_code}",
            flush=True,
        )
        if last.is_bad:
            break
    longest = max(max(each.replaced_after, each.ended_after) for each in seen)
    print(f"longest that a parent of {WORKERS} took beside a worker that hung: {longest:.1f} s")
    return 1 if seen[-1].is_bad else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    return asyncio.run(run(parser.parse_args().rounds))


if __name__ == "__main__":
    sys.exit(main())
