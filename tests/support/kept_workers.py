"""Workers of `kept_app`: each a process of its own, on a port."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from loopback import Gateway, Log
from patience import PATIENCE
from ports import free_port, until_open
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["KeptWorker", "kept_worker"]


class KeptWorker:
    """A process that serves the application."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, said: Path) -> None:
        self.process = process
        self.at = Gateway(("127.0.0.1", port), LiveStreams(), Log())
        self._said = said

    def said(self) -> list[str]:
        """What the application's generators have noted."""
        return self._said.read_text().split() if self._said.exists() else []


@asynccontextmanager
async def kept_worker(store: str, said: Path) -> AsyncIterator[KeptWorker]:
    """Run one worker before a store; its generators note in `said` that they began and ended."""
    port, here = free_port(), str(Path(__file__).parent)
    command = (sys.executable, "-m", "uvicorn", "kept_app:serve", "--factory", "--app-dir", here)
    process = await asyncio.create_subprocess_exec(
        *command, "--port", str(port), "--log-level", "error", "--lifespan", "off",
        env={**os.environ, "STORE": store, "SAID": str(said)},
    )  # fmt: skip
    try:
        await until_open(port, "the application", PATIENCE)
        yield KeptWorker(process, port, said)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
