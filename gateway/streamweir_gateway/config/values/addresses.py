"""Addresses: the address to listen on, and the addresses of trusted proxies."""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Final

from streamweir_gateway.address import Address
from streamweir_gateway.config.diagnostics import InvalidValue, not_this
from streamweir_gateway.config.values.scalars import Scalar, read_text, text_schema

__all__ = ["HOST", "LISTEN", "NEEDS_AUTH", "NETWORK", "Address", "ip_of", "is_loopback", "is_loopback_host"]

_LISTEN: Final = re.compile(r"(?:\[([^\[\]]{1,64})\]|([A-Za-z0-9_.-]{1,255})):([0-9]{1,5})")
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,253}")
NEEDS_AUTH: Final = (
    "anybody could call: name `auth.keys`, or write `auth: open` on purpose,"
    " or listen on a loopback address (127.0.0.1, [::1], localhost)"
)


def _listen(value: Any) -> Address:
    match = _LISTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[3]) > 65535 or (match[1] and not ip_of(match[1])):
        raise InvalidValue("must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    return Address(match[1] or match[2], int(match[3]))


def is_loopback(address: Address) -> bool:
    """Return whether only programs on this machine can reach `address`."""
    ip = ip_of(address.host)
    return ip.is_loopback if ip else address.host.lower() == "localhost"


def is_loopback_host(host: str) -> bool:
    """Return whether a host in lower case is a loopback address, `localhost`, or a name below that."""
    ip = ip_of(host)
    return ip.is_loopback if ip else host == "localhost" or host.endswith(".localhost")


def ip_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address in `host`; None if `host` is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _network(value: Any) -> IPv4Network | IPv6Network:
    text = read_text(value)
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        pass
    try:
        meant = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise InvalidValue(
            "must be an IP address or a network, such as 10.0.0.1 or 10.0.0.0/8", not_this(text)
        ) from None
    raise InvalidValue("must be a network, without bits after its prefix", f"; did you mean '{meant}'?")


def _host(value: Any) -> str:
    text = read_text(value)
    if not _HOST_NAME.fullmatch(text) or ip_of(text.strip("[]")):
        raise InvalidValue("must be the name of a host without scheme and port, such as agents.example.com")
    return text.lower()


HOST: Final = Scalar(_host, text_schema("^[A-Za-z0-9._-]+$"), stand_in="localhost")
LISTEN: Final = Scalar(
    _listen, text_schema(r"^(\[[^\]]+\]|[^\[\]:]+):[0-9]{1,5}$"), stand_in=Address("127.0.0.1", 0)
)
NETWORK: Final = Scalar(_network, text_schema("^[0-9a-fA-F.:/]+$"))
