"""Finds the way of a request through trusted proxies, from `Forwarded` and `X-Forwarded-*`.

A proxy may write only one of these forms, and pass the other on unchanged from its client. `X-Forwarded-*`
takes precedence, because nearly all proxies write it; `Forwarded` supplies missing values. If they differ,
`Forwarded` is written anew.

Source: RFC 7239, sections 4 to 6; the configuration contract (`relay`, `server.trusted_proxies`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from streamweir.http_grammar import TOKEN

__all__ = ["ProxyWay", "element", "way_of"]

_TOKEN: Final = re.compile(TOKEN.pattern.encode())
_HOST: Final = re.compile(rb"[0-9A-Za-z.\-_\[\]:]{1,255}")
_NODE: Final = re.compile(rb"[0-9A-Za-z.\-_:%]{1,100}|\[[0-9A-Fa-f.:%]{1,64}\](?::[0-9]{1,5})?")
_PROTOCOL: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]{0,20}")
_PAIR: Final = re.compile(rb'\s*([!#$%&\'*+\-.^_`|~0-9A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^\s;,"]*)\s*(;|,|\Z)')

MAX_ELEMENTS: Final = 64
"""The most elements of a `Forwarded` that is read, because no request passes more proxies."""


class ProxyWay(NamedTuple):
    """The addresses that proxies name for a request, the client first.

    Attributes:
        addresses: the nodes from which the proxies got the request, in the form of `X-Forwarded-For`.
        protocol: the protocol of the client's request to the first proxy; empty if it is unknown.
        host: the host that the client asked for; empty if it is unknown.
        elements: the same facts as elements of `Forwarded`.
    """

    addresses: tuple[bytes, ...] = ()
    protocol: bytes = b""
    host: bytes = b""
    elements: tuple[bytes, ...] = ()


_NO_WAY: Final = ProxyWay()


def way_of(
    *,
    forwarded: Sequence[bytes],
    addresses: Sequence[bytes],
    protocols: Sequence[bytes],
    hosts: Sequence[bytes],
) -> ProxyWay:
    """Return the way that the headers of a trusted proxy describe.

    Args:
        forwarded: the lines of `Forwarded`.
        addresses: the lines of `X-Forwarded-For`.
        protocols: the lines of `X-Forwarded-Proto`.
        hosts: the lines of `X-Forwarded-Host`.
    """
    if not (forwarded or addresses or protocols or hosts):
        return _NO_WAY
    elements = _elements(b", ".join(forwarded))
    first = elements[0] if elements else {}
    nodes = tuple(_values(addresses))
    known = nodes or tuple(_plain(found.get(b"for", b"unknown")) for found in elements)
    protocol = _first(protocols) or first.get(b"proto", b"")
    host = _first(hosts) or first.get(b"host", b"")
    if elements and _agrees(elements, known, protocol, host):
        return ProxyWay(known, protocol, host, tuple(filter(None, forwarded)))
    made = [element(node, host, protocol) for node in known[:1]]
    made += [element(node, b"", b"") for node in known[1:]]
    return ProxyWay(known, protocol, host, tuple(made))


def element(node: bytes, host: bytes, protocol: bytes) -> bytes:
    """Return the element that one proxy adds to `Forwarded`.

    Args:
        node: where the request came from: an address, with a port or without, or a name such as `unknown`.
        host: the host that was asked for; left out if it is empty or invalid.
        protocol: the protocol of the request; left out if it is empty or invalid.
    """
    parts = [b"for=%b" % _written_node(node)]
    if _HOST.fullmatch(host):
        parts.append(b"host=%b" % (host if _TOKEN.fullmatch(host) else b'"%b"' % host))
    if _PROTOCOL.fullmatch(protocol):
        parts.append(b"proto=%b" % protocol)
    return b";".join(parts)


def _written_node(node: bytes) -> bytes:
    if not _NODE.fullmatch(node):
        return b"unknown"
    if node.count(b":") > 1 and not node.startswith(b"["):  # an address of IPv6
        return b'"[%b]"' % node
    return node if _TOKEN.fullmatch(node) else b'"%b"' % node


def _agrees(
    elements: Sequence[dict[bytes, bytes]], addresses: Sequence[bytes], protocol: bytes, host: bytes
) -> bool:
    """Return whether `Forwarded` agrees with the other headers."""
    nodes = [_plain(found.get(b"for", b"unknown")) for found in elements]
    first = elements[0]
    return (
        nodes == [_plain(node) for node in addresses]
        and first.get(b"proto", protocol) == protocol
        and first.get(b"host", host) == host
    )


def _plain(node: bytes) -> bytes:
    """Return a node, without brackets if it is an IPv6 address without a port."""
    return node[1:-1] if node.startswith(b"[") and node.endswith(b"]") else node


def _elements(text: bytes) -> list[dict[bytes, bytes]]:
    """Return the elements of `Forwarded` with names in lower case; empty if the header is invalid."""
    found: list[dict[bytes, bytes]] = []
    current: dict[bytes, bytes] = {}
    at = 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        if pair is None or len(found) >= MAX_ELEMENTS:
            return []
        current[pair[1].lower()] = _unquoted(pair[2])
        at = pair.end()
        if pair[3] != b";":
            found.append(current)
            current = {}
    return found


def _unquoted(value: bytes) -> bytes:
    return re.sub(rb"\\(.)", rb"\1", value[1:-1]) if value.startswith(b'"') else value


def _first(lines: Sequence[bytes]) -> bytes:
    """Return the first value of a header, which the first proxy wrote."""
    return next(_values(lines), b"")


def _values(lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        for value in line.split(b","):
            if value.strip():
                yield value.strip()
