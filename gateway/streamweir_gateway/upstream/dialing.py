"""Establishes a connection to an upstream: finds the addresses, tries them in parallel, and starts TLS.

uvloop does not try the addresses of a host in parallel, so this module does.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.staggered import staggered_race
from collections.abc import Awaitable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from streamweir_gateway.upstream.failures import ConnectTimedOut, NotConnected

__all__ = ["Address", "connect", "resolve"]

NEXT_ADDRESS_SECONDS: Final = 0.25
"""The seconds after which the next address of a host is tried in parallel. Source: RFC 8305."""

Address: TypeAlias = tuple[socket.AddressFamily, Any]


class _Abortable(Protocol):
    def abort(self) -> None: ...


_Connection = TypeVar("_Connection", bound=_Abortable)


async def resolve(host: str, port: int) -> list[Address]:
    """Return the addresses of `host`, the best first.

    Raises:
        OSError: the host has no addresses.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


async def connect(
    addresses: Awaitable[list[Address]],
    connection: _Connection,
    *,
    context: ssl.SSLContext | None,
    host: str,
    seconds: float | None,
) -> _Connection:
    """Connect to the address that answers first, and do the TLS handshake if there is a `context`.

    Args:
        addresses: gives the addresses when awaited, the best first; this counts towards `seconds`.
        connection: the asyncio protocol that gets the connection.
        context: the TLS context; None: no TLS.
        host: the name that the certificate must have.
        seconds: the time limit, including TLS; None: no limit.

    Raises:
        ConnectTimedOut, NotConnected: no connection was established.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _dial(await addresses, connection, context=context, host=host)
    except TimeoutError as error:
        raise ConnectTimedOut("the connection was not established in time") from error
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be one
        raise NotConnected("no connection") from error


async def _dial(
    addresses: list[Address], connection: _Connection, *, context: ssl.SSLContext | None, host: str
) -> _Connection:
    loop = asyncio.get_running_loop()
    make: Any = lambda: connection  # noqa: E731
    secure: dict[str, Any] = {"ssl": context, "server_hostname": host} if context else {}
    try:
        if len(addresses) == 1 and not _has_scope(addresses[0]):
            where = addresses[0][1]
            await loop.create_connection(make, where[0], where[1], **secure)
        else:
            opened = await _first_of(addresses)
            await loop.create_connection(make, sock=opened, **secure)
    except BaseException:
        connection.abort()
        raise
    return connection


def _has_scope(address: Address) -> bool:
    """Return whether an address is link-local and so needs the name of a network interface."""
    family, where = address
    return family == socket.AF_INET6 and bool(where[3])


async def _first_of(addresses: list[Address]) -> socket.socket:
    if len(addresses) == 1:
        return await _opened(addresses[0])
    attempts = [partial(_opened, address) for address in addresses]
    winner: socket.socket | None
    winner, _, errors = await staggered_race(attempts, NEXT_ADDRESS_SECONDS)
    if winner is None:
        raise next((error for error in errors if isinstance(error, OSError)), OSError("no address"))
    return winner


async def _opened(address: Address) -> socket.socket:
    family, where = address
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: no Nagle in asyncio
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, where)
    except BaseException:
        opened.close()
        raise
    return opened
