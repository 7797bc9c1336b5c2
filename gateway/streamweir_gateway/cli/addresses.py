"""Reads and writes addresses in the form that people write."""

from __future__ import annotations

from ipaddress import ip_address

from streamweir_gateway.address import Address
from streamweir_gateway.cli.command import UsageError

__all__ = ["address_text", "base_url", "loopback_address"]


def address_text(address: tuple[str, int]) -> str:
    """Return the address as HOST:PORT, with an IPv6 host in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def base_url(address: tuple[str, int]) -> str:
    """Return the URL at which a client on this machine reaches a server that listens at `address`."""
    return Address(*address).url


def loopback_address(option: str, text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT, given for `option`.

    Raises:
        UsageError: `text` is not an address that only this machine can reach.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    try:
        is_good = ip_address(host).is_loopback and port.isdigit() and int(port) <= 65535
    except ValueError:
        is_good = False
    if not is_good:
        raise UsageError(f"{option} {text}: must be a loopback address and a port, such as 127.0.0.1:9000")
    return host, int(port)
