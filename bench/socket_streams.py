"""Measure WebSockets: streams of an upstream over one, relayed bytes, and idle connections.

    python bench/socket_streams.py                three rounds of each, interleaved; prints a table
    python bench/socket_streams.py --rounds 5

Each row compares the processor time of the gateway within one run: the same lines as NDJSON over HTTP,
and the same bytes through the HTTP relay. Everything is on 127.0.0.1 (ports 9100 and 9101).
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvloop
from targets import BACKEND_PORT, PORT

GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
EVENTS: Final = 640_000
PACED_EVENTS: Final = 200
PACED_STREAMS: Final = 100
PAUSE: Final = 0.02
READ: Final = 32
MEGABYTES: Final = 400
IDLE: Final = 2000
TICKS: Final = os.sysconf("SC_CLK_TCK")

LINE: Final = json.dumps({"type": "token", "content": "some words of an answer "}).encode()
LAST: Final = json.dumps({"type": "done"}).encode()
BLOCK: Final = bytes(64 << 10)

Work = Callable[[], Coroutine[None, None, int]]

CONFIG: Final = f"""
listen: 127.0.0.1:{PORT}
upstreams:
  old: {{url: "http://127.0.0.1:{BACKEND_PORT}", max_streams: 100000}}
endpoints:
  /http/{{name}}: {{upstream: "http://127.0.0.1:{BACKEND_PORT}", path: "/{{name}}", speaks: legacy}}
  /socket/{{name}}: {{upstream: "ws://127.0.0.1:{BACKEND_PORT}", path: "/{{name}}", speaks: legacy}}
  /old/*: {{upstream: old, relay: all}}
"""


def frame(data: bytes, opcode: int = 1) -> bytes:
    """The frame of a server."""
    size = len(data)
    if size < 126:
        return bytes((0x80 | opcode, size)) + data
    if size < 1 << 16:
        return bytes((0x80 | opcode, 126)) + size.to_bytes(2) + data
    return bytes((0x80 | opcode, 127)) + size.to_bytes(8) + data


def in_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Backend(asyncio.Protocol):
    """Answers `/flood`, `/paced`, `/bytes` and `/idle`, over HTTP or a WebSocket."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.data = b""
        self.is_begun = False

    def data_received(self, data: bytes) -> None:
        self.data += data
        if b"\r\n\r\n" not in self.data or self.is_begun:
            return
        self.is_begun = True
        head = self.data.partition(b"\r\n\r\n")[0]
        path = head.split(b" ", 2)[1].rpartition(b"/")[2].decode()
        key = next(
            (line[19:] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key: ")),
            None,
        )
        if key is not None:
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
            self.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: %b\r\n\r\n" % accept
            )
        else:
            kind = b"application/octet-stream" if path == "bytes" else b"application/x-ndjson"
            self.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nConnection: close\r\n" % kind)
            self.write(b"Transfer-Encoding: chunked\r\n\r\n")
        self.task = asyncio.get_running_loop().create_task(self.answer(path, is_socket=key is not None))

    def write(self, data: bytes) -> None:
        self.transport.write(data)  # type: ignore[attr-defined]

    async def answer(self, path: str, *, is_socket: bool) -> None:
        write_lines: Callable[[list[bytes]], bytes] = (
            (lambda lines: b"".join(map(frame, lines)))
            if is_socket
            else (lambda lines: in_chunk(b"".join(line + b"\n" for line in lines)))
        )
        if path == "flood":
            piece = write_lines([LINE] * READ)
            for _ in range(EVENTS // READ):
                self.write(piece)
                await self.drained()
        elif path == "paced":
            piece = write_lines([LINE])
            for _ in range(PACED_EVENTS):
                self.write(piece)
                await asyncio.sleep(PAUSE)
        elif path == "bytes":
            piece = frame(BLOCK, 2) if is_socket else in_chunk(BLOCK)
            for _ in range(MEGABYTES * 16):
                self.write(piece)
                await self.drained()
            self.write(frame(b"\x03\xe8", 8) if is_socket else b"0\r\n\r\n")
            if not is_socket:
                self.transport.close()
            return
        else:
            return
        self.write(write_lines([LAST]))
        if not is_socket:
            self.write(b"0\r\n\r\n")

    async def drained(self) -> None:
        while self.transport.get_write_buffer_size() > 1 << 20:  # noqa: ASYNC110
            await asyncio.sleep(0)


def serve_backend() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Backend, "127.0.0.1", BACKEND_PORT, backlog=2048)
        await server.serve_forever()

    uvloop.run(run())


@contextmanager
def running() -> Iterator[int]:
    """The backend and the gateway; gives the gateway's pid."""
    backend = multiprocessing.Process(target=serve_backend, daemon=True)
    backend.start()
    path = Path(os.environ.get("TMPDIR", "/tmp")) / "streamweir-websockets.yaml"
    path.write_text(CONFIG)
    program = Path(sys.executable).parent / "streamweir"
    gateway = subprocess.Popen([program, "serve", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)
        yield gateway.pid
    finally:
        gateway.send_signal(signal.SIGKILL)
        gateway.wait()
        backend.kill()


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


async def post(path: str) -> int:
    """Read one answer; returns how many bytes came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=1 << 20)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{CLOSE}Content-Length: 2\r\n\r\n"
    writer.write(head.encode() + b"{}")
    return await rest(reader, writer)


async def get(path: str, *, is_socket: bool) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT, limit=1 << 20)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE if is_socket else CLOSE}\r\n".encode())
    if not is_socket:
        return await rest(reader, writer)
    size = 0
    while size < MEGABYTES << 20 and (data := await reader.read(1 << 20)):
        size += len(data)
    writer.close()
    return size


UPGRADE: Final = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
)
CLOSE: Final = "Connection: close\r\n"


async def rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    size = 0
    while data := await reader.read(1 << 20):
        size += len(data)
    writer.close()
    return size


async def paced(kind: str) -> int:
    return sum(await asyncio.gather(*(post(f"/{kind}/paced") for _ in range(PACED_STREAMS))))


def cost(pid: int, work: Work) -> float:
    before = cpu(pid)
    size = uvloop.run(work())
    assert size > 1000, "nothing came"
    return cpu(pid) - before


async def idle_memory(pid: int) -> float:
    """KiB of the gateway for each idle WebSocket."""
    writers = []

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        writer.write(f"GET /old/idle HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        writers.append(writer)

    await asyncio.gather(*(one() for _ in range(50)))
    before = memory(pid)
    for _ in range(IDLE // 50):
        await asyncio.gather(*(one() for _ in range(50)))
    found = (memory(pid) - before) / IDLE
    for writer in writers:
        writer.transport.abort()
    return found


ROWS: Final[dict[str, tuple[Work, Work, float]]] = {
    "a flood of events, beside NDJSON": (lambda: post("/socket/flood"), lambda: post("/http/flood"), 1.3),
    "100 paced streams, beside NDJSON": (lambda: paced("socket"), lambda: paced("http"), 1.3),
    "relayed bytes, beside HTTP": (
        lambda: get("/old/bytes", is_socket=True),
        lambda: get("/old/bytes", is_socket=False),
        1.0,
    ),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with running() as pid:
        print(f"{'':38} {'WebSocket, s':>12} {'HTTP, s':>8} {'ratio':>6}  must")
        for name, (over_socket, over_http, most) in ROWS.items():
            both = [(cost(pid, over_socket), cost(pid, over_http)) for _ in range(rounds)]
            sockets, https = (statistics.median(values) for values in zip(*both, strict=True))
            ratio = statistics.median(socket / max(http, 0.01) for socket, http in both)
            print(f"{name:38} {sockets:12.2f} {https:8.2f} {ratio:6.2f}  {most}")
        print(f"{'an idle WebSocket':38} {uvloop.run(idle_memory(pid)):12.1f} KiB {'':10}  12 KiB")


if __name__ == "__main__":
    main()
