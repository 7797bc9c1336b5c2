"""Writes the headers that tell where a request comes from: `Forwarded`, `X-Forwarded-*` and `Via`.

Any client can write these headers. So the headers of a request are used only if a trusted proxy sent them,
and dropped otherwise. `Forwarded` and `X-Forwarded-*` always agree (`proxy_way`).

Source: the configuration contract (`relay`, `server.trusted_proxies`); RFC 7239; RFC 9110, section 7.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from starlette.types import Scope

from streamweir_gateway.access.client_address import is_sent_by
from streamweir_gateway.relay.proxy_way import element, way_of
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.via import Via

__all__ = ["Forwarding", "is_about_forwarding", "may_go_on"]

_MAX_FORWARDS: Final = b"max-forwards"


def is_about_forwarding(name: bytes) -> bool:
    """Return whether a header (name in lower case) tells where a request comes from.

    An underscore counts as a hyphen, because servers that pass headers as variables do not distinguish them.
    """
    plain = name.replace(b"_", b"-")
    return plain == b"forwarded" or plain.startswith(b"x-forwarded-")


class Forwarding:
    """Writes these headers for requests to upstreams.

    Args:
        trusted: the networks of trusted proxies, whose headers are used.
        via: the gateway's mark in `Via`.
    """

    def __init__(self, trusted: Sequence[IPv4Network | IPv6Network], via: Via) -> None:
        self._trusted = trusted
        self._via = via

    def lines(self, client: tuple[str, int] | None, headers: Headers) -> bytes:
        """Return these headers for an HTTP/1.1 request, in the form in which they are sent.

        Args:
            client: the address of the client.
            headers: the headers of the request.
        """
        written = self.headers({"client": client, "headers": headers, "http_version": "1.1"})
        return b"".join([b"%b: %b\r\n" % header for header in written])

    def headers(self, scope: Scope) -> Headers:
        """Return these headers for a request."""
        given = self._given(scope) if self._trusted and is_sent_by(scope, self._trusted) else {}
        peer = scope.get("client")
        address = b"" if not peer else str(peer[0]).encode("ascii", "replace")
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        scheme = str(scope.get("scheme") or "http").encode("ascii")
        way = way_of(
            forwarded=given.pop(b"forwarded", []),
            addresses=given.pop(b"x-forwarded-for", []),
            protocols=given.pop(b"x-forwarded-proto", []),
            hosts=given.pop(b"x-forwarded-host", []),
        )
        is_first = not way.addresses
        own = element(
            address or b"unknown", (is_first and way.host) or host, (is_first and way.protocol) or scheme
        )
        headers = [
            (b"X-Forwarded-For", b", ".join([*way.addresses, address or b"unknown"])),
            (b"X-Forwarded-Proto", way.protocol or scheme),
            (b"Forwarded", b", ".join([*way.elements, own])),
        ]
        if host := way.host or host:
            headers.append((b"X-Forwarded-Host", host))
        headers.extend((name, value) for name, values in given.items() for value in values)
        headers.append((b"Via", self._via.value(scope["http_version"])))
        return headers

    @staticmethod
    def _given(scope: Scope) -> dict[bytes, list[bytes]]:
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            if is_about_forwarding(name) and b"_" not in name:
                given.setdefault(name, []).append(value)
        return given


def may_go_on(scope: Scope) -> bool:
    """Return whether a request may be forwarded.

    If an OPTIONS request may be forwarded, its `Max-Forwards` is reduced by one.

    Source: RFC 9110, section 7.6.2. The header `Max-Forwards` of other methods is not read.
    """
    if scope["method"] != "OPTIONS":
        return True
    headers = scope["headers"]
    for at, (name, value) in enumerate(headers):
        if name == _MAX_FORWARDS and value.isdigit() and len(value) < _DIGITS:
            if not int(value):
                return False
            headers[at] = (name, b"%d" % (int(value) - 1))
    return True


_DIGITS: Final = 10
