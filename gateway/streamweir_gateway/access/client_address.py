"""Finds the address of a client: the peer of the connection, or the address that a trusted proxy reports.

Source: the configuration contract (`server.trusted_proxies`). X-Forwarded-For has no standard; its form is
that of nginx, Apache and the cloud load balancers: the oldest address first, each proxy appends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from starlette.types import Scope

from streamweir.http.headers import HeaderList, header_value

__all__ = ["ClientAddress", "client_address", "client_network", "is_sent_by"]

ClientAddress: TypeAlias = IPv4Address | IPv6Address

MAX_HOPS: Final = 32
"""The most entries of X-Forwarded-For that are read, because each costs time."""

_WITH_PORT: Final = re.compile(r"\[(?P<v6>[^\]]{0,64})\](?::\d{1,5})?|(?P<v4>[^:\[\]]{0,64}):\d{1,5}")


def client_address(scope: Scope, trusted: Sequence[IPv4Network | IPv6Network]) -> ClientAddress | None:
    """Return the address of a request's client; None if it has no address, as on a Unix socket.

    The address is that of the connection's peer. If the peer is a trusted proxy, it is the rightmost address
    in X-Forwarded-For that is not a trusted proxy. An unreadable entry ends the search, because no trusted
    proxy wrote the entries to its left.
    """
    found = _peer(scope)
    if not trusted or found is None or not _is_trusted(found, trusted):
        return found
    for entry in _newest_first(scope["headers"]):
        address = _address(entry)
        if address is None:
            break
        found = address
        if not _is_trusted(found, trusted):
            break
    return found


def client_network(address: ClientAddress) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 of an IPv6 subscriber."""
    if isinstance(address, IPv4Address):
        return str(address)
    return f"{int(address) >> 64:x}/64"


def is_sent_by(scope: Scope, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Return whether the peer of a request's connection is in one of `networks`."""
    peer = _peer(scope) if networks else None
    return peer is not None and _is_trusted(peer, networks)


def _peer(scope: Scope) -> ClientAddress | None:
    peer = scope.get("client")
    return _read_before(peer[0]) if peer else None


def _newest_first(headers: HeaderList) -> Iterator[str]:
    entries = header_value(headers, b"x-forwarded-for").rsplit(",", MAX_HOPS)
    return reversed(entries[-MAX_HOPS:])


def _address(text: str) -> ClientAddress | None:
    """Return the address in `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::7` or `[2001:db8::7]:4711`."""
    text = text.strip(" \t")
    if match := _WITH_PORT.fullmatch(text):
        text = match["v6"] or match["v4"] or ""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


_read_before = lru_cache(maxsize=512)(_address)
"""`_address` with a cache, for the peers of connections, because most peers are seen again."""


def _is_trusted(address: ClientAddress, trusted: Sequence[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in trusted)
