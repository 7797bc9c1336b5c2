"""`streamweir serve` in processes of its own, on a free port; ended by its process id when not needed."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from command_line import COMMAND
from loopback import Gateway, Log
from other_processes import workers_of
from patience import PATIENCE
from streamweir_gateway.runs.live_streams import LiveStreams


class Running:
    """The command, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process, file: Path) -> None:
        self.process = process
        self.file = file
        self.at = Gateway(("", 0), LiveStreams(), Log())
        self.told: list[dict[str, Any]] = []
        self.stdout = b""
        self._listening: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[int] | None = None
        self._news = asyncio.Event()

    @property
    def pid(self) -> int:
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ready(self) -> None:
        """Wait until it says that it listens, and where."""
        assert self.process.stdout is not None
        self._listening = asyncio.create_task(self._listen())
        async with asyncio.timeout(PATIENCE):
            line = await self.process.stdout.readline()
        found = re.search(rb"listens on http://127\.0\.0\.1:(\d+)", line)
        assert found, (line, self.told)
        self.stdout += line
        self.at.address = ("127.0.0.1", int(found[1]))

    async def ended(self) -> int:
        """Wait for its end; its exit code. Any number of callers may wait."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._read_to_the_end())
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(self._ending)

    async def says(self, word: str) -> dict[str, Any]:
        """Wait for a line of the log whose `event` holds `word`."""
        return await self.line(lambda line: word in line["event"])

    async def line(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a line of the log that fits; the first one."""
        return (await self.lines(1, fits))[0]

    async def lines(self, count: int, fits: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Wait for so many lines of the log that fit; all that have been read."""
        async with asyncio.timeout(PATIENCE):
            while len(found := [line for line in self.told if fits(line)]) < count:
                self._news.clear()
                await self._news.wait()
        return found

    def workers(self) -> list[int]:
        """Process ids of the workers (Linux); none once the parent has gone."""
        return workers_of(self.pid)

    async def _read_to_the_end(self) -> int:
        assert self.process.stdout is not None
        self.stdout += await self.process.stdout.read()
        code = await self.process.wait()
        if self._listening is not None:
            await self._listening
        return code

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.told.append(
                json.loads(line) if line.startswith(b"{") else {"event": line.decode(), "level": "?"}
            )
            self._news.set()


@asynccontextmanager
async def running_gateway(
    folder: Path, *arguments: str, descriptors: int | None = None, **file: Any
) -> AsyncIterator[Running]:
    """Run the gateway with a file of these keys, with so many file descriptors at most."""
    limit = () if descriptors is None else ("sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh")
    path = folder / "config.yaml"
    path.write_text(json.dumps({"listen": "127.0.0.1:0", **file}))
    process = await asyncio.create_subprocess_exec(
        *limit, *COMMAND, "serve", *arguments, str(path),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ, TMPDIR=str(folder)),  # what a killed parent leaves behind goes with the folder
    )  # fmt: skip
    running = Running(process, path)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.ended()
