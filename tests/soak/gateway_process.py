"""The gateway in a process of its own, and what the system tells of that process (Linux, /proc)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

__all__ = ["Gateway", "gateway"]


class Gateway:
    """The gateway's process and the address that it listens on."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, config: Path, log: Path) -> None:
        self.port = port
        self.config = config
        self.log = log
        self._process = process
        self._proc = Path(f"/proc/{process.pid}")

    def reload(self, **sections: Any) -> None:
        """Let it read a file of these sections in place of its own."""
        self.config.write_text(json.dumps(sections), encoding="utf-8")
        self._process.send_signal(signal.SIGHUP)

    def workers(self) -> list[int]:
        """Return the process ids of its workers."""
        children = (self._proc / f"task/{self._process.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"spawn_main" in _command_of(pid)]

    async def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self._process.terminate()
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def memory_mb(self) -> float:
        """Return its resident memory."""
        pages = int((self._proc / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def peak_mb(self) -> float:
        """Return the most memory that was resident since `forget_peak`."""
        status = (self._proc / "status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6

    def forget_peak(self) -> None:
        """Let the peak be what it takes now."""
        (self._proc / "clear_refs").write_text("5")

    def descriptors(self) -> int:
        """Return how many file descriptors it has open."""
        return len(os.listdir(self._proc / "fd"))

    def processor_seconds(self) -> float:
        """Return the processor's time that it has taken so far."""
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def gateway(**sections: Any) -> AsyncIterator[Gateway]:
    """Run `streamweir serve` on a free port with a file of these sections."""
    with tempfile.TemporaryDirectory() as folder:
        config, log = Path(folder, "soak.yaml"), Path(folder, "log")
        config.write_text(json.dumps(sections), encoding="utf-8")
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "streamweir_gateway", "serve", str(config)),
                *("--listen", "127.0.0.1:0"),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        try:
            yield Gateway(process, await _port(process, log), config, log)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def _command_of(pid: str) -> bytes:
    """Return the command line of a process; empty if it has ended in the meantime."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def _port(process: asyncio.subprocess.Process, log: Path) -> int:
    """Return where it listens, which is the first that it says."""
    assert process.stdout is not None
    banner = (await process.stdout.readline()).decode()  # "... listens on http://127.0.0.1:PORT ..."
    port = banner.partition("http://127.0.0.1:")[2].partition(" ")[0]
    if not port:
        sys.exit(f"the gateway did not start:\n{log.read_text(encoding='utf-8')}")
    return int(port)
