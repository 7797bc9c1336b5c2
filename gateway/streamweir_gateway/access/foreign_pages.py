"""Refuses pages of other sites if the gateway has no keys.

Any page in a browser can send requests to a port of the browser's machine. With DNS rebinding (the page
changes the address of its own host name) it can also read the answers. Browsers add `Origin` or
`Sec-Fetch-Site`, which no page can leave out; other programs send neither. Source: the configuration contract
(`cors`); the Fetch standard, section 3.2; W3C Fetch Metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from starlette.types import Scope

from streamweir.http.headers import HeaderList, header_values
from streamweir.http.refusals import Refusal
from streamweir_gateway.access.client_address import is_sent_by
from streamweir_gateway.config import ANY_ORIGIN, GatewayConfig, ip_of, is_loopback_host
from streamweir_gateway.handshakes import is_handshake

__all__ = ["ForeignPages"]

_HOST: Final = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?"
_HOST_AND_PORT: Final = re.compile(_HOST)
_ORIGIN: Final = re.compile(f"(https?)://{_HOST}")
_PORTS: Final = {"http": 80, "https": 443}
_KEYS_INSTEAD: Final = "or ask for keys (auth.keys)"


class ForeignPages:
    """Refuses requests of foreign pages to a gateway that has no keys.

    Args:
        config: the configuration of the gateway.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._origins = frozenset(config.cors.origins if config.cors is not None else ())
        self._listen = config.listen
        self._trusted = config.server.trusted_proxies
        self._hosts = frozenset(map(_plain, config.server.hosts))

    def check(self, scope: Scope, *, is_judged_there: bool = False) -> None:
        """Check that a request does not come from a foreign page.

        Args:
            scope: the ASGI scope of the request.
            is_judged_there: whether a service behind `relay: all` judges pages by their `Origin` itself. The
                service gets its own Host, so a page without an `Origin` has to be judged here.

        Raises:
            Refusal: a foreign page sent the request; the message names the setting that would allow it.
        """
        if is_handshake(scope):
            self._check_handshake(scope)
            return
        origins = header_values(scope["headers"], b"origin")
        if (origins and is_judged_there) or (
            not origins and not header_values(scope["headers"], b"sec-fetch-site")
        ):
            return
        if ANY_ORIGIN in self._origins or is_sent_by(scope, self._trusted):
            return
        if len(origins) > 1 or (origins and not self._is_known(origins[0], scope)):
            raise Refusal("FORBIDDEN", _about_origin(origins[0]))
        if not origins and not self.has_own_host(scope["headers"], may_be_address=is_judged_there):
            raise Refusal("FORBIDDEN", _about_host(scope["headers"]))

    def _check_handshake(self, scope: Scope) -> None:
        """Check the page that opens a WebSocket.

        Browsers send no preflight, and services rarely judge `Origin`.

        The page may come from the `Host` of the handshake too, if that is a name of this gateway.
        """
        origins = header_values(scope["headers"], b"origin")
        if not origins or ANY_ORIGIN in self._origins or is_sent_by(scope, self._trusted):
            return
        is_known = len(origins) == 1 and (
            self._is_known(origins[0], scope) or self._is_own(origins[0], scope["headers"])
        )
        if not is_known:
            raise Refusal("FORBIDDEN", _about_origin(origins[0]))

    def _is_own(self, origin: str, headers: HeaderList) -> bool:
        """Return whether an origin is the request's `Host`, and that `Host` is a name of this gateway."""
        match = _ORIGIN.fullmatch(origin)
        hosts = [_HOST_AND_PORT.fullmatch(host) for host in header_values(headers, b"host")]
        if match is None or len(hosts) != 1 or hosts[0] is None:
            return False
        default = str(_PORTS[match[1]])
        same = (_plain(match[2]), match[3] or default) == (_plain(hosts[0][1]), hosts[0][2] or default)
        return same and self.has_own_host(headers, may_be_address=True)

    def has_own_host(self, headers: HeaderList, *, may_be_address: bool) -> bool:
        """Return whether the `Host` of a request is a name of this gateway.

        Such names are loopback names and addresses, and the names in `server.hosts`.

        Args:
            headers: the headers of the request.
            may_be_address: whether any other address counts too; a page is named by an address only if it
                comes from there.
        """
        hosts = [_HOST_AND_PORT.fullmatch(host) for host in header_values(headers, b"host")]
        names = [_plain(match[1]) for match in hosts if match is not None]
        return len(names) == len(hosts) > 0 and all(
            is_loopback_host(name) or name in self._hosts or (may_be_address and ip_of(name) is not None)
            for name in names
        )

    def _is_known(self, origin: str, scope: Scope) -> bool:
        """Return whether an origin is configured, on this machine, or the gateway's own address."""
        if origin in self._origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        if match is None:
            return False
        address = _plain(match[2]), int(match[3] or _PORTS[match[1]])
        return is_loopback_host(address[0]) or address in self._own_addresses(scope)

    def _own_addresses(self, scope: Scope) -> Iterator[tuple[str, int | None]]:
        """Yield the addresses of this end of the connection. `Host` does not count: pages choose it."""
        host, port = scope.get("server") or (self._listen.host, self._listen.port)
        yield _plain(host), port
        yield _plain(self._listen.host), port


def _plain(host: str) -> str:
    """Return a host in a comparable form: an address without brackets, or a name in lower case."""
    name = host.strip("[]").removesuffix(".").lower()
    return str(ip_of(name) or name)


def _about_host(headers: HeaderList) -> str:
    found = next(filter(None, map(_HOST_AND_PORT.fullmatch, header_values(headers, b"host"))), None)
    name = "server: {hosts: [...]}" if found is None else f"server: {{hosts: ['{_plain(found[1])}']}}"
    return f"Call the gateway as localhost or 127.0.0.1, name the host in its file, {name}, {_KEYS_INSTEAD}."


def _about_origin(origin: str) -> str:
    if not _ORIGIN.fullmatch(origin):
        return f"Pages without a usual origin get in by cors: {{origins: ['*']}} only, {_KEYS_INSTEAD}."
    return f"Name the page's origin in the gateway's file, cors: {{origins: ['{origin}']}}, {_KEYS_INSTEAD}."
