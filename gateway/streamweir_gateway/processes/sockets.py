"""The sockets that are listened on, and the limits of the process that go with them."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import Final, NamedTuple

from streamweir_gateway.config import GatewayConfig

__all__ = ["BACKLOG", "Listeners", "connection_limit", "listen_on", "listeners_of", "raise_file_limit"]

BACKLOG: Final = 4096
"""Connections that may wait to be accepted; the system may allow fewer."""

_OWN_FILES: Final = 64
"""Descriptors of a process that are no connections: listeners, pipes, the loop, files of metrics and logs."""
_SHARES_FAIRLY = sys.platform == "linux"
"""Only here does the system spread connections over several sockets of one address."""


class Listeners(NamedTuple):
    """What one process listens on; a block closes it at its end."""

    clients: socket.socket
    admin: socket.socket | None = None
    """For the gateway's own paths, where they have an address of their own."""

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Listen no longer."""
        self.clients.close()
        if self.admin is not None:
            self.admin.close()


def listeners_of(config: GatewayConfig) -> list[Listeners]:
    """Return what each worker of a configuration listens on.

    Raises:
        OSError: an address cannot be listened on.
    """
    count = config.server.workers
    clients = listen_on(*config.listen, count)
    if config.server.admin is None:
        return [Listeners(listener) for listener in clients]
    try:
        admin = listen_on(*config.server.admin, count)
    except OSError:
        for listener in clients:
            listener.close()
        raise
    return [Listeners(*pair) for pair in zip(clients, admin, strict=True)]


def listen_on(host: str, port: int, count: int) -> list[socket.socket]:
    """Return `count` sockets that listen on one address, one for each worker.

    On Linux each worker has a queue of its own, over which the system spreads new connections evenly: one
    queue for all would give a burst to whoever wakes up first. Elsewhere they are one and the same socket.
    Whoever holds them keeps the queues alive while a worker is started again.

    Raises:
        OSError: the address cannot be listened on.
    """
    alone = _bound(host, port, shared=False)
    if count == 1:
        alone.listen(BACKLOG)
        return [alone]
    if not _SHARES_FAIRLY:
        alone.listen(BACKLOG)
        return [alone, *(alone.dup() for _ in range(count - 1))]
    # The socket above shows that nobody else has the address: another gateway's sockets would else share it.
    port = alone.getsockname()[1]
    alone.listen(1)
    alone.close()
    sockets = [_bound(host, port, shared=True) for _ in range(count)]
    for listener in sockets:
        listener.listen(BACKLOG)
    return sockets


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named so that asyncio turns Nagle's algorithm off, as uvloop does in any case.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if listener.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    return listener


def raise_file_limit() -> None:
    """Let this process, and those it starts, have as many connections open as the system allows it."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, 65536, 10240):  # macOS reports unlimited and means less
        if soft == limit:
            return
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def connection_limit() -> int | None:
    """Return how many clients may be connected, so that there is a descriptor for the upstream of each.

    None where the system has no limit, or none that it reports.
    """
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(1, (limit - _OWN_FILES) // 2)
