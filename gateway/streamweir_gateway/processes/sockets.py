"""Opens the listening sockets, and raises process limits that depend on them."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import Final, NamedTuple

from streamweir_gateway.config import GatewayConfig

__all__ = [
    "BACKLOG",
    "AdminAddressUnavailable",
    "Listeners",
    "connection_limit",
    "listen_on",
    "listeners_of",
    "raise_file_limit",
]

BACKLOG: Final = 4096
"""The most connections that wait to be accepted; the system may allow fewer."""

_OWN_FILES: Final = 64
"""The file descriptors for other uses than connections: listeners, pipes, the loop, metrics and logs."""
_SPREADS_EVENLY = sys.platform == "linux"
"""Whether the system spreads connections evenly over several queues of one address, as only Linux does."""


class AdminAddressUnavailable(OSError):
    """The admin address cannot be listened on; errors of the clients' address are other `OSError`s."""


class Listeners(NamedTuple):
    """The listening sockets of one process. The context manager closes them at the end of the block."""

    clients: socket.socket
    admin: socket.socket | None = None
    """The socket of the admin address; None if there is no admin address."""
    stands_by: bool = False
    """Whether the process accepts only the clients' connections that another process leaves waiting."""

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets."""
        self.clients.close()
        if self.admin is not None:
            self.admin.close()


def listeners_of(config: GatewayConfig) -> list[Listeners]:
    """Return the listening sockets of each worker.

    Raises:
        AdminAddressUnavailable: the admin address cannot be listened on.
        OSError: the clients' address cannot be listened on.
    """
    count = config.server.workers
    clients = listen_on(*config.listen, count)
    admin: list[socket.socket | None] = [None] * count
    if config.server.admin is not None:
        try:
            admin = [*listen_on(*config.server.admin, count)]
        except OSError as error:
            for listener in clients:
                listener.close()
            raise AdminAddressUnavailable(error.errno, error.strerror) from error
    stand_by = [_SPREADS_EVENLY and number >= _queues(count) for number in range(count)]
    return [Listeners(*each) for each in zip(clients, admin, stand_by, strict=True)]


def listen_on(host: str, port: int, count: int) -> list[socket.socket]:
    """Return `count` sockets that listen on one address, one for each worker.

    On Linux each of as many workers as there are processors has its own queue, and the system spreads new
    connections evenly. Further workers share these queues. On other systems all workers share one queue, and
    the first one to wake up gets a whole burst. While a worker is started again, the parent holds its socket,
    so that its queue stays open.

    Raises:
        OSError: the address cannot be listened on.
    """
    queues = _queues(count)
    alone = _bound(host, port, shared=False)
    sockets = [alone]
    if queues > 1:
        # The socket above proves that the address is free: sockets of another gateway would share it.
        port = alone.getsockname()[1]
        alone.listen(1)
        alone.close()
        sockets = [_bound(host, port, shared=True) for _ in range(queues)]
    for listener in sockets:
        listener.listen(BACKLOG)
    return [*sockets, *(sockets[number % queues].dup() for number in range(queues, count))]


def _queues(workers: int) -> int:
    """Return how many queues of connections an address has."""
    return min(workers, len(os.sched_getaffinity(0))) if _SPREADS_EVENLY else 1


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only if the protocol is given; uvloop always does.
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
    """Raise the limit of open files as far as the system allows, for this process and its children."""
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (hard, 65536, 10240):  # macOS reports unlimited, but allows less
        if soft == limit:
            return
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return


def connection_limit() -> int | None:
    """Return the most client connections for which the descriptors suffice, with their upstream connections.

    Return None if the system reports no limit.
    """
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return None
    return max(1, (limit - _OWN_FILES) // 2)
