"""Where nobody needs a key, pages of other sites stay out.

Any page in a browser can send requests to a port of its machine and, under a name whose address it changes
(DNS rebinding), read the answers. Browsers add `Origin` or `Sec-Fetch-Site`, which no page can leave out;
programs send neither. Source: the configuration contract (`cors`); the Fetch standard, section 3.2; W3C Fetch
Metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from starlette.types import Scope

from streamweir.http.headers import header_values
from streamweir.http.refusals import Refusal
from streamweir_gateway.access.client_address import is_sent_by
from streamweir_gateway.config import ANY_ORIGIN, GatewayConfig

__all__ = ["ForeignPages"]

_HOST: Final = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?"
_HOST_AND_PORT: Final = re.compile(_HOST)
_ORIGIN: Final = re.compile(f"(https?)://{_HOST}")
_PORTS: Final = {"http": 80, "https": 443}
_KEYS_INSTEAD: Final = "or ask for keys (auth.keys)"


class ForeignPages:
    """Refuses what pages of other sites send to a gateway that asks for no keys.

    Args:
        config: of the gateway.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._origins = frozenset(config.cors.origins if config.cors is not None else ())
        self._listen = config.listen
        self._trusted = config.server.trusted_proxies

    def check(self, scope: Scope) -> None:
        """Let a request in.

        Raises:
            Refusal: a page sends it that has no business here; the message says what lets it in.
        """
        origins = header_values(scope["headers"], b"origin")
        if not origins and not header_values(scope["headers"], b"sec-fetch-site"):
            return
        if ANY_ORIGIN in self._origins or is_sent_by(scope, self._trusted):
            return
        if len(origins) > 1 or (origins and not self._is_known(origins[0], scope)):
            raise Refusal("FORBIDDEN", _about_origin(origins[0]))
        if not origins and not _has_loopback_host(scope):
            raise Refusal("FORBIDDEN", f"Call the gateway as localhost or 127.0.0.1, {_KEYS_INSTEAD}.")

    def _is_known(self, origin: str, scope: Scope) -> bool:
        """Whether an origin is named, of this machine or the gateway's own address."""
        if origin in self._origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        if match is None:
            return False
        address = _plain(match[2]), int(match[3] or _PORTS[match[1]])
        return _is_loopback(address[0]) or address in self._own_addresses(scope)

    def _own_addresses(self, scope: Scope) -> Iterator[tuple[str, int | None]]:
        """Yield where the connection ends. The Host header does not count: a page chooses it."""
        host, port = scope.get("server") or (self._listen.host, self._listen.port)
        yield _plain(host), port
        yield _plain(self._listen.host), port


def _has_loopback_host(scope: Scope) -> bool:
    hosts = [_HOST_AND_PORT.fullmatch(host) for host in header_values(scope["headers"], b"host")]
    return bool(hosts) and all(match is not None and _is_loopback(_plain(match[1])) for match in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _plain(host: str) -> str:
    """Return a host in the one form that is compared: an address without brackets, a name in lower case."""
    name = host.strip("[]").removesuffix(".").lower()
    try:
        return str(ip_address(name))
    except ValueError:
        return name


def _about_origin(origin: str) -> str:
    if not _ORIGIN.fullmatch(origin):
        return f"Pages without a usual origin get in by cors: {{origins: ['*']}} only, {_KEYS_INSTEAD}."
    return f"Name the page's origin in the gateway's file, cors: {{origins: ['{origin}']}}, {_KEYS_INSTEAD}."
