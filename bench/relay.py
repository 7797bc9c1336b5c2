"""Measure `relay: all` beside nginx: processor time of the proxy for small JSON answers and large downloads.

    python bench/relay.py                 three rounds of each, interleaved; prints a table
    NGINX=/path/to/nginx python bench/relay.py --rounds 5

Without nginx only the gateway is measured. Everything is on 127.0.0.1 (ports 9100 and 9101).
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import uvloop
from targets import BACKEND_PORT, PORT, filled

JSON: Final = (
    b'{"rows": [' + b",".join(b'{"id": %5d, "name": "a name"}' % number for number in range(32)) + b"]}"
)
DOWNLOAD: Final = 100 << 20
PIECE: Final = bytes(256 << 10)
REQUESTS: Final = 6000
CLIENTS: Final = 8
DOWNLOADS: Final = 4


class Backend(asyncio.Protocol):
    """Answers `/old/json` and `/old/file`."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._left = 0
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if b"/old/file" in data.partition(b"\r\n")[0]:
            self._left = DOWNLOAD
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % DOWNLOAD)
            self._send()
        else:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            self.transport.write(head % len(JSON) + JSON)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._send()

    def _send(self) -> None:
        while self._left and not self._is_paused:
            self.transport.write(PIECE)
            self._left -= len(PIECE)


def serve_backend() -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Backend, "127.0.0.1", BACKEND_PORT)
        await server.serve_forever()

    uvloop.run(serve())


async def _requests(count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    for _ in range(count):
        writer.write(b"GET /old/json HTTP/1.1\r\nHost: bench\r\nAccept: */*\r\nCookie: a=b\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        assert await reader.readexactly(len(JSON)) == JSON
    writer.close()


async def _download() -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=1 << 20)
    writer.write(b"GET /old/file HTTP/1.1\r\nHost: bench\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    left = DOWNLOAD
    while left:
        left -= len(await reader.read(min(left, 1 << 20)))
    writer.close()


async def ask(count: int) -> None:
    await asyncio.gather(*(_requests(count // CLIENTS) for _ in range(CLIENTS)))


def cpu_seconds(pids: list[int]) -> float:
    """Return what processes have used, user and system."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


@contextmanager
def running(command: list[str]) -> Iterator[list[int]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                uvloop.run(ask(CLIENTS))
                break
            except (OSError, AssertionError, asyncio.IncompleteReadError):
                time.sleep(0.05)
        uvloop.run(ask(REQUESTS // 10))
        yield family(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def measure(command: list[str]) -> dict[str, float]:
    """Return microseconds for a request and milliseconds for a MB."""
    with running(command) as pids:
        before = cpu_seconds(pids)
        uvloop.run(ask(REQUESTS))
        between = cpu_seconds(pids)
        for _ in range(DOWNLOADS):
            uvloop.run(_download())
        after = cpu_seconds(pids)
    megabytes = DOWNLOADS * DOWNLOAD / 1e6
    return {"us/request": (between - before) / REQUESTS * 1e6, "ms/MB": (after - between) / megabytes * 1e3}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / ".tmp")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    gateway = [sys.executable, "-m", "streamweir_gateway", "serve", str(filled("relay.yaml.in", folder))]
    commands = {"streamweir": gateway}
    if nginx := os.environ.get("NGINX") or shutil.which("nginx"):
        commands["nginx"] = [nginx, "-c", str(filled("nginx.conf.in", folder))]
    backend = multiprocessing.Process(target=serve_backend, daemon=True)
    backend.start()
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            rows[name].append(measure(command))
    backend.terminate()
    report(rows)


def report(rows: dict[str, list[dict[str, float]]]) -> None:
    for key in ("us/request", "ms/MB"):
        medians = {name: statistics.median(row[key] for row in found) for name, found in rows.items()}
        line = "   ".join(f"{name} {value:.2f}" for name, value in medians.items())
        ratio = f"   ratio {medians['streamweir'] / medians['nginx']:.2f}" if "nginx" in medians else ""
        print(f"{key:12} {line}{ratio}")


if __name__ == "__main__":
    main()
