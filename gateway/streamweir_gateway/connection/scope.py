"""Makes the ASGI scope of a request.

Source: the ASGI specification, HTTP connection scope 2.3.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote

from starlette.types import Scope

from streamweir_gateway.connection.client_connection import CONNECTION_EXTENSION, ClientConnection
from streamweir_gateway.connection.request_parser import RequestHead

__all__ = ["Address", "address_of", "http_scope", "parted_target", "shared"]

Address: TypeAlias = tuple[str, int]

LONGEST: Final = 256
"""The most bytes of a target whose parts are remembered."""

_ASGI: Final = {"version": "3.0", "spec_version": "2.3"}


def parted_target(target: bytes) -> tuple[str, bytes, bytes | None]:
    """Return the decoded path, the raw path and the query of a target. Without a `?`, the query is None."""
    raw_path, mark, query = target.partition(b"#")[0].partition(b"?")
    path = raw_path.decode("ascii")
    return unquote(path) if "%" in path else path, raw_path, query if mark else None


_parted: Final = lru_cache(maxsize=256)(parted_target)


def http_scope(
    head: RequestHead, connection: ClientConnection, *, client: Address | None, server: Address | None
) -> Scope:
    """Return the scope of a request.

    ASGI cannot express an empty query behind a `?`, so the `?` stays at the end of `raw_path`.
    """
    path, raw_path, query = (_parted if len(head.target) <= LONGEST else parted_target)(head.target)
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": head.version,
        "method": head.method,
        "scheme": "http",
        "path": path,
        "raw_path": raw_path + b"?" if query == b"" else raw_path,
        "query_string": query or b"",
        "root_path": "",
        "headers": head.headers,
        "client": client,
        "server": server,
        "state": {},
        "extensions": {CONNECTION_EXTENSION: connection},
    }


@lru_cache(maxsize=64)
def shared(address: Address | None) -> Address | None:
    """Return one object for all equal addresses: the gateway has few, and many connections."""
    return address


def address_of(transport: asyncio.Transport, name: str) -> Address | None:
    """Return the address of an end of a connection: its `peername` or `sockname`; None if it has none."""
    found = transport.get_extra_info(name)
    return tuple(found[:2]) if isinstance(found, tuple) else None
