"""Separates the headers for the receiver of a message from headers that belong to one connection.

Source: RFC 9110, section 7.6.1; RFC 9112, section 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

from .request import Headers

__all__ = ["HOP_BY_HOP", "connection_options", "end_to_end"]

HOP_BY_HOP: Final = frozenset(
    {
        *(
            *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer"),
            *(b"transfer-encoding", b"upgrade"),
        ),
        *(b"proxy-authenticate", b"proxy-authorization", b"proxy-authentication-info", b"http2-settings"),
    }
)
"""The headers of one connection. They are not forwarded, because the gateway has two separate connections."""

_NEVER_NAMED: Final = frozenset(
    {
        *(b"host", b"content-length", b"content-type", b"content-encoding", b"authorization"),
        *(b"cookie", b"set-cookie"),
    }
)
"""Headers that `Connection` cannot remove, because the message would have another meaning without them."""


def connection_options(headers: Iterable[tuple[bytes, bytes]]) -> Set[bytes]:
    """Return the names that the `Connection` header lists, in lower case."""
    listed = [value for name, value in headers if len(name) == 10 and name.lower() == b"connection"]
    if not listed:
        return frozenset()
    return {token.strip().lower() for token in b",".join(listed).split(b",")} - _NEVER_NAMED


def end_to_end(headers: Headers, *, without: Set[bytes] = frozenset()) -> Headers:
    """Return the headers that are forwarded, names in lower case.

    Args:
        headers: the headers of a request or a response.
        without: names of headers that are not forwarded either, in lower case.
    """
    named = connection_options(headers)
    kept: Headers = []
    for name, value in headers:
        lowered = name.lower()
        if lowered not in HOP_BY_HOP and lowered not in without and lowered not in named:
            kept.append((lowered, value))
    return kept
